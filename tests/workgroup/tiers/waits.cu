// SPDX-License-Identifier: Apache-2.0
// Loops with atomic accesses, in some of which threads wait for each other.
//! ticket 1 1 1 64 1 1 0 fibers
//! fencespin 1 1 1 64 1 1 0 fibers
//! casarg 1 1 1 64 1 1 0 fibers
//! worklist 2 1 1 64 1 1 0 workgroup
//! volflag 1 1 1 64 1 1 0 fibers

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
