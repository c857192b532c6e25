// SPDX-License-Identifier: Apache-2.0
// Small programs, and unusual features of C++.
//! syncwarpdiv 1 1 1 64 1 1 0 workgroup
//! wrapneg 1 1 1 64 1 1 0 workgroup
//! wrapneg2 1 1 1 64 1 1 0 workgroup
//! cond3 2 1 1 64 1 1 0 workgroup
//! tmpl 2 1 1 64 1 1 0 workgroup
//! nestfn 2 1 1 64 1 1 0 workgroup
//! ptrcmp 1 1 1 64 1 1 0 workgroup
//! loopcarry 2 1 1 64 1 1 0 workgroup
//! uniloop 2 1 1 64 1 1 0 workgroup
//! twoloops 2 1 1 64 1 1 0 workgroup
//! mandel 2 1 1 64 1 1 0 workgroup
//! collatz 2 1 1 33 1 1 0 workgroup
//! sel 2 1 1 64 1 1 0 workgroup
//! mallocs 1 1 1 64 1 1 0 workgroup
//! union_ 2 1 1 64 1 1 0 workgroup
//! bitf 2 1 1 64 1 1 0 workgroup
//! memc 2 1 1 64 1 1 0 workgroup
//! cpy 2 1 1 64 1 1 0 workgroup
//! carr 2 1 1 64 1 1 0 workgroup
//! sw64 2 1 1 64 1 1 0 workgroup
//! int128 2 1 1 64 1 1 0 workgroup
//! overflowb 2 1 1 64 1 1 0 workgroup

