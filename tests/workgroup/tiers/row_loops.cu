// SPDX-License-Identifier: Apache-2.0
// Loops of a warp or a block over a row. Full warps run without masks; only some lanes process the rest of a row.
//! all_lengths 2 1 1 64 1 1 0 workgroup
//! of_the_block 2 1 1 96 1 1 0 workgroup
//! odd_block 2 1 1 70 1 1 0 workgroup
//! inclusive 1 1 1 64 1 1 0 workgroup
//! near_the_end 1 1 1 64 1 1 0 workgroup
//! wide_index 1 1 1 64 1 1 0 workgroup
//! by_turns 1 1 1 64 1 1 0 workgroup
//! own_bounds 2 1 1 64 1 1 0 workgroup
//! at_least_once 2 1 1 64 1 1 0 workgroup
//! downwards 1 1 1 64 1 1 0 workgroup
//! some_lanes 2 1 1 64 1 1 0 workgroup
//! some_warps 2 1 1 128 1 1 0 workgroup
//! returned 2 1 1 128 1 1 0 workgroup
//! results 2 1 1 64 1 1 0 workgroup
//! conditions 2 1 1 64 1 1 0 workgroup
//! in_place 1 1 1 64 1 1 0 workgroup
//! rows 2 1 1 32 4 1 0 workgroup
//! apart 3 1 1 1 1 1 0 workgroup 151
//! apart 3 1 1 50 1 1 0 workgroup -5
//! apart 3 1 1 50 1 1 0 workgroup 49
//! apart 3 1 1 256 1 1 0 workgroup 0
//! apart 3 1 1 256 1 1 0 workgroup 1000
//! turns 1 1 1 50 1 1 0 workgroup 0
//! turns 1 1 1 50 1 1 0 workgroup 1
//! turns 1 1 1 50 1 1 0 workgroup 2
//! turns 1 1 1 50 1 1 0 workgroup 3
//! column_sums 3 1 1 16 4 1 0 workgroup 37
//! column_sums 5 1 1 10 3 1 0 workgroup 37
//! column_sums 1 1 1 48 1 1 0 workgroup 37
//! column_sums 45 1 1 1 5 1 0 workgroup 37
#undef INDEX
#define INDEX                                                                                    \
  const int i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x, t = threadIdx.x, \
            lane = threadIdx.x % 32, warp = i / 32;                                              \
  (void)t, (void)lane, (void)warp
#define MAX_OF_WARP(v)                          \
  for (int k = 16; k > 0; k /= 2) {             \
    const int o = __shfl_xor_sync(~0u, (v), k); \
    (v) = o > (v) ? o : (v);                    \
  }

