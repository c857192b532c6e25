#include <factor.cuh>

extern "C" __global__ void scale(int n, int* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = ADD(FACTOR * x[i], 1);
}
