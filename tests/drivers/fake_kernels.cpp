// SPDX-License-Identifier: Apache-2.0
#include "tests/cpu_cuda/kernel_abi.hpp"

// The module that the stories' kernels come from. They do nothing, in blocks of up to 64 threads.
namespace {

constexpr cpu_cuda::KernelDescription nothing = {[](const cpu_cuda::LaunchShape&, void**) {}, 0, nullptr, 64};

}  // namespace

#define FAKE_KERNEL(name)                                                                                     \
  extern "C" __attribute__((visibility("default"))) const cpu_cuda::KernelDescription cpu_cuda_kernel_##name; \
  const cpu_cuda::KernelDescription cpu_cuda_kernel_##name = nothing;
FAKE_KERNEL(a_kernel)
FAKE_KERNEL(k)
