/* SPDX-License-Identifier: Apache-2.0 */
#ifndef __VECTOR_TYPES_H__
#define __VECTOR_TYPES_H__

#include "host_defines.h"

/* Under Clang's CUDA mode the device header, which cuda_runtime.h includes first, defines these types, with this layout. */
#ifndef __CUDA__

/* clang-format off */
#define WEIR_VECTOR(type, name, alignment1, alignment2, alignment4)                              \
  typedef struct __attribute__((aligned(alignment1))) name##1 { type x; } name##1;               \
  typedef struct __attribute__((aligned(alignment2))) name##2 { type x, y; } name##2;            \
  typedef struct name##3 { type x, y, z; } name##3;                                              \
  typedef struct __attribute__((aligned(alignment4))) name##4 { type x, y, z, w; } name##4;
WEIR_VECTOR(signed char, char, 1, 2, 4) WEIR_VECTOR(unsigned char, uchar, 1, 2, 4) WEIR_VECTOR(short, short, 2, 4, 8)
WEIR_VECTOR(unsigned short, ushort, 2, 4, 8) WEIR_VECTOR(int, int, 4, 8, 16) WEIR_VECTOR(unsigned int, uint, 4, 8, 16)
WEIR_VECTOR(long, long, sizeof(long), 2 * sizeof(long), 16)
WEIR_VECTOR(unsigned long, ulong, sizeof(long), 2 * sizeof(long), 16) WEIR_VECTOR(long long, longlong, 8, 16, 16)
WEIR_VECTOR(unsigned long long, ulonglong, 8, 16, 16) WEIR_VECTOR(float, float, 4, 8, 16)
WEIR_VECTOR(double, double, 8, 16, 16)
/* clang-format on */
#undef WEIR_VECTOR

struct dim3 {
  unsigned int x, y, z;
#ifdef __cplusplus
#if __cplusplus >= 201103L
  constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return uint3{x, y, z}; }
#else
  dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {}
  dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
#endif
#endif
};
typedef struct dim3 dim3;

#endif
#endif
