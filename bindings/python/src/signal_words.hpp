// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weir/device.hpp"

/// Provides words in pinned memory that the host writes and streams wait for.
namespace weir::python {

/// Returns a word that the host writes and streams of the device wait for. Returns null if there is no memory, or if streams
/// cannot wait for values; with `captured`, if they cannot in a capture.
///
/// The word still has the value of its former owner: 0 if `captured`, else the owner's last ticket. The next owner counts on
/// from that value, so a stream that still waits for an earlier ticket continues.
std::uint32_t* borrow_word(Device& device, bool captured) noexcept;
void give_back_word(Device& device, bool captured, std::uint32_t* word) noexcept;

/// Returns the second word of a borrowed word, for requests from the stream to the host. Not for a word that was borrowed
/// with `captured`.
inline std::uint32_t* request_word_of(std::uint32_t* word) noexcept { return word + 1; }

/// Writes the word. Devices and other threads also see all earlier writes.
inline void write_word(std::uint32_t* word, std::uint32_t value) noexcept {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
inline std::uint32_t read_word(const std::uint32_t* word) noexcept { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
/// Whether ticket `a` was issued before `b`. Ticket numbers may wrap around.
inline bool is_before(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) < 0; }
/// Writes the word unless it already contains a later ticket.
inline void advance_word(std::uint32_t* word, std::uint32_t ticket) noexcept {
  std::uint32_t seen = read_word(word);
  while (is_before(seen, ticket) &&
         !__atomic_compare_exchange_n(word, &seen, ticket, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
}

}  // namespace weir::python
