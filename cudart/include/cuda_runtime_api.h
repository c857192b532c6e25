/* SPDX-License-Identifier: Apache-2.0 */
#ifndef __CUDA_RUNTIME_API_H__
#define __CUDA_RUNTIME_API_H__

/* The calls of CUDA's runtime over Weir, for C and C++ (docs/cuda-programs.md). Their table is weir_cuda_calls.def. */

#pragma GCC system_header

#include <stddef.h>

#include "builtin_types.h"

#define CUDART_VERSION 12080
#define CUDARTAPI

/* `--default-stream per-thread` defines one of the two macros. The default stream of a call is then the calling thread's,
   because the call's symbol is that of its per-thread variant. */
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(__CUDA_API_PER_THREAD_DEFAULT_STREAM)
#define WEIR_CUDA_STREAM_SYMBOL(name) __asm__(#name "_ptsz")
#else
#define WEIR_CUDA_STREAM_SYMBOL(name)
#endif

/* What is missing is an error where it is used. */
#define WEIR_CUDA_REASON(name, text) #name " is not part of Weir's CUDA runtime: " text "; see docs/cuda-programs.md"
#if defined(__has_attribute)
#if __has_attribute(unavailable)
#define WEIR_CUDA_UNAVAILABLE(name, text) __attribute__((unavailable(WEIR_CUDA_REASON(name, text))))
#define WEIR_CUDA_UNAVAILABLE_TYPE(name, text) WEIR_CUDA_UNAVAILABLE(name, text)
#endif
#endif
#ifndef WEIR_CUDA_UNAVAILABLE /* GCC before 12 */
#define WEIR_CUDA_UNAVAILABLE(name, text) __attribute__((error(WEIR_CUDA_REASON(name, text))))
#define WEIR_CUDA_UNAVAILABLE_TYPE(name, text) __attribute__((deprecated(WEIR_CUDA_REASON(name, text))))
#endif

#ifdef __cplusplus
#define WEIR_CUDA_DEFAULT(value) = value
#define WEIR_CUDA_ANYTHING (...)
extern "C" {
#else
#define WEIR_CUDA_DEFAULT(value)
#define WEIR_CUDA_ANYTHING ()
#endif
#ifdef WEIR_CUDA_LIBRARY
#undef WEIR_CUDA_DEFAULT
#define WEIR_CUDA_DEFAULT(value)
#endif

#pragma GCC visibility push(default)
#define WEIR_CUDA_CALL(result, name, parameters, arguments, text) extern result name parameters;
#define WEIR_CUDA_STREAM_CALL(result, name, parameters, arguments, text) \
  extern result name parameters WEIR_CUDA_STREAM_SYMBOL(name);
#define WEIR_CUDA_MISSING(name, text) extern cudaError_t name WEIR_CUDA_ANYTHING WEIR_CUDA_UNAVAILABLE(name, text);
#ifdef __cplusplus
#define WEIR_CUDA_MISSING_TYPE(name, text)            \
  struct WEIR_CUDA_UNAVAILABLE_TYPE(name, text) name { \
    int missing;                                      \
  };
#else
#define WEIR_CUDA_MISSING_TYPE(name, text) typedef struct weir_##name name WEIR_CUDA_UNAVAILABLE_TYPE(name, text);
#endif
#include "weir_cuda_calls.def"

/* Clang's code for <<<…>>> calls it by this name. */
extern cudaError_t cudaLaunchKernel_ptsz(const void* function, dim3 grid, dim3 block, void** arguments, size_t sharedBytes,
                                         cudaStream_t stream);
#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
