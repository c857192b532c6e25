// SPDX-License-Identifier: Apache-2.0
// Functions for both sides that call the C library's and CUDA's functions; the macro that tells the sides apart.
#include <cassert>
#include <cmath>
#include <cstring>

#include "check.h"

#if !defined(__CUDACC__) || !defined(__NVCC__) || defined(__CUDACC_RTC__) || __CUDACC_VER_MAJOR__ < 11
#error "the macros of CUDA's compilers"
#endif

struct Vector {
  float x, y;
  __host__ __device__ Vector(float a = 0, float b = 0) : x(a), y(b) {}
  __host__ __device__ float length() const { return sqrtf(x * x + y * y); }
  friend __host__ __device__ Vector operator+(const Vector& a, const Vector& b) { return {a.x + b.x, a.y + b.y}; }
};
__host__ __device__ inline int side() {
#ifdef __CUDA_ARCH__
  return __CUDA_ARCH__ >= 700 ? 1 : -1;
#else
  return 0;
#endif
}
template <class T>
__host__ __device__ T calculate(T a, T b) {
  assert(a < b);
  char text[4];
  memset(text, 0, sizeof(text));
  memcpy(text, "abc", 3);
  if (isnan(a) || std::isnan(b)) printf("not a number\n");
  return fabs(min(a, b)) + std::fabs(max(a, b)) + pow(a, T(2)) + T(text[1]) + floor(a) + std::exp(T(0)) + T(strlen(text));
}
__global__ void run(float* out) {
  out[0] = (Vector(3, 0) + Vector(0, 4)).length();
  out[1] = calculate(1.5f, 2.5f);
  out[2] = float(calculate(-1.5, 2.5));
  out[3] = float(side());
}

int main() {
  Numbers<float, 4> out;
  run<<<1, 1>>>(out.device);
  CHECK_KERNEL();
  out.read();
  CHECK(out.host[0] == 5 && (Vector(3, 0) + Vector(0, 4)).length() == 5);
  CHECK(out.host[1] == calculate(1.5f, 2.5f) && out.host[1] == 4 + 2.25f + 98 + 1 + 1 + 3);
  CHECK(out.host[2] == float(calculate(-1.5, 2.5)));
  CHECK(out.host[3] == 1 && side() == 0);
  return 0;
}
