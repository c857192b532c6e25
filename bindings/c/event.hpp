// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include "weir/c/event.h"
#include "weir/event.hpp"

// Conversions of event options and interprocess handles between C and C++.
namespace weir::c {

EventOptions event_options(std::uint32_t flags);

inline weir_interprocess_handle bytes_of(const InterprocessHandle& handle) noexcept {
  weir_interprocess_handle bytes;
  static_assert(sizeof(bytes) == sizeof(handle));
  std::memcpy(&bytes, handle.bytes.data(), sizeof(bytes));
  return bytes;
}

inline InterprocessHandle handle_of(const weir_interprocess_handle& bytes) noexcept {
  InterprocessHandle handle;
  std::memcpy(handle.bytes.data(), &bytes, sizeof(handle.bytes));
  return handle;
}

}  // namespace weir::c
