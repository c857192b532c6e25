// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "weir/error.hpp"

/// Formats parts of an error's text.
namespace weir::detail {

/// Escapes control characters as "\x1b", because a terminal would obey them, and a null character would end what(). `keep`:
/// characters that are not escaped.
inline std::string escaped(std::string_view text, std::string_view keep = "") {
  std::string result;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if ((code >= 0x20 && code != 0x7F) || keep.find(c) != std::string_view::npos) {
      result += c;
    } else {
      result += fmt::format("\\x{:02x}", code);
    }
  }
  return result;
}

/// Escapes the first 200 characters of untrusted text.
inline std::string printable(std::string_view text) { return escaped(text.substr(0, 200)); }

/// Returns the driver's error for the end of a message: " [CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected]".
/// Returns "" if the error does not come from a driver.
std::string native_suffix(const NativeError& native);

}  // namespace weir::detail
