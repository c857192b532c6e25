// SPDX-License-Identifier: Apache-2.0
// Mathematical functions of host code stay the C library's, those of kernels are the device's, under the same names.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <type_traits>
#include <vector>

#include "check.h"

template <class T>
__global__ void device(T* out, T x, int k) {
  int exponent;
  T s, c;
  out[0] = std::sin(x);
  out[1] = sqrt(x) + std::sqrt(x);
  out[2] = std::pow(x, 2) + pow(x, T(2)) + std::pow(x, k);
  out[3] = std::abs(-x) + abs(-k) + fabs(-x) + std::fabs(-x);
  out[4] = std::floor(x) + std::fmod(x, T(1)) + fmax(x, T(3)) + std::min(x, T(0.5)) + std::max(x, T(1));
  out[5] = T(std::isnan(x)) + T(isinf(x)) + T(std::isfinite(x)) + T(signbit(-x));
  out[6] = frexp(x, &exponent) + exponent + ldexp(x, 2) + std::round(x) + T(lround(x));
  out[7] = rsqrt(x) + cbrt(x) + std::exp2(x) + exp10(T(1)) + std::hypot(x, x);
  sincos(x, &s, &c);
  out[8] = s * s + c * c;
  out[9] = T(std::sqrt(4) + sin(0));  // a whole number becomes a double
  out[10] = fma(x, x, x) + std::fma(x, x, x) + copysign(x, T(-1)) + normcdf(T(0)) + erfinv(T(0)) + sinpi(T(0.5));
}
template <class T>
int check(T tolerance) {
  Numbers<T, 11> out;
  const T x = T(1.5);
  device<<<1, 1>>>(out.device, x, 3);
  CHECK_KERNEL();
  out.read();
  const double expected[] = {std::sin(1.5),
                             2 * std::sqrt(1.5),
                             1.5 * 1.5 * 2 + 1.5 * 1.5 * 1.5,
                             1.5 * 3 + 3,
                             1 + 0.5 + 3 + 0.5 + 1.5,
                             2,
                             0.75 + 1 + 6 + 2 + 2,
                             1 / std::sqrt(1.5) + std::cbrt(1.5) + std::exp2(1.5) + 10 + std::hypot(1.5, 1.5),
                             1,
                             2,
                             3.75 * 2 - 1.5 + 0.5 + 0 + 1};
  for (int i = 0; i < 11; ++i) CHECK(std::fabs(out.host[i] - expected[i]) < tolerance);
  return 0;
}

int main() {
  if (check<float>(1e-5f) != 0 || check<double>(1e-14) != 0) return 1;
  // The functions of host code, with their types.
  static_assert(std::is_same<decltype(std::sin(1.0f)), float>::value, "");
  static_assert(std::is_same<decltype(std::sqrt(2)), double>::value, "");
  static_assert(std::is_same<decltype(std::pow(1.0f, 2)), double>::value, "");
  volatile float x = 1.0f;
  volatile double y = 2.0;
  CHECK(std::sin(x) == sinf(x) && std::sin(y) == sin(y) && std::fabs(sin(y) - 0.90929742682568) < 1e-12);
  CHECK(pow(y, 10) == 1024 && std::pow(x, 2.0f) == 1 && abs(-3) == 3 && std::abs(-2.5) == 2.5 && abs(-2.5) == 2.5);
  CHECK(std::isnan(NAN) && isnan(y) == 0 && std::isinf(INFINITY) && floorf(1.5f) == 1 && std::floor(-1.5) == -2);
  CHECK(rsqrt(4.0) == 0.5 && rsqrtf(4.0f) == 0.5f && normcdf(0.0) == 0.5 && sinpi(0.5) == 1);
  // CUDA's functions for both sides, beside the standard library's.
  CHECK(min(3, 4) == 3 && max(3u, 4u) == 4u && max(1.5f, 2.5) == 2.5 && min(2LL, 1LL) == 1 && std::min(3, 4) == 3);
  CHECK(min(size_t(7), size_t(9)) == 7 && std::max({1, 5, 2}) == 5);
  // Functions by their names, which stand for one on each side.
  std::vector<float> v = {4, 9, 16};
  std::transform(v.begin(), v.end(), v.begin(), sqrtf);
  CHECK(v[2] == 4);
  std::transform(v.begin(), v.end(), v.begin(), static_cast<float (*)(float)>(std::sqrt));
  CHECK(v[2] == 2);
  double (*const f)(double) = cos;
  CHECK(f(0) == 1);
  const std::unique_ptr<int, decltype(&free)> memory((int*)malloc(sizeof(int)), free);
  const std::unique_ptr<void, void (*)(void*)> other(std::malloc(8), std::free);
  memset(memory.get(), 1, sizeof(int));
  CHECK(*memory == 0x01010101 && other != nullptr);
  return 0;
}
