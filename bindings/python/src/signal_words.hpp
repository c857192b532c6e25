// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weir/device.hpp"

/// Words in pinned memory that streams wait for, and the host writes.
namespace weir::python {

/// A word that the host writes and streams of the device wait for. Null if the device cannot wait for values (with
/// `captured`: in a capture), or if there is no memory for it.
///
/// The word holds its former owner's value: 0 if `captured`, else the last ticket; the next owner continues to count from
/// it. A stream that still waits for an earlier ticket continues.
std::uint32_t* borrow_word(Device& device, bool captured) noexcept;
void give_back_word(Device& device, bool captured, std::uint32_t* word) noexcept;

/// The second word, for the opposite direction, of a word that was not borrowed for a capture.
inline std::uint32_t* request_word_of(std::uint32_t* word) noexcept { return word + 1; }

/// Writes the word so that the host and devices see it.
inline void write_word(std::uint32_t* word, std::uint32_t value) noexcept {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
inline std::uint32_t read_word(const std::uint32_t* word) noexcept { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
/// Whether ticket `a` was issued before `b`. Numbers may wrap around.
inline bool is_before(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) < 0; }
/// Writes the word unless it already has a later ticket.
inline void advance_word(std::uint32_t* word, std::uint32_t ticket) noexcept {
  std::uint32_t seen = read_word(word);
  while (is_before(seen, ticket) &&
         !__atomic_compare_exchange_n(word, &seen, ticket, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
}

}  // namespace weir::python
