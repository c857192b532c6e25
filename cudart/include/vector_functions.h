/* SPDX-License-Identifier: Apache-2.0 */
#ifndef __VECTOR_FUNCTIONS_H__
#define __VECTOR_FUNCTIONS_H__

#include "vector_types.h"

/* make_float2 and the like; under Clang's CUDA mode the device header defines them. */
#ifndef __CUDA__

/* clang-format off */
#define WEIR_VECTOR(type, name)                                                                          \
  static __inline__ name##1 make_##name##1(type x) { name##1 v = {x}; return v; }                        \
  static __inline__ name##2 make_##name##2(type x, type y) { name##2 v = {x, y}; return v; }             \
  static __inline__ name##3 make_##name##3(type x, type y, type z) { name##3 v = {x, y, z}; return v; }  \
  static __inline__ name##4 make_##name##4(type x, type y, type z, type w) { name##4 v = {x, y, z, w}; return v; }
WEIR_VECTOR(signed char, char) WEIR_VECTOR(unsigned char, uchar) WEIR_VECTOR(short, short)
WEIR_VECTOR(unsigned short, ushort) WEIR_VECTOR(int, int) WEIR_VECTOR(unsigned int, uint) WEIR_VECTOR(long, long)
WEIR_VECTOR(unsigned long, ulong) WEIR_VECTOR(long long, longlong) WEIR_VECTOR(unsigned long long, ulonglong)
WEIR_VECTOR(float, float) WEIR_VECTOR(double, double)
/* clang-format on */
#undef WEIR_VECTOR

#endif
#endif
