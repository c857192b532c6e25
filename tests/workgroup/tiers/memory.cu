// SPDX-License-Identifier: Apache-2.0
// Addresses and accesses that are equal in all threads, and others that differ.
//! structval 2 1 1 64 1 1 0 workgroup
//! arrshared 2 1 1 64 1 1 0 workgroup
//! wrapidx 1 1 1 64 1 1 0 workgroup
//! wrapidx2 1 1 1 64 1 1 0 workgroup
//! atomret 1 1 1 64 1 1 0 workgroup
//! atomretdiv 1 1 1 64 1 1 0 workgroup
//! ptrphi 2 1 1 64 1 1 0 workgroup
//! localidx 2 1 1 64 1 1 0 workgroup
//! byref 2 1 1 64 1 1 0 workgroup
//! uniload 2 1 1 64 1 1 0 workgroup
//! unistore 2 1 1 64 1 1 0 workgroup
//! samestore 1 1 1 64 1 1 0 workgroup
//! overlap 1 1 1 64 1 1 0 workgroup
//! inplace 1 1 1 64 1 1 0 workgroup
//! neighbours 2 1 1 64 1 1 0 workgroup
//! stride3 2 1 1 64 1 1 0 workgroup
//! negstride 2 1 1 64 1 1 0 workgroup
//! vec4 2 1 1 64 1 1 0 workgroup
//! vec4shared 2 1 1 64 1 1 0 workgroup
//! dynaxis 1 1 1 8 4 2 0 workgroup
//! onesetter 2 1 1 64 1 1 0 workgroup
//! onesetter 2 1 1 96 1 1 0 workgroup 5
//! warpsetter 2 1 1 96 1 1 0 workgroup 33
//! places 2 1 1 64 1 1 0 workgroup
//! restricted 2 1 1 64 1 1 0 workgroup

