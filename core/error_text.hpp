// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "weir/error.hpp"

namespace weir::detail {

/// " [CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected]", or nothing where no driver was asked.
std::string native_suffix(const NativeError& native);

}  // namespace weir::detail
