/* SPDX-License-Identifier: Apache-2.0 */
/* Complex numbers under CUDA's names, for host and device code. */
#ifndef CU_COMPLEX_H_
#define CU_COMPLEX_H_
#include <math.h>

#include "vector_types.h"

#ifdef __CUDA__
#define WEIR_COMPLEX static __inline__ __host__ __device__ __attribute__((unused))
#else
#define WEIR_COMPLEX static __inline__ __attribute__((unused))
#endif
#define WEIR_COMPLEX_OF(real, vector, made, suffix, hypotenuse, multiply_add)                                          \
  WEIR_COMPLEX real cuCreal##suffix(vector x) { return x.x; }                                                          \
  WEIR_COMPLEX real cuCimag##suffix(vector x) { return x.y; }                                                          \
  WEIR_COMPLEX vector made(real r, real i) {                                                                           \
    vector x;                                                                                                          \
    x.x = r;                                                                                                           \
    x.y = i;                                                                                                           \
    return x;                                                                                                          \
  }                                                                                                                    \
  WEIR_COMPLEX vector cuConj##suffix(vector x) { return made(x.x, -x.y); }                                             \
  WEIR_COMPLEX vector cuCadd##suffix(vector x, vector y) { return made(x.x + y.x, x.y + y.y); }                        \
  WEIR_COMPLEX vector cuCsub##suffix(vector x, vector y) { return made(x.x - y.x, x.y - y.y); }                        \
  WEIR_COMPLEX vector cuCmul##suffix(vector x, vector y) {                                                             \
    return made(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);                                                         \
  }                                                                                                                    \
  /* Scaled, so that no square overflows. */                                                                           \
  WEIR_COMPLEX vector cuCdiv##suffix(vector x, vector y) {                                                             \
    const real scale = 1 / ((y.x < 0 ? -y.x : y.x) + (y.y < 0 ? -y.y : y.y));                                          \
    const real ar = x.x * scale, ai = x.y * scale, br = y.x * scale, bi = y.y * scale;                                 \
    const real factor = 1 / (br * br + bi * bi);                                                                       \
    return made((ar * br + ai * bi) * factor, (ai * br - ar * bi) * factor);                                           \
  }                                                                                                                    \
  WEIR_COMPLEX real cuCabs##suffix(vector x) { return hypotenuse(x.x, x.y); }                                          \
  WEIR_COMPLEX vector cuCfma##suffix(vector x, vector y, vector d) {                                                   \
    return made(multiply_add(-x.y, y.y, multiply_add(x.x, y.x, d.x)),                                                  \
                multiply_add(x.y, y.x, multiply_add(x.x, y.y, d.y)));                                                  \
  }
typedef float2 cuFloatComplex;
typedef float2 cuComplex;
typedef double2 cuDoubleComplex;
WEIR_COMPLEX_OF(float, float2, make_cuFloatComplex, f, hypotf, fmaf)
WEIR_COMPLEX_OF(double, double2, make_cuDoubleComplex, , hypot, fma)
#undef WEIR_COMPLEX_OF
WEIR_COMPLEX cuComplex make_cuComplex(float r, float i) { return make_cuFloatComplex(r, i); }
WEIR_COMPLEX cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex x) {
  return make_cuDoubleComplex((double)x.x, (double)x.y);
}
WEIR_COMPLEX cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex x) {
  return make_cuFloatComplex((float)x.x, (float)x.y);
}
#undef WEIR_COMPLEX

#endif