struct P {
  int a;
  float f;
  short s[5];
  double d;
  char c;
};
__device__ P make(int x) {
  P p;
  p.a = x;
  p.f = x * 0.5f;
  for (int k = 0; k < 5; ++k) p.s[k] = x + k;
  p.d = x / 3.0;
  p.c = x;
  return p;
}
__device__ int use(P p) {
  p.a += 1;
  p.s[p.a & 3] += 2;
  return p.a + (int)p.f + p.s[1] + (int)(p.d * 3) + p.c;
}
// One thread loads a value, and keeps it across barriers.
KERNEL(onesetter) {
  INDEX;
  __shared__ int tile[96];
  int v;
  if (t == n % 37) v = in[blockIdx.x];
  tile[t] = in[i];
  __syncthreads();
  const int other = tile[(t + 1) % blockDim.x];
  __syncthreads();
  tile[t] = other * 2;
  __syncthreads();
  out[i] = tile[t ^ 1];
  if (t == n % 37) out[i] += v * 1000 + v % 7;
}
// The threads of one warp load a value, and keep it across barriers.
KERNEL(warpsetter) {
  INDEX;
  __shared__ int tile[96];
  int v;
  if (t / 32 == n / 32) v = in[blockIdx.x] + __shfl_sync(~0u, in[0], 3);
  tile[t] = in[i];
  __syncthreads();
  const int other = tile[(t + 1) % blockDim.x];
  __syncthreads();
  tile[t] = other * 2;
  __syncthreads();
  out[i] = tile[t ^ 1];
  if (t / 32 == n / 32) out[i] += v * 1000 + v % 7;
}
// Threads keep their places in shared memory across barriers. The order of the places differs between tiers.
KERNEL(places) {
  INDEX;
  __shared__ int count, sum;
  if (t == 0) count = sum = 0;
  __syncthreads();
  int v, place;
  if (i < n - 3) {
    v = in[i];
    if (v % 2 != 0) place = atomicAdd(&count, 1);
  }
  const int own = atomicMax(&sum, t * 2);
  __syncthreads();
  if (t == 0) count += blockIdx.x * 64;
  __syncthreads();
  if (i < n - 3 && v % 2 != 0) out[1000 + place + blockIdx.x * 64] = 1;
  if (i < n - 3 && v % 2 != 0) atomicAdd(&out[blockIdx.x], v * 3 + count);
  if (own > 126 || own < 0) out[3] = 1;
}
KERNEL(structval) {
  INDEX;
  P p = make(in[i]);
  P q = p;
  if (t & 1) q = make(in[(i + 1) % n]);
  P r = t % 3 ? p : q;
  __syncthreads();
  int v = use(p) + use(q) * 3 + use(r);
  v += __shfl_sync(~0u, r.s[2], 4);
  out[i] = v;
}
KERNEL(arrshared) {
  INDEX;
  __shared__ int a[8][9];
  __shared__ short b[64];
  __shared__ struct {
    double d[8];
    char c;
  } z;
  a[t / 8][t % 8] = in[i];
  b[t] = in[i] * 3;
  if (t < 8) z.d[t] = t * 1.5;
  if (t == 9) z.c = 'x';
  __syncthreads();
  out[i] = a[t % 8][t / 8] + b[63 - t] + (int)z.d[t & 7] + z.c;
}
KERNEL(wrapidx) {
  INDEX;
  int j = t - 20;
  if (j >= 0) out[j] = in[j] + __shfl_sync(__activemask(), in[j], 25);
  unsigned u = (unsigned)t - 7u;
  if (u < 50u) out[100 + u] = in[u];
  short sh = (short)(t * 2000);
  if (sh > 0 && sh < 10000) out[200 + t] = in[sh];
}
KERNEL(wrapidx2) {
  INDEX;
  int base = (in[0] & 0) + 2147483640;
  int j = base + t;  // wraps, used by those that do not
  if (t < 8) out[t] = in[j - base] + (j < 0) + __popc(__activemask());
  unsigned k = 4294967290u + t;
  if (t > 6) out[50 + k] = in[k] + __any_sync(__activemask(), k == 3);
  unsigned char c = t * 5;
  out[300 + t] = in[c] + __shfl_xor_sync(~0u, (int)c, 1);
}
KERNEL(atomret) {
  INDEX;
  __shared__ int c;
  if (t == 0) c = 0;
  __syncthreads();
  int r = atomicAdd(&c, 1);
  out[r] += 1;
  __syncthreads();
  if (t == 0) out[100] = c;
  int m = atomicMax(&c, t + 100);
  __syncthreads();
  if (t == 0) out[101] = c;
  if (m < 0) out[102] = 1;
}
KERNEL(atomretdiv) {
  INDEX;
  __shared__ int c[4];
  if (t < 4) c[t] = 0;
  __syncthreads();
  if (in[i] & 1) {
    int p = atomicAdd(&c[in[i] >> 1 & 3], t);
    out[200 + t] = p >= 0;
  }
  float* f = (float*)(out + 150);
  if (t % 5 == 0) atomicAdd(f, 0.5f);
  atomicCAS(&out[160], t == 3 ? 0 : -1, 9);
  __syncthreads();
  if (t < 4) out[t] = c[t];
}
KERNEL(ptrphi) {
  INDEX;
  __shared__ int s[64];
  int l[4];
  s[t] = in[i];
  for (int k = 0; k < 4; ++k) l[k] = k * t;
  __syncthreads();
  const int* p = t % 3 == 0 ? s + 5 : t % 3 == 1 ? in + t : l + (t & 3);
  int r = *p;
  __syncthreads();
  int* q = t & 1 ? s + t : l;
  *q = r + 1;
  r += __shfl_xor_sync(~0u, *q, 1);
  out[i] = r + s[t] + l[0];
}
KERNEL(localidx) {
  INDEX;
  int a[8], b[8];
  for (int k = 0; k < 8; ++k) {
    a[k] = in[i + k];
    b[k] = 0;
  }
  for (int k = 0; k < 8; ++k) b[a[k] & 7] += a[(k + t) & 7];
  int r = 0;
  for (int k = 0; k < 8; ++k) r = r * 3 + __shfl_xor_sync(~0u, b[k], k);
  out[i] = r;
}
__device__ void swap2(int& a, int& b) {
  int c = a;
  a = b;
  b = c;
}
__device__ void sort3(int* p) {
  if (p[0] > p[1]) swap2(p[0], p[1]);
  if (p[1] > p[2]) swap2(p[1], p[2]);
  if (p[0] > p[1]) swap2(p[0], p[1]);
}
KERNEL(byref) {
  INDEX;
  int v[3] = {in[i], in[i + 1], in[i + 2]};
  if (t & 1) sort3(v);
  out[i] = v[0] - v[1] * 3 + v[2] * 7 + __popc(__ballot_sync(~0u, v[0] > v[1]));
}
KERNEL(uniload) {
  INDEX;
  int a = in[blockIdx.x], b = in[t / 32 * 5], c = in[0];
  out[i] = a + b * c + __shfl_sync(~0u, a + t, 7);
}
KERNEL(unistore) {
  INDEX;
  if (in[i] % 5 == 2) out[blockIdx.x] = 5;
  out[100 + t / 32] = t / 32 + __popc(__ballot_sync(~0u, 1));
  if (t == 9) out[200] = in[9];
}
KERNEL(samestore) {
  INDEX;
  out[in[i] & 15] = 3;
  out[20] = 4 + (__popc(__activemask()) == 32);
  out[30 + t / 8] = in[t / 8];
}
KERNEL(overlap) {
  INDEX;
  __shared__ int s[128];
  s[t] = 1;
  s[t + 64] = 2;
  __syncthreads();
  int v = s[t + 1];
  __syncthreads();
  s[t] = v + s[t + 32];
  __syncthreads();
  out[i] = s[t];
}
KERNEL(inplace) {
  INDEX;
  out[t] = in[t];
  __syncthreads();
  int v = out[(t + 1) & 63];
  __syncthreads();
  out[t] = v;
  __syncthreads();
  if (t > 0) {
    int q = out[t - 1];
    out[t + 64] = q + __shfl_xor_sync(__activemask(), q, 1);
  }
}
KERNEL(neighbours) {
  INDEX;
  float* f = (float*)out;
  f[i] = (in[i] + in[i + 1] * 2 + in[max(i - 1, 0)]) * 0.25f;
  if (i > 1) f[500 + i] = sqrtf((float)in[i - 2]);
}
KERNEL(stride3) {
  INDEX;
  out[3 * i] = in[2 * i];
  out[3 * i + 1] = in[2 * i + 1] + __shfl_up_sync(~0u, in[3 * i], 1);
  out[3 * i + 2] = in[i * i % 1000];
}
KERNEL(negstride) {
  INDEX;
  out[255 - i] = in[1000 - 2 * i] + __shfl_xor_sync(~0u, in[500 - t], 4);
  short* h = (short*)(out + 600);
  h[127 - i] = in[i];
}
KERNEL(vec4) {
  INDEX;
  int4 v = ((const int4*)in)[i];
  float4 f = make_float4(v.x, v.y, v.z, v.w);
  f.x += __shfl_xor_sync(~0u, f.w, 1);
  if (t & 1) {
    int4 w = ((const int4*)in)[i + 1];
    v.x = w.y;
    v.w += w.z;
  }
  v.y += (int)f.x;
  ((int4*)out)[i] = v;
}
KERNEL(vec4shared) {
  INDEX;
  __shared__ float4 s[64];
  float4 a = make_float4(in[i], t, 1, 2);
  s[t] = a;
  __syncthreads();
  float4 b = s[63 - t];
  if (b.x > 2000) b = s[t / 2];
  ((float4*)out)[i] = b;
}
KERNEL(dynaxis) {
  int t = (threadIdx.z * 4 + threadIdx.y) * 8 + threadIdx.x;
  dim3 d = dim3(threadIdx.x, threadIdx.y, threadIdx.z);
  const unsigned* p = &d.x;
  out[t] = p[in[t] % 3] + 10 * blockDim.y;
}
// What other threads wrote comes at a barrier, also behind a pointer that is __restrict__.
extern "C" __global__ void restricted(int* __restrict__ out, const int* __restrict__ in, int n) {
  int t = threadIdx.x, *mine = out + blockIdx.x * 64;
  mine[t] = in[t];
  for (int d = 32; d > 0; d /= 2) {
    __syncthreads();
    int v = t < d ? mine[t + d] : 0;
    __syncthreads();
    mine[t] += v;
  }
  __syncthreads();
  out[1000 + blockIdx.x * 64 + t] = mine[0];
}
