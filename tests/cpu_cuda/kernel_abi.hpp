// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// The symbols by which a compiled module describes its kernels: a KernelDescription cpu_cuda_kernel_NAME for each kernel
/// with C linkage, and a KernelInstance cpu_cuda_instance_NUMBER for each name expression. Included by the driver and by
/// each module.
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