KERNEL(syncwarpdiv) {
  INDEX;
  __shared__ int s[64];
  s[t] = t;
  if (t % 32 < 8) {
    __syncwarp(0xff);
    int o = s[t ^ 1];
    __syncwarp(0xff);
    s[t] += o;
    __syncwarp(0xff);
  } else {
    __syncwarp(0xffffff00u);
    s[t] -= 1;
    __syncwarp(0xffffff00u);
  }
  __syncwarp();
  out[t] = s[t ^ 8];
}
KERNEL(wrapneg) {
  INDEX;
  int base = (in[0] & 0) + (-2147483647 - 1);
  if (t >= 7) {
    int j = base + (t - 7);
    out[(long long)j + 2147483648ll] = in[t] + __popc(__activemask());
  }
}
KERNEL(wrapneg2) {
  INDEX;
  int b = in[0] & 1;
  for (int k = t - 40; k < 30; k += 33)
    if (k + b >= 0) out[k + b] = in[k + b] * 2 + (int)__activemask() * 0;
  unsigned z = t + 4294967276u;
  if (z < 100) out[100 + z] = in[z] + __any_sync(__activemask(), 0);
}
KERNEL(cond3) {
  INDEX;
  int v = in[i];
  v = v & 1                         ? (v & 2 ? __shfl_xor_sync(__activemask(), v, 0) : -v)
      : (t & 4 && v > 100 || v < 7) ? v * 2
      : v & 8                       ? 3
                                    : __popc(__activemask());
  out[i] = v;
}
template <int N, class T>
struct Acc {
  T v[N];
  __device__ Acc() {
    for (auto& x : v) x = T();
  }
  __device__ void add(int k, T x) { v[k % N] += x; }
  __device__ T sum() const {
    T s = T();
    for (auto x : v) s += x;
    return s;
  }
};
template <class T, int W>
__device__ T wsum(T v) {
  if constexpr (W > 1) {
    v += __shfl_xor_sync(~0u, v, W / 2);
    return wsum<T, W / 2>(v);
  } else
    return v;
}
KERNEL(tmpl) {
  INDEX;
  Acc<5, int> a;
  Acc<3, double> d;
  for (int k = 0; k < 20; ++k) {
    a.add(k * t, in[(i + k) % n]);
    if (k % 3 == t % 3) d.add(k, in[k] * 0.5);
  }
  out[i] = wsum<int, 32>(a.sum()) + (int)wsum<double, 16>(d.sum());
}
__device__ int g1(int x, int d);
__device__ int g0(int x) { return x & 1 ? __shfl_xor_sync(__activemask(), x, 0) + 1 : x / 2; }
__device__ int g1(int x, int d) {
  int r = g0(x);
  if (d == 1) return r;
  if (r > 50) return r - g0(r + d);
  return r;
}
KERNEL(nestfn) {
  INDEX;
  int r = 0;
  for (int k = 1; k < 4; ++k) r += g1(in[i] + k, k) * k;
  out[i] = r;
}
KERNEL(ptrcmp) {
  INDEX;
  const int *a = in + t, *b = in + 63 - t;
  out[t] = (a < b) + 2 * (a == b) + 4 * (int)(b - a);
  if (a > b) out[t] += __popc(__activemask());
}
KERNEL(loopcarry) {
  INDEX;
  int a = 1, b = in[i] & 3, c = 0;
  while (a < 200) {
    int d = a + b;
    b = a;
    a = d + (c & 1);
    c += t & 1;
    if (c > 3) {
      c = __popc(__activemask()) & 1;
    }
  }
  out[i] = a * 10 + b + c;
}
KERNEL(uniloop) {
  INDEX;
  int acc = 0;
  for (int k = 0; k < (in[blockIdx.x] & 15); ++k) {
    int u = in[k];
    if (u & 1) continue;
    acc += u ^ t;
    if (u > 3000) {
      acc += __shfl_xor_sync(~0u, acc, 1);
    }
  }
  out[i] = acc;
}
KERNEL(twoloops) {
  INDEX;
  int k = 0, u = 0;
  for (; k < (in[i] & 15); ++k) u += 3;
  int last = u;
  for (int j = 0; j < k; ++j) {
    u ^= j;
    if (u == 5) break;
    last = u;
  }
  out[i] = last * 100 + __shfl_xor_sync(~0u, k, 3);
}
KERNEL(mandel) {
  INDEX;
  float x = 0, y = 0, cx = (t - 40) * 0.04f, cy = blockIdx.x * 0.3f;
  int k = 0;
  while (x * x + y * y < 4 && k < 100) {
    float z = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = z;
    ++k;
  }
  out[i] = k + __popc(__activemask());
}
KERNEL(collatz) {
  INDEX;
  unsigned v = in[i] + 1;
  int c = 0;
  while (v != 1) {
    v = v & 1 ? 3 * v + 1 : v / 2;
    ++c;
  }
  out[i] = c;
  int m = c;
  for (int d = 16; d; d /= 2) m = max(m, __shfl_xor_sync(~0u, m, d));
  out[i + 500] = m;
}
KERNEL(sel) {
  INDEX;
  bool p = in[i] & 1;
  int* a = p ? out + i : out + 1000 + i;
  *a = p ? 3 : __popc(__ballot_sync(__activemask(), p));
  double d = p ? 0.5 : in[i];
  out[2000 + i] = (int)(d * 4);
}
KERNEL(mallocs) {
  INDEX;
  int* p = (int*)malloc(16 + t * 4);
  for (int k = 0; k < t + 4; ++k) p[k] = in[k] + t;
  out[t] = p[t];
  __syncthreads();
  int* q = t & 1 ? p : (int*)malloc(64);
  if (!(t & 1)) q[3] = 8;
  out[t + 64] = q[3];
  free(p);
  if (!(t & 1)) free(q);
}
KERNEL(union_) {
  INDEX;
  union {
    int a;
    float f;
    unsigned char b[4];
  } u;
  u.a = in[i] * 77777;
  u.b[t & 3] ^= 0x55;
  if (t & 1) u.f = u.a * 0.5f;
  out[i] = u.a + __shfl_xor_sync(~0u, (int)u.b[2], 1);
}
struct Bf {
  unsigned a : 3, b : 12;
  int c : 9;
};
KERNEL(bitf) {
  INDEX;
  Bf b;
  b.a = in[i];
  b.b = in[i] * 5;
  b.c = in[i];
  __shared__ Bf s[64];
  s[t] = b;
  __syncthreads();
  b = s[63 - t];
  b.c += 3;
  out[i] = b.a * 100000 + b.b * 10 + b.c + __any_sync(~0u, b.a == 9);
}
KERNEL(memc) {
  INDEX;
  char buf[24];
  memcpy(buf, in + i, 24);
  buf[t % 24] = 1;
  memset(buf + 4, t, 4);
  int v;
  memcpy(&v, buf + (t & 7), 4);
  out[i] = v ^ __shfl_xor_sync(~0u, v, 1) ^ (memcmp(buf, in, 4) > 0);
}
struct Big {
  int a[12];
};
KERNEL(cpy) {
  INDEX;
  Big b;
  for (int k = 0; k < 12; ++k) b.a[k] = in[i + k];
  Big c = b;
  c.a[t % 12] = 0;
  __shared__ Big s[64];
  s[t] = c;
  __syncthreads();
  Big d = s[(t + 1) & 63];
  int r = 0;
  for (int k = 0; k < 12; ++k) r = r * 5 + d.a[k] - b.a[(k + t) % 12];
  out[i] = r;
}
__constant__ short carrv[5][3] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}, {13, 14, 15}};
KERNEL(carr) {
  INDEX;
  static const int prim[] = {2, 3, 5, 7, 11, 13};
  out[i] = carrv[in[i] % 5][t % 3] * prim[(in[i] >> 3) % 6] + carrv[blockIdx.x][1] + __shfl_sync(~0u, prim[t % 6], 9);
}
KERNEL(sw64) {
  INDEX;
  long long v = (long long)in[i] * 1000000007ll % 6;
  switch (v) {
    case 0: out[i] = 10; break;
    case 1ll:
    case 5: out[i] = __popc(__activemask()); break;
    case 3: out[i] = 30; [[fallthrough]];
    case 4: out[i] += 4; break;
    default: out[i] = -1;
  }
}
KERNEL(int128) {
  INDEX;
  __int128 a = (__int128)in[i] * 0x123456789abcdefll;
  a = a * a;
  out[i] = (int)(a >> 70) ^ (int)a ^ __shfl_xor_sync(~0u, (int)(a >> 33), 1);
}
KERNEL(overflowb) {
  INDEX;
  int r;
  bool o = __builtin_mul_overflow(in[i] * 1000, t * 1000, &r);
  unsigned u;
  o ^= __builtin_add_overflow((unsigned)in[i] << 20, 0xf0000000u, &u);
  out[i] = r + u + o + __ballot_sync(~0u, o);
}
