// SPDX-License-Identifier: Apache-2.0
// printf in kernels, in functions for both sides and in host code.
#include <stdio.h>

#include "check.h"

__host__ __device__ int show(const char* what, int value) { return printf("%s is %d\n", what, value); }
__global__ void talk(int* out) {
  const char letter = 'w';
  out[0] = printf("block %d, thread %u, %5.2f %s %c %lld %x\n", int(blockIdx.x), threadIdx.x, 1.5f, "text", letter,
                  1LL << 40, 255u);
  out[1] = show("kernel", 3);
  printf("done\n");
}

int main() {
  Numbers<int, 2> out;
  talk<<<1, 1>>>(out.device);
  CHECK_KERNEL();
  CHECK(out.read()[0] == 7 && out.host[1] == 2);  // as on a GPU: the number of arguments
  CHECK(show("host", 4) == 10);                   // as in C: the number of characters
  return std::printf("end\n") == 4 ? 0 : 1;
}
