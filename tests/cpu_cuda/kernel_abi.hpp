// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// What a compiled module shows of its kernels: a KernelDescription under the name cpu_cuda_kernel_NAME for each of C
/// linkage, and a KernelInstance under the name cpu_cuda_instance_NUMBER for each name expression. Compiled into the driver,
/// and into each module.
namespace cpu_cuda {

struct LaunchShape {
  unsigned grid[3];
  unsigned block[3];
  std::size_t shared_bytes;
};

struct KernelDescription {
  void (*launch)(const LaunchShape& shape, void** arguments);
  unsigned parameter_count;
  const std::size_t* parameter_sizes;
  unsigned max_threads;
};

struct KernelInstance {
  const void* function;  // which has a symbol
  KernelDescription description;
};

}  // namespace cpu_cuda
