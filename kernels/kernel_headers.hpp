// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

/// Provides those of CUDA's and HIP's headers that kernels for the CPU can use.
namespace weir::host {

/// Headers of CUDA's that kernels for the CPU cannot use, and what an error says about them.
std::span<const char* const> refused_headers();
inline constexpr std::string_view refused_header_error =
    "Weir has nothing of this header for the CPU: put what needs it behind #ifndef __WEIR_HOST__";

/// Writes the headers into `folder`, which must exist: `<cuda_fp16.h>`, `<hip/hip_cooperative_groups.h>` and others.
///
/// Writes a refused header only if one of the folders in `searched` has a header of that name, which the compiler would read
/// otherwise and report an error for each of its lines. So `__has_include` is false for the others.
void write_kernel_headers(const std::filesystem::path& folder, std::span<const std::string> searched);

}  // namespace weir::host
