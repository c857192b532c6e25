// SPDX-License-Identifier: Apache-2.0
// Lanes that return before other lanes call warp functions.
//! ret1 2 1 1 64 1 1 0 workgroup
//! ret2 2 1 1 96 1 1 0 workgroup
//! ret3 1 1 1 64 1 1 0 workgroup
//! ret4 1 1 1 40 1 1 0 workgroup
//! ret5 2 1 1 64 1 1 0 workgroup
//! ret6 1 1 1 64 1 1 0 workgroup
//! ret7 1 1 1 64 1 1 0 workgroup
//! small_blocks 2 1 1 32 1 1 0 workgroup
//! small_blocks 2 1 1 128 1 1 0 workgroup
//! small_blocks 2 1 1 20 1 1 0 workgroup
//! small_blocks 2 1 1 70 1 1 0 workgroup
//! warp_leaves 2 1 1 128 1 1 0 fibers
//! warp_leaves 2 1 1 100 1 1 0 fibers
//! joined1 2 1 1 64 1 1 0 workgroup
//! joined2 2 1 1 70 1 1 0 workgroup
//! joined3 2 1 1 64 1 1 0 workgroup
//! joined4 2 1 1 64 1 1 0 workgroup
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;
KERNEL(ret1) {
  INDEX;
  if (in[i] % 3 == 0) {
    out[i] = -5;
    return;
  }
  out[i] = __popc(__activemask()) + __shfl_sync(__activemask(), in[i], __ffs(__activemask()) - 1);
}
KERNEL(ret2) {
  INDEX;
  if (i >= 150) return;
  auto a = cg::coalesced_threads();
  auto g = cg::labeled_partition(a, in[i] & 3);
  int total = cg::reduce(g, in[i], cg::plus<int>());
  if (g.thread_rank() == 0) atomicAdd(&out[in[i] & 3], total);
}
KERNEL(ret3) {
  INDEX;
  for (int k = 0; k < 5; ++k) {
    if (in[i + k] % 5 == 0) {
      out[i] = -k;
      return;
    }
    unsigned m = __activemask();
    out[i] += __popc(__ballot_sync(m, in[i + k] & 1));
  }
  out[i] += 1000;
}
KERNEL(ret4) {
  INDEX;
  if (t & 1) {
    if (t & 2) {
      out[t] = 1;
      return;
    }
    out[t] = __shfl_sync(__activemask(), t, 1);
  } else {
    if (t & 4) return;
    out[t] = __popc(__activemask());
  }
  out[t + 64] = __any_sync(__activemask(), t == 5);
}
KERNEL(ret5) {
  INDEX;
  if (t >= 20 && t < 40) return;
  int v = in[i];
  v += __shfl_xor_sync(~0u, v, 1);
  v += __popc(__ballot_sync(~0u, v & 1));
  out[i] = v;
}
KERNEL(ret6) {
  INDEX;
  if (in[i] & 1) {
    if (in[i] & 2) return;
    out[i] = __shfl_sync(__ballot_sync(__activemask(), 1), in[i], 2);
    return;
  }
  out[i] = __shfl_sync(__activemask(), in[i], 3);
  if (in[i] & 4) return;
  out[i] += __activemask();
}
KERNEL(ret7) {
  INDEX;
  switch (in[i] & 3) {
    case 0: return;
    case 1: out[i] = __popc(__activemask()); return;
    case 2: out[i] = 7; break;
    default: out[i] = 9;
  }
  out[i] += __shfl_xor_sync(__activemask(), out[i], 1);
}
// Compilers join the writes before the returns: nobody has ended where the others ask for all.
// Blocks of one warp return early; only some of their lanes write before.
KERNEL(small_blocks) {
  INDEX;
  __shared__ int sums[32];
  int sum = in[i];
  if (blockDim.x >= 32) sum += __shfl_down_sync(__activemask(), sum, 16);
  if (blockDim.x >= 16) sum += __shfl_down_sync(__activemask(), sum, 8);
  if (blockDim.x <= 32) {
    if (t == 0) out[blockIdx.x] = sum;
    return;
  }
  if (t % 32 == 0) sums[t / 32] = sum;
  __syncthreads();
  sum = t < blockDim.x / 32 ? sums[t % 32] : 0;
  if (t / 32 == 0) {
    if (blockDim.x >= 128) sum += __shfl_down_sync(~0u, sum, 2);
    sum += __shfl_down_sync(~0u, sum, 1);
  }
  if (t == 0) out[blockIdx.x] = sum;
}
// One warp returns before a barrier of the others, which then read what it wrote. That all of its lanes return is not seen.
KERNEL(warp_leaves) {
  INDEX;
  __shared__ int shared[128];
  shared[t] = __shfl_sync(__activemask(), in[i], 5);
  if (t / 32 == 1) {
    if (t % 3 == 0) {
      shared[t] = in[i] * 2;
      out[i] = t;
    }
    return;
  }
  __syncthreads();
  out[i] = shared[32 + t % 32] + __shfl_xor_sync(__activemask(), shared[t], 1);
}
KERNEL(joined1) {
  INDEX;
  if (in[i] & 1) {
    out[i] = -1;
    return;
  }
  out[i] = __popc(__ballot_sync(~0u, in[i] & 2));
}
KERNEL(joined2) {
  INDEX;
  __shared__ int s[70];
  int v = in[i];
  s[t] = v;
  if (v & 1) {
    out[i] = -1;
    return;
  }
  __syncthreads();
  v = s[69 - t];
  if (v & 2) {
    out[i] = -4;
    return;
  }
  v += __any_sync(~0u, v > 3000);
  __syncthreads();
  s[t] = v;
  __syncthreads();
  out[i] = s[t] + 1;
}
KERNEL(joined3) {
  INDEX;
  int v = in[i];
  switch (v & 3) {
    case 0: out[i] = 5; return;
    case 1: v += 3; break;
    case 2:
      if (v & 8) return;
      v = -v;
    default: v ^= 1;
  }
  v += __shfl_xor_sync(~0u, v, 4);
  out[i] = v;
}
KERNEL(joined4) {
  INDEX;
  int turn = 0, v = in[i];
  for (int k = t; k < 17; k += 5) {
    if (in[turn++] > 2000) {  // for all that are in the loop
      out[i] = v + 9;
      return;
    }
    v ^= k;
  }
  out[i] = v + __shfl_xor_sync(~0u, v, 1);
}