KERNEL(all_lengths) {
  INDEX;
  int total = 0;
  for (int length = 0; length < 100; ++length) {
    int v = 0;
    for (int c = lane; c < length; c += 32) v += in[warp * 100 + c];
    MAX_OF_WARP(v);
    total = total * 3 + v;
  }
  out[i] = total;
}
KERNEL(of_the_block) {
  INDEX;
  for (int length = 0; length < 300; length += 7) {
    int v = 0;
    for (int c = t; c < length; c += blockDim.x) v += in[c] * c;
    MAX_OF_WARP(v);
    out[i] = out[i] * 5 + v;
  }
}
KERNEL(odd_block) {
  INDEX;
  for (int length = 0; length < 300; length += 7) {
    int v = 0;
    for (int c = t; c < length; c += blockDim.x) v += in[c] * c;
    __syncwarp();
    out[i] = out[i] * 5 + v;
  }
}
KERNEL(inclusive) {
  INDEX;
  for (unsigned length = 0; length < 100; ++length) {
    int v = 0;
    for (unsigned c = lane; c <= length; c += 32) v += in[c];
    MAX_OF_WARP(v);
    out[i] = out[i] * 7 + v;
  }
}
KERNEL(near_the_end) {
  INDEX;
  for (unsigned length = 0; length < 100; ++length) {
    int v = 0;
    const unsigned last = 0xffffffffu - 32, first = last - length;
    for (unsigned c = first + lane; c < last; c += 32) v += in[c - first];
    MAX_OF_WARP(v);
    out[i] = out[i] * 7 + v;
  }
}
KERNEL(wide_index) {
  INDEX;
  for (long long length = 0; length < 100; ++length) {
    int v = 0;
    for (long long c = lane; c < length; c += 32) v += in[c];
    MAX_OF_WARP(v);
    out[i] = out[i] * 7 + v;
  }
}
KERNEL(by_turns) {
  INDEX;
  for (int length = 0; length < 100; ++length) {
    int v = 0;
    for (int c = lane * 3; c < length * 3; c += 96) v += in[c];
    MAX_OF_WARP(v);
    out[i] = out[i] * 7 + v;
  }
}
KERNEL(own_bounds) {
  INDEX;
  int v = 0;
  for (int c = lane; c < 64 + in[i] % 90; c += 32) v = v * 3 + in[c];
  MAX_OF_WARP(v);
  for (int c = 0; c < 3 + in[i] % 5; ++c) v = v * 3 + in[c + lane];
  __syncwarp();
  out[i] = v;
}
KERNEL(at_least_once) {
  INDEX;
  for (int length = 0; length < 100; length += 3) {
    int c = lane, v = 0;
    do {
      v += in[c];
      c += 32;
    } while (c < length);
    MAX_OF_WARP(v);
    out[i] = out[i] * 7 + v + c;
  }
}
KERNEL(downwards) {
  INDEX;
  for (int length = 0; length < 100; ++length) {
    int v = 0;
    for (int c = length - lane; c > 0; c -= 32) v = v * 3 + in[c];
    MAX_OF_WARP(v);
    out[i] = out[i] * 7 + v;
  }
}
KERNEL(some_lanes) {
  INDEX;
  for (int length = 0; length < 100; length += 9) {
    int v = 0;
    if (in[i] % 3 != 0) {
      for (int c = lane; c < length; c += 32) {
        v += in[c];
        out[1000 + warp * 100 + c] += v;
      }
    }
    MAX_OF_WARP(v);
    out[i] = out[i] * 7 + v;
  }
}
// The branch differs between lanes for the compiler, and not for the warps of this launch.
KERNEL(some_warps) {
  INDEX;
  for (int length = 0; length < 100; length += 9) {
    int v = 0;
    if (in[i] * 0 + warp % 2 == 0) {
      for (int c = lane; c < length; c += 32) {
        v += in[c];
        out[1000 + warp * 100 + c] += v;
      }
    }
    MAX_OF_WARP(v);
    out[i] = out[i] * 7 + v;
  }
}
KERNEL(returned) {
  INDEX;
  if (warp >= 5) return;
  int v = 0;
  for (int c = lane; c < 77; c += 32) v += in[warp * 77 + c];
  MAX_OF_WARP(v);
  for (int c = lane; c < 77; c += 32) out[1000 + warp * 77 + c] = v - in[c];
  if (in[i] % 4 == 0) return;
  for (int c = lane; c < 150; c += 32) out[3000 + warp * 150 + c] = v + c;
}
// What lanes leave the loop with.
KERNEL(results) {
  INDEX;
  int at = -1, last = 0, c = lane;
  for (; c < n % 1000 + lane % 7; c += 32) {
    if (in[c] % 11 == 0) at = c;
    last = in[c];
  }
  const int there = __popc(__ballot_sync(~0u, at >= 0));
  out[i] = at * 31 + last * 7 + c * 3 + there;
}
KERNEL(conditions) {
  INDEX;
  for (int length = 0; length < 200; length += 33) {
    for (int c = lane; c < length; c += 32) {
      if (in[c] % 3 == 0) {
        out[1000 + warp * 200 + c] = in[c] / (1 + in[c] % 5);
      } else if (in[c] % 5 == 1) {
        out[1000 + warp * 200 + c] += length;
      }
    }
    __syncwarp();
  }
}
// A turn reads what the one before has written.
KERNEL(in_place) {
  INDEX;
  if (t < 32) {
    for (int c = lane + 32; c < 500; c += 32) out[c] = out[c - 32] + in[c];
  }
  __syncwarp();
  if (t < 32) {
    for (int c = lane; c < 77; c += 32) out[600 + c] = out[c] + in[0];
  }
}
KERNEL(rows) {
  INDEX;
  const int y = blockIdx.x * blockDim.y + threadIdx.y;
  if (y > 6) return;
  int v = 0;
  for (int c = threadIdx.x; c < 131; c += 32) v += in[y * 131 + c];
  MAX_OF_WARP(v);
  for (int c = threadIdx.x; c < 131; c += 32) out[y * 131 + c] = in[y * 131 + c] - v;
}
// Each thread's elements lie apart, and their order counts. `n` may be negative.
KERNEL(apart) {
  INDEX;
  __shared__ unsigned first;
  unsigned hash = 1;
  for (int k = i; k < n; k += gridDim.x * blockDim.x) hash = hash * 31 + in[k];
  if (t == 0) first = hash;
  __syncthreads();
  for (int k = t; k < n; k += blockDim.x) hash = hash * 31 + in[k];
  out[i] = hash + first;
}
// The index may wrap.
__constant__ unsigned ranges[4][3] = {
    {0, 200, 50}, {0x10000000, 0xc0000000, 0x50000000}, {0xfffffff0, 0xc0000000, 0x50000000}, {7, 7, 0}};
KERNEL(turns) {
  const unsigned first = ranges[n][0], end = ranges[n][1], step = ranges[n][2];
  unsigned count = 0;
  for (unsigned k = first + threadIdx.x; k < end; k += step) ++count, out[threadIdx.x + 64] = k;
  out[threadIdx.x] = count;
}
// Sums of columns, some of which only a part of the block's rows has.
KERNEL(column_sums) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, width = 45;
  if (x >= width) return;
  float sum = 0, least = in[x];
  for (int y = threadIdx.y; y < n; y += blockDim.y) {
    const float v = in[y * width + x];
    sum += v;
    if (v < least) least = v;
  }
  out[threadIdx.y * width + x] = __float_as_int(sum + least);
}
