// SPDX-License-Identifier: Apache-2.0
// Private arrays. The pass may store the elements of a warp's lanes next to each other.
//! shared_index 2 1 1 64 1 1 0 workgroup
//! own_index 2 1 1 64 1 1 0 workgroup
//! zeroed 2 1 1 96 1 1 0 workgroup
//! zeroed_by_some 2 1 1 64 1 1 0 workgroup
//! filled 2 1 1 64 1 1 0 workgroup
//! two_dimensions 2 1 1 64 1 1 0 workgroup
//! pairs 2 1 1 64 1 1 0 workgroup
//! bytes 2 1 1 64 1 1 0 workgroup
//! wide 2 1 1 64 1 1 0 workgroup
//! mixed_sizes 2 1 1 64 1 1 0 workgroup
//! either_array 2 1 1 64 1 1 0 workgroup
//! from_the_end 2 1 1 64 1 1 0 workgroup
//! copied 2 1 1 64 1 1 0 workgroup
//! odd_block 3 1 1 33 1 1 0 workgroup
//! rows 2 1 1 16 4 1 0 workgroup
//! uneven_loops 2 1 1 64 1 1 0 workgroup
//! early_return 2 1 1 64 1 1 0 workgroup
//! of_a_warp 2 1 1 64 1 1 0 workgroup
//! by_reference 2 1 1 64 1 1 0 workgroup
//! index_wraps 2 1 1 64 1 1 0 workgroup
#undef INDEX
#define INDEX                                                                                                   \
  int i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x, t = threadIdx.x, m = n > 30 ? 30 : n; \
  (void)i, (void)t, (void)m
#define LOOP(k, count) _Pragma("clang loop unroll(disable)") for (int k = 0; k < (count); ++k)

