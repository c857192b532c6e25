// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weir/device.hpp"

/// Words in pinned memory that streams wait for, and the host writes.
namespace weir::python {

/// A word of a device's, which the program writes and streams of the device wait for. Null where the device cannot wait for
/// values, in a capture if `captured`, or where there is no memory for it.
///
/// The word holds what its former owner left there: 0 in a capture, else the number of the last ticket, behind which the
/// next owner counts on. A stream that still waits for an earlier ticket goes on.
std::uint32_t* borrow_word(Device& device, bool captured) noexcept;
void give_back_word(Device& device, bool captured, std::uint32_t* word) noexcept;

/// Writes the word, for the host and for devices.
inline void write_word(std::uint32_t* word, std::uint32_t value) noexcept {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
inline std::uint32_t read_word(const std::uint32_t* word) noexcept { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

}  // namespace weir::python
