// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "weir/error.hpp"

namespace weir::detail {

/// Control characters would act on a terminal, and a 0 would end what(): they become "\x1b". `keep`: those that stay.
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

/// " [CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected]", or nothing where no driver was asked.
std::string native_suffix(const NativeError& native);

}  // namespace weir::detail
