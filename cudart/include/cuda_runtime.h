/* SPDX-License-Identifier: Apache-2.0 */
#ifndef __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_H__

/* Clang's CUDA mode, or, for AMD's GPUs, its HIP mode: the words of the language and what kernels use. Files for the host
   alone, for any compiler of C or C++, see the runtime's calls and the vector types. */
#if defined(__CUDA__) || defined(__HIP__)
#include "weir_keywords.h"

#if defined(WEIR_FOR_NVIDIA)
#include <weir_device_nvidia.h>
#elif defined(WEIR_FOR_AMD)
#include <weir_device_amd.h>
/* A program must not take this for HIP. */
#undef __HIP__
#undef __HIPCC__
#else
#include <weir_device_cpu.h>
#endif
#endif

#include "builtin_types.h"
#include <cuda_runtime_api.h>
#include "vector_functions.h"

#ifdef __cplusplus
#include <weir_cuda_templates.h>
#if __cplusplus >= 201103L
#include <weir_textures.h>
#endif

#if defined(__CUDA__)
/* Clang calls these two for `kernel<<<grid, block, bytes, stream>>>(…)`. */
extern "C" unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t bytes = 0, struct CUstream_st* stream = 0);
#ifdef WEIR_FOR_AMD
extern "C" unsigned int __hipPushCallConfiguration(dim3 grid, dim3 block, size_t bytes = 0, struct CUstream_st* stream = 0);
#endif
extern "C" cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* bytes, void* stream);
#endif
#endif

#endif
