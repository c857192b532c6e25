// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

/// CUDA's and HIP's own headers, as far as kernels for the CPU have them.
namespace weir::host {

/// Writes the headers into `folder`, which must exist: `<cuda_fp16.h>`, `<hip/hip_cooperative_groups.h>` and so on.
void write_kernel_headers(const std::filesystem::path& folder);

}  // namespace weir::host
