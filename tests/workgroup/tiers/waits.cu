// SPDX-License-Identifier: Apache-2.0
// Loops with atomic accesses, in some of which threads wait for each other.
//
// NAME, the sizes of grid and block, bytes of shared memory, and the tier in which the work-group pass runs the kernel.
//! ticket 1 1 1 64 1 1 0 fibers
//! fencespin 1 1 1 64 1 1 0 fibers
//! casarg 1 1 1 64 1 1 0 fibers
//! worklist 2 1 1 64 1 1 0 workgroup
//! relaxed 1 1 1 64 1 1 0 workgroup
//! coalagg 2 1 1 64 1 1 0 workgroup
//! minloop 2 1 1 64 1 1 0 workgroup
//! asmfence 2 1 1 64 1 1 0 workgroup
//! volflag 1 1 1 64 1 1 0 fibers
#include <cooperative_groups.h>

#define KERNEL(name) extern "C" __global__ void name(int* out, const int* in, int n)
#define INDEX                                                     \
  int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x; \
  (void)i, (void)t

namespace cg = cooperative_groups;
__device__ int next_, serving_;
KERNEL(ticket) {
  INDEX;
  int my = atomicAdd(&next_, 1);
  while (atomicAdd(&serving_, 0) != my) {
  }
  out[0] = out[0] * 3 + 1;
  __threadfence();
  atomicAdd(&serving_, 1);
  if (my == 63) {
    out[1] = serving_;
  }
}
KERNEL(fencespin) {
  INDEX;
  __shared__ int flag;
  if (t == 0) flag = 0;
  __syncthreads();
  if (t == 40) {
    out[500] = 5;
    __threadfence();
    flag = 1;
  } else {
    while (flag == 0) __threadfence();
  }
  out[t] = out[500];
}
KERNEL(casarg) {
  INDEX;
  int free_ = in[0] * 0 + (n == 0);
  bool done = false;
  while (!done) {
    if (atomicCAS(&out[300], free_, 1) == free_) {
      out[301] += 1;
      __threadfence();
      atomicExch(&out[300], free_);
      done = true;
    }
  }
}
KERNEL(worklist) {
  INDEX;
  __shared__ int q[256], head, tail;
  if (t == 0) {
    head = 0;
    tail = 64;
  }
  q[t] = in[i] & 31;
  __syncthreads();
  for (;;) {
    int k = atomicAdd(&head, 1);
    if (k >= 64) break;
    int v = q[k];
    atomicAdd(&out[blockIdx.x * 40 + (v & 31)], 1);
  }
  __syncthreads();
  if (t == 0) out[100 + blockIdx.x] = tail;
}
KERNEL(relaxed) {
  INDEX;
  __shared__ int d[64];
  __shared__ int ch;
  d[t] = t == 0 ? 0 : 1000;
  int again;
  do {
    __syncthreads();
    if (t == 0) ch = 0;
    __syncthreads();
    int c = d[t];
    int m = (t * 7 + 1) & 63;
    if (atomicMin(&d[m], c + 1) > c + 1) ch = 1;
    __syncthreads();
    again = ch;
  } while (__syncthreads_or(again));
  out[t] = d[t];
}
__device__ int agg(int* c) {
  auto g = cg::coalesced_threads();
  int b = 0;
  if (g.thread_rank() == 0) b = atomicAdd(c, (int)g.size());
  return g.shfl(b, 0) + g.thread_rank();
}
KERNEL(coalagg) {
  INDEX;
  for (int k = i; k < 1000; k += 128)
    if (in[k] & 1) {
      int p = agg(&out[2000]);
      atomicAdd(&out[3000 + (in[k] & 7)], 1);
      out[p + 4000] = 1;
    }
}
KERNEL(minloop) {
  INDEX;
  for (int k = i; k < 600; k += 128) {
    atomicMin(&out[k & 7], -in[k]);
    atomicMax(&out[8 + (k & 3)], in[k]);
    float* f = (float*)out + 20;
    atomicAdd(f + (k & 1), 1.0f);
  }
}
KERNEL(asmfence) {
  INDEX;
  __shared__ int s[64];
  s[t] = in[i];
  asm volatile("" ::: "memory");
  __syncthreads();
  out[i] = s[63 - t];
  asm volatile("" ::: "memory");
}
KERNEL(volflag) {
  INDEX;
  __shared__ volatile int f;
  if (t == 0) f = 0;
  __syncthreads();
  if (t == 50) f = 9;
  while (f == 0)
    ;
  out[t] = f;
}
