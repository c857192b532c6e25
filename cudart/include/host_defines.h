/* SPDX-License-Identifier: Apache-2.0 */
#ifndef __HOST_DEFINES_H__
#define __HOST_DEFINES_H__

/* CUDA's words for functions and variables. Under Clang's CUDA mode the device header defines them; here they mean nothing,
   so that files for the host alone, in C or C++, can include headers that use them. */
#if !defined(__CUDA__) && !defined(__CUDACC__)
#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__ __attribute__((unavailable("only a file that weir c++ compiles as CUDA has managed variables")))
#define __grid_constant__
#define __launch_bounds__(...)
#ifndef __forceinline__
#define __forceinline__ __inline__ __attribute__((always_inline))
#endif
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#endif

#endif
