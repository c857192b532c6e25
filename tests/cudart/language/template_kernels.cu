// SPDX-License-Identifier: Apache-2.0
// Kernel templates: with types, numbers, default arguments, specializations, explicit instances and namespaces.
#include "check.h"

namespace image {
template <class T, int factor = 2>
__global__ void scale(T* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = T(data[i] * factor);
}
template <class T>
__global__ void describe(T* out) {
  *out = T(1);
}
template <>
__global__ void describe<double>(double* out) {
  *out = 2.5;
}
}  // namespace image

template __global__ void image::scale<short, 5>(short*, int);

template <class T>
struct Filter {
  static __device__ T apply(T x) { return x + T(10); }
};
template <template <class> class F, class... Values>
__global__ void sum(Values... values, double* out) {
  double all = 0;
  const double each[] = {double(F<Values>::apply(values))...};
  for (double x : each) all += x;
  *out = all;
}

int main() {
  Numbers<int, 64> ints;
  image::scale<<<2, 32>>>(ints.device, 64);
  image::scale<int, 3><<<2, 32>>>(ints.device, 64);
  for (int i = 0; i < 64; ++i) CHECK(ints.read()[i] == i * 6);
  Numbers<short, 8> shorts;
  image::scale<short, 5><<<1, 8>>>(shorts.device, 8);
  CHECK(shorts.read()[7] == 35);
  Numbers<double, 1> number;
  image::describe<<<1, 1>>>(number.device);
  CHECK(number.read()[0] == 2.5);
  sum<Filter, int, float, short><<<1, 1>>>(1, 2.0f, short(3), number.device);
  CHECK(number.read()[0] == 36.0);
  CHECK_KERNEL();
  return 0;
}