KERNEL(shared_index) {
  INDEX;
  __shared__ int s[64];
  float a[30];
  LOOP(k, m) a[k] = in[i + k];
  for (int round = 0; round < 3; ++round) {
    s[t] = static_cast<int>(a[round]);
    __syncthreads();
    float sum = 0;
    LOOP(k, m) sum += a[k] * s[(t + k) & 63];
    LOOP(k, m) a[k] = a[k] * 0.5f + sum;
    __syncthreads();
  }
  float sum = 0;
  LOOP(k, m) sum += a[k];
  out[i] = static_cast<int>(sum);
}
KERNEL(own_index) {
  INDEX;
  int a[30];
  LOOP(k, m) a[k] = k;
  LOOP(k, m) a[in[i + k] % 30] += in[i] + k;
  int sum = 0;
  LOOP(k, m) sum = sum * 3 + a[(k * 7 + t) % 30];
  out[i] = sum;
}
KERNEL(zeroed) {
  INDEX;
  int counts[32] = {};
  LOOP(k, m) {
    if (in[i + k] & 1) ++counts[in[i + k] & 31];
  }
  int sum = 0;
  LOOP(k, 32) sum += counts[k] * (k + 1);
  out[i] = sum;
}
KERNEL(zeroed_by_some) {
  INDEX;
  int a[16];
  LOOP(k, 16) a[k] = in[i + k];
  if (in[i] & 2) {
    for (int k = 0; k < 16; ++k) a[k] = 0;
  }
  int sum = 0;
  LOOP(k, 16) sum += a[k & (m >> 1)];
  out[i] = sum;
}
KERNEL(filled) {
  INDEX;
  unsigned a[20];
  for (int k = 0; k < 20; ++k) a[k] = 0x05050505u;
  a[in[i] % 20] += in[i + 1];
  unsigned sum = 0;
  LOOP(k, 20) sum = sum * 31 + a[k];
  out[i] = static_cast<int>(sum);
}
KERNEL(two_dimensions) {
  INDEX;
  int a[5][7];
  LOOP(y, 5) {
    LOOP(x, 7) a[y][x] = in[i + y] * x;
  }
  int sum = 0;
  LOOP(y, 5) {
    LOOP(x, 7) sum += a[y][(x + t) % 7] - a[(y + in[i]) % 5][x];
  }
  out[i] = sum;
}
KERNEL(pairs) {
  INDEX;
  struct Pair {
    int key;
    float value;
  } a[9];
  LOOP(k, 9) a[k] = {in[i + k], 0.25f * in[i + 9 - k]};
  LOOP(k, 8) {
    if (a[k].key > a[k + 1].key) {
      const Pair p = a[k];
      a[k] = a[k + 1];
      a[k + 1] = p;
    }
  }
  float sum = 0;
  LOOP(k, 9) sum = sum * 0.5f + a[k].key + a[k].value;
  out[i] = static_cast<int>(sum);
}
KERNEL(bytes) {
  INDEX;
  unsigned char a[64];
  LOOP(k, 64) a[k] = static_cast<unsigned char>(in[(i + k) & 1023]);
  unsigned sum = 0;
  LOOP(k, 64) sum = sum * 5 + a[a[k] & 63];
  out[i] = static_cast<int>(sum);
}
KERNEL(wide) {
  INDEX;
  double a[12];
  LOOP(k, 12) a[k] = in[i + k] * 0.125;
  LOOP(k, 11) a[k + 1] += a[k];
  out[i] = static_cast<int>(a[m % 12] + a[t % 12]);
}
KERNEL(mixed_sizes) {
  INDEX;
  union {
    long long wide[8];
    int narrow[16];
  } a;
  LOOP(k, 8) a.wide[k] = in[i + k] * 0x100000003ll;
  int sum = 0;
  LOOP(k, 16) sum = sum * 7 + a.narrow[(k + t) & 15];
  out[i] = sum;
}
KERNEL(either_array) {
  INDEX;
  int a[10], b[10];
  LOOP(k, 10) a[k] = in[i + k], b[k] = -in[i + k];
  int* const p = in[i] & 1 ? a : b;
  LOOP(k, 10) p[k] += k;
  int sum = 0;
  LOOP(k, 10) sum = sum * 3 + a[k] - 2 * b[k];
  out[i] = sum;
}
KERNEL(from_the_end) {
  INDEX;
  int a[16];
  int* const end = a + 16;
  LOOP(k, 16) end[-1 - k] = in[i + k];
  int sum = 0;
  LOOP(k, 16) sum = sum * 3 + a[k] + end[-1 - ((k + t) & 15)];
  out[i] = sum;
}
KERNEL(copied) {
  INDEX;
  struct Array {
    int values[14];
  } a, b;
  LOOP(k, 14) a.values[k] = in[i + k];
  b = a;
  LOOP(k, 14) a.values[k] += b.values[(k + t) % 14];
  int sum = 0;
  LOOP(k, 14) sum = sum * 3 + a.values[k] + b.values[k];
  out[i] = sum;
}
KERNEL(odd_block) {
  INDEX;
  int a[30];
  LOOP(k, m) a[k] = in[i + k];
  __syncthreads();
  int sum = 0;
  LOOP(k, m) sum = sum * 3 + a[m - 1 - k];
  out[i] = sum;
}
KERNEL(rows) {
  INDEX;
  float a[30];
  LOOP(k, m) a[k] = in[i + k] + threadIdx.y;
  __syncthreads();
  float sum = 0;
  LOOP(k, m) sum = sum * 0.5f + a[m - 1 - k];
  out[i] = static_cast<int>(sum);
}
KERNEL(uneven_loops) {
  INDEX;
  int a[30];
  LOOP(k, m) a[k] = in[i + k];
  LOOP(k, in[i] % 30) a[k] = a[k] * 3 + a[29 - k];
  int sum = 0;
  LOOP(k, in[i + 1] % 30) sum = sum * 5 + a[k];
  out[i] = sum;
}
KERNEL(early_return) {
  INDEX;
  int a[30];
  LOOP(k, m) a[k] = in[i + k];
  if (in[i] & 4) return;
  LOOP(k, m - 1) {
    a[k + 1] += a[k];
    if (a[k] % 13 == 0) return;
  }
  out[i] = a[m - 1];
}
KERNEL(of_a_warp) {
  INDEX;
  int a[30];
  LOOP(k, m) a[k] = in[i + k];
  LOOP(k, m) a[k] += __shfl_xor_sync(~0u, a[(k + 1) % 30], 5);
  int sum = 0;
  LOOP(k, m) sum = sum * 3 + a[(k + t) % 30];
  out[i] = sum;
}
__device__ __noinline__ void change(int& x) { x = x * 3 + 1; }
KERNEL(by_reference) {
  INDEX;
  int a[12];
  LOOP(k, 12) a[k] = in[i + k];
  LOOP(k, 12) change(a[(k + in[i]) % 12]);
  int sum = 0;
  LOOP(k, 12) sum = sum * 5 + a[k];
  out[i] = sum;
}
KERNEL(index_wraps) {
  INDEX;
  int a[16];
  LOOP(k, 16) a[k] = in[i + k];
  unsigned char at = static_cast<unsigned char>(250 + t);
  int sum = 0;
  LOOP(k, 16) {
    sum = sum * 3 + a[at & 15];
    at = static_cast<unsigned char>(at + 3);
  }
  out[i] = sum;
}
