// SPDX-License-Identifier: Apache-2.0
// Names that programs give to their own things, and which no header of CUDA's may take.
#include <cmath>
#include <iostream>

#include "check.h"

#if defined(lerp) || defined(printf) || defined(place) || defined(shared) || defined(device) || defined(global) || \
    defined(host) || defined(min) || defined(max)
#error "a macro outside the reserved names"
#endif

enum { none, wait, exchange, vote, services, fibers, spin, place, groups, step, kinds };
struct parameter {
  int shuffle, reduce, scan;
};
class thread {};
template <class T>
__host__ __device__ T saturated(T x) {
  return x > T(1) ? T(1) : x;
}
#if __cplusplus < 202002L
__device__ float lerp(float a, float b, float t) { return fmaf(t, b, fmaf(-t, a, a)); }
#endif
__device__ float fit(float x) { return saturated(x); }
__device__ int own_bit(int x) { return 1 << x; }
__device__ float __my_function(float x) { return __sinf(x) * 0 + x; }
#define SYNC __syncthreads()
#define N 16
#define T(x) (x)

__global__ void run(float* out) {
  const parameter host = {1, 2, 3};
  const int device = host.shuffle, global = host.reduce, shared = host.scan;
  SYNC;
  out[0] = lerp(0, 10, 0.25f) + fit(5) + float(own_bit(3)) + __my_function(N) + float(device + global + shared + T(spin));
}

int main() {
  using namespace std;
  Numbers<float, 1> out;
  run<<<1, 1>>>(out.device);
  CHECK_KERNEL();
  CHECK(out.read()[0] == 2.5f + 1 + 8 + 16 + 6 + 6);
  double norm = 3, y1 = norm, gamma = y1;
  CHECK(max(norm, 4.0) == 4 && min(2, 1) == 1 && abs(-gamma) == 3 && saturated(4) == 1);
  cout << "" << endl;
  return 0;
}
