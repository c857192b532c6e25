// SPDX-License-Identifier: Apache-2.0
// Functors as arguments, also empty ones between others: their place in the list of parameters stays right.
#include "check.h"

struct Plus {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Nothing {};
struct Scale {
  double by;
  __device__ double operator()(double x) const { return x * by; }
};
template <class A, class B, class C>
__global__ void apply(A a, char tag, B b, Nothing, C c, float* out) {
  out[threadIdx.x] = float(a(int(threadIdx.x), int(tag)) + c(1.5));
  (void)b;
}
__global__ void only_empty(Nothing, Nothing) {}

int main() {
  Numbers<float, 32> out;
  apply<<<1, 32>>>(Plus(), char(7), Nothing(), Nothing(), Scale{2}, out.device);
  for (int i = 0; i < 32; ++i) CHECK(out.read()[i] == i + 7 + 3);
  only_empty<<<1, 1>>>(Nothing(), Nothing());
  CHECK(Plus()(1, 2) == 3);
  CHECK_KERNEL();
  return 0;
}
