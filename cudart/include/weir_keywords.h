/* SPDX-License-Identifier: Apache-2.0 */
/* The words of CUDA C++ and the macros of its compilers, for Clang. No part of a program includes this itself. */
#ifndef WEIR_KEYWORDS_H
#define WEIR_KEYWORDS_H

#define __NVCC__ 1
#define __CUDACC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 8
#define __CUDACC_VER_BUILD__ 0
#define __CUDACC_EXTENDED_LAMBDA__ 1
#define __CUDACC_RELAXED_CONSTEXPR__ 1
/* The architecture of code for the CPU, which `weir c++` takes from -arch: 700 to 890. */
#ifndef WEIR_CPU_ARCH
#define WEIR_CPU_ARCH 700
#endif
#undef __CUDA_ARCH_LIST__
#define __CUDA_ARCH_LIST__ WEIR_CPU_ARCH
/* Which code this is: WEIR_FOR_NVIDIA, WEIR_FOR_AMD, WEIR_FOR_CPU, or none of them for host code. Clang defines a GPU's
   macros for host code, too, but __CUDA_ARCH__ only for device code: the architecture, or 1 for the CPU. Compute
   capability 7.0 is the newest one whose programs need no instruction that only NVIDIA's GPUs have: the value without -arch,
   and for AMD's GPUs. */
#if defined(__HIP_DEVICE_COMPILE__)
#define WEIR_FOR_AMD 1
#define __CUDA_ARCH__ 700
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 1
#define WEIR_FOR_CPU 1
#undef __CUDA_ARCH__
#define __CUDA_ARCH__ WEIR_CPU_ARCH
#elif defined(__CUDA_ARCH__)
#define WEIR_FOR_NVIDIA 1
#endif
#ifndef __CUDA__
#define __CUDA__ 1 /* Clang's HIP mode */
#endif

#ifdef WEIR_FOR_CPU
/* What the work-group pass finds in LLVM's IR. `Module::global` finds variables by their symbols, so they are visible. */
#define __global__ __attribute__((global, annotate("weir.kernel"), annotate("weir.program")))
#define __device__ __attribute__((device, visibility("default")))
#define __constant__ __attribute__((constant, visibility("default")))
#define __shared__ __attribute__((shared, annotate("weir.shared")))
#define __launch_bounds__(...) __attribute__((annotate("weir.launch_bounds", __VA_ARGS__)))
#else
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#endif
#define __host__ __attribute__((host))
#ifdef WEIR_FOR_AMD
#define __managed__ \
  _Pragma("GCC error \"no __managed__ variables on AMD's GPUs: use cudaMallocManaged; see docs/cuda-programs.md\"")
#elif defined(WEIR_FOR_CPU)
#define __managed__ __device__
#else
/* What the plugin for Clang finds in LLVM's IR (kernels/workgroup/managed.cpp). */
#define __managed__ __device__ __attribute__((section("weir_managed")))
#endif
#define __grid_constant__
#define __maxnreg__(n)
#define __cluster_dims__(...) \
  _Pragma("GCC error \"no thread block clusters here: see docs/cuda-programs.md\"")
#undef __forceinline__
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __inline_hint__
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __device_builtin__
#define __cudart_builtin__
#define __nv_pure__ __attribute__((pure))

/* `__restrict__` speaks of one thread. Clang would also conclude that no other thread's write becomes visible at a barrier.
   The work-group pass for the CPU takes that into account; the compilers for GPUs do not. */
#if defined(WEIR_FOR_NVIDIA) || defined(WEIR_FOR_AMD)
#define __restrict__
#define __restrict
#endif

/* nvcc warns of `register` in C++17; for Clang it is an error. */
#pragma clang diagnostic ignored "-Wregister"

#endif
