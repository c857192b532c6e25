// SPDX-License-Identifier: Apache-2.0
// __CUDA_ARCH__, which is the architecture of -arch: 700 without it, and at most 890 on the CPU. EXPECTED has the value.
#include "check.h"

#ifndef EXPECTED
#define EXPECTED 700
#endif
__global__ void tell(int* out) {
#ifdef __CUDA_ARCH__
  out[0] = __CUDA_ARCH__;
#if __CUDA_ARCH__ >= 800
  out[1] = __reduce_add_sync(~0u, 1);
#else
  out[1] = __popc(__activemask());
#endif
#if defined(OLDER_WITHOUT_PTX) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;\n" ::);
#endif
#endif
}

int main() {
  Numbers<int, 2> out;
  tell<<<1, 32>>>(out.device);
  CHECK_KERNEL();
  CHECK(out.read()[0] == EXPECTED && out.host[1] == 32);
#ifdef __CUDA_ARCH_LIST__
  CHECK(__CUDA_ARCH_LIST__ == EXPECTED);
#endif
  return 0;
}
