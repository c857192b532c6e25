// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compile.hpp"

/// Compiles kernels for GPUs with Clang, without the vendor's toolkit.
namespace weir::kernel_tool {

/// Compiles a kernel source for a GPU with Clang 16 or later, without the vendor's toolkit: PTX for "compute_90", a code
/// object for "gfx942". The source may use the same dialect as on the CPU backend, with the GPU's own memory and warps.
/// Functions of <math.h> that are not a single instruction come from CUDA's libdevice or ROCm's device libraries; without
/// these libraries they are an error. Throws `weir::Error`; Clang's warnings are put into `log`.
std::vector<std::byte> compile_with_clang(const Request& request, const std::string& clang, std::string& log);

}  // namespace weir::kernel_tool
