// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What the store and its clients send to each other. A client first reads the greeting and sends a `Ticket`; all else are
/// frames: the length of the body in 4 bytes, then the body, which begins with its `Kind`. All machines of a job have the
/// same byte order.
namespace weir::store {

inline constexpr std::size_t max_frame = 512U << 10U, max_key = 512, max_value = 60U << 10U, max_of_rank = 1U << 20U;
inline constexpr std::size_t max_token = 128;

/// The first bytes in each direction. Both have a fixed size and are compared before anything else is read.
struct Greeting {
  std::array<char, 8> magic{'w', 'e', 'i', 'r', 's', 't', '0', '1'};
  std::uint64_t run = 0;  ///< a hash of the run's name: a client does not send its token to another run's store
  friend bool operator==(const Greeting&, const Greeting&) = default;
};
struct Ticket {
  std::array<char, 8> magic{'w', 'e', 'i', 'r', 't', 'o', 'k', 'n'};
  std::array<char, max_token> token{};  ///< padded with zeros
};

enum class Kind : std::uint8_t {
  // from a client
  hello,   ///< rank, ranks, "host node7, pid 81": the first frame
  put,     ///< key, value
  forget,  ///< key
  get,     ///< request, rank, key: answered by `answer`
  cancel,  ///< request, rank, key
  meet,    ///< request, group, milliseconds, ranks (none: all): answered by `answer`
  failed,  ///< group, sentence; the store passes it on to all other clients
  bye,     ///< sentence: empty for an orderly end, else it becomes the notice of this rank's death
  // from the store
  welcome,  ///< the name of rank 0
  refused,  ///< whether it helps to try again, sentence
  answer,   ///< request, whether it succeeded, value or sentence
  died,     ///< rank, sentence
  ended,    ///< sentence: rank 0 ends; empty if in order
};

/// Writes a frame.
class Writer {
 public:
  explicit Writer(Kind kind) : bytes_(4, '\0') { bytes_.push_back(static_cast<char>(kind)); }
  template <class T>
  requires std::is_integral_v<T> Writer& number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  Writer& text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes_ += value;
    return *this;
  }
  Writer& ranks(std::span<const int> value) {
    return text({reinterpret_cast<const char*>(value.data()), value.size_bytes()});
  }
  std::string take() {
    const auto length = static_cast<std::uint32_t>(bytes_.size() - 4);
    std::memcpy(bytes_.data(), &length, 4);
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
};

/// Reads a frame's body. After a read past the end, `is_good` is false and all values are empty.
class Reader {
 public:
  explicit Reader(std::string_view body) : rest_(body) {}
  template <class T>
  T number() {
    T value{};
    if (rest_.size() < sizeof(value)) {
      fail();
    } else {
      std::memcpy(&value, rest_.data(), sizeof(value));
      rest_.remove_prefix(sizeof(value));
    }
    return value;
  }
  Kind kind() { return static_cast<Kind>(number<std::uint8_t>()); }
  std::string_view text() {
    const auto size = number<std::uint32_t>();
    if (size > rest_.size()) fail();
    const std::string_view value = rest_.substr(0, is_good_ ? size : 0);
    rest_.remove_prefix(value.size());
    return value;
  }
  std::vector<int> ranks() {
    const std::string_view bytes = text();
    std::vector<int> value(bytes.size() / sizeof(int));
    if (!value.empty()) std::memcpy(value.data(), bytes.data(), value.size() * sizeof(int));
    return value;
  }
  bool is_good() const noexcept { return is_good_; }

 private:
  void fail() {
    is_good_ = false;
    rest_ = {};
  }
  std::string_view rest_;
  bool is_good_ = true;
};

}  // namespace weir::store
