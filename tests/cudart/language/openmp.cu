// SPDX-License-Identifier: Apache-2.0
// OpenMP in host code: -fopenmp.
#if defined(_OPENMP) && __has_include(<omp.h>)
#define HAS_OMP 1
#include <omp.h>
#endif

#include <vector>

#include "check.h"

__global__ void add(const int* a, int* b, int n) {
#pragma unroll 4
  for (int i = threadIdx.x; i < n; i += blockDim.x) b[i] += a[i];
}

int main() {
  Numbers<int, 1000> a, b;
  add<<<1, 64>>>(a.device, b.device, 1000);
  CHECK_KERNEL();
  b.read();
  int wrong = 0;
  long long sum = 0;
#pragma omp parallel for reduction(+ : wrong, sum)
  for (int i = 0; i < 1000; ++i) {
    wrong += b.host[i] != 2 * i;
    sum += b.host[i];
  }
  CHECK(wrong == 0 && sum == 999000);
#ifdef HAS_OMP
  CHECK(omp_get_max_threads() >= 1);
#endif
  return 0;
}
