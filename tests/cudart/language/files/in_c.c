/* SPDX-License-Identifier: Apache-2.0 */
/* A host file in C, for which nvcc ignores the standard of C++. */
#include <cuda_runtime.h>

int main(void) {
  int* class = NULL; /* a name that C++ reserves */
  int value = 0;
  if (cudaMalloc((void**)&class, sizeof value) != cudaSuccess) return 1;
  if (cudaMemset(class, 1, sizeof value) != cudaSuccess) return 2;
  if (cudaMemcpy(&value, class, sizeof value, cudaMemcpyDeviceToHost) != cudaSuccess) return 3;
  if (cudaFree(class) != cudaSuccess) return 4;
  return value == 0x01010101 ? 0 : 5;
}
