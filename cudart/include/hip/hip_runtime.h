/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <cuda_runtime.h>
#include <hip/hip_runtime_api.h>

#ifdef __CUDACC__
#undef __HIPCC__
#define __HIPCC__ 1
#if defined(__CUDA_ARCH__) && !defined(__HIP_DEVICE_COMPILE__)
#define __HIP_DEVICE_COMPILE__ 1
#endif
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define hipLaunchKernelGGL(kernel, ...) weir_hip_launch((kernel), __VA_ARGS__)
#define weir_hip_launch(kernel, grid, block, bytes, stream, ...) \
  (kernel<<<(grid), (block), (bytes), (stream)>>>(__VA_ARGS__))
#define unsafeAtomicAdd atomicAdd
#endif
