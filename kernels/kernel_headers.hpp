// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

/// Provides those of CUDA's and HIP's headers that kernels for the CPU can use.
namespace weir::host {

/// Writes the headers into `folder`, which must exist: `<cuda_fp16.h>`, `<hip/hip_cooperative_groups.h>` and others.
void write_kernel_headers(const std::filesystem::path& folder);

}  // namespace weir::host
