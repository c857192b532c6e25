// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

/// Writes the few protobuf messages of Perfetto's trace format that the timeline needs. https://perfetto.dev
namespace weir::timeline {

/// A protobuf message under construction.
class Message {
 public:
  Message& add(std::uint32_t field, std::uint64_t number) {
    varint(field << 3U);
    varint(number);
    return *this;
  }
  Message& add(std::uint32_t field, std::string_view text) {
    varint(field << 3U | 2U);
    varint(text.size());
    bytes_.append(text);
    return *this;
  }
  Message& add(std::uint32_t field, const Message& message) { return add(field, std::string_view(message.bytes_)); }
  Message& add_fixed(std::uint32_t field, std::uint64_t number) {
    varint(field << 3U | 1U);
    for (int i = 0; i < 8; ++i) bytes_ += static_cast<char>(number >> (8 * i) & 0xFFU);
    return *this;
  }
  Message& add_double(std::uint32_t field, double number) { return add_fixed(field, std::bit_cast<std::uint64_t>(number)); }

  const std::string& bytes() const noexcept { return bytes_; }

 private:
  void varint(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7U) bytes_ += static_cast<char>((number & 0x7FU) | 0x80U);
    bytes_ += static_cast<char>(number);
  }

  std::string bytes_;
};

/// The field numbers of Perfetto's messages, from its folder protos/perfetto/trace.
namespace field {
inline constexpr std::uint32_t trace_packet = 1;
namespace packet {
inline constexpr std::uint32_t timestamp = 8, sequence = 10, track_event = 11, track_descriptor = 60;
}
namespace event {
inline constexpr std::uint32_t annotation = 4, type = 9, track = 11, category = 22, name = 23, counter = 30, flow = 47,
                               flow_end = 48;
inline constexpr std::uint64_t slice_begin = 1, slice_end = 2, counter_value = 4;  // values of `type`
}  // namespace event
namespace annotation {
inline constexpr std::uint32_t number = 3, real = 5, text = 6, name = 10;
}
namespace track {
inline constexpr std::uint32_t uuid = 1, name = 2, process = 3, thread = 4, parent = 5, counter = 8;
inline constexpr std::uint32_t process_pid = 1, process_name = 6, thread_pid = 1, thread_id = 2, thread_name = 5,
                               counter_unit = 3;
inline constexpr std::uint64_t unit_bytes = 3;
}  // namespace track
}  // namespace field

}  // namespace weir::timeline
