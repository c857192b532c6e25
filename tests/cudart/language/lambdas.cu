// SPDX-License-Identifier: Apache-2.0
// Lambdas as arguments of kernels: __device__, __host__ __device__, with captures of several sizes, in templates
// and in functions of classes.
#include "check.h"

template <class F>
__global__ void for_each(int n, F f) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) f(i);
}
template <class F>
void run(int n, F f) {
  for_each<<<(n + 31) / 32, 32>>>(n, f);
}
template <class T>
void fill(T* data, int n, T value) {
  run(n, [=] __device__(int i) { data[i] = value; });
}
struct Field {
  int* data;
  int factor;
  void scale(int n) {
    int* const own = data;
    const int by = factor;
    run(n, [=] __device__(int i) { own[i] *= by; });
  }
};

int main() {
  Numbers<int, 100> numbers;
  int* const data = numbers.device;
  const char a = 3;
  const double b = 4;
  run(100, [=] __device__(int i) { data[i] = i + a + int(b); });
  CHECK(numbers.read()[99] == 106);
  Field{data, 2}.scale(100);
  CHECK(numbers.read()[1] == 16);
  fill(data, 100, 9);
  CHECK(numbers.read()[50] == 9);
  const auto both = [] __host__ __device__(int x) { return x * 3; };
  run(100, [=] __device__(int i) { data[i] = both(i); });
  CHECK(numbers.read()[33] == both(33));
  const auto most = [=] __host__ __device__(int x, int y) { return x < y ? y : x; };
  run(100, [=] __device__(int i) mutable { data[i] = most(i, 50); });
  CHECK(numbers.read()[10] == 50 && numbers.host[60] == 60);
  CHECK_KERNEL();
  return 0;
}
