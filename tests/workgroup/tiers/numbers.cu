// SPDX-License-Identifier: Apache-2.0
// Numbers of all kinds, also if absent lanes would divide by zero.
//! divzero 1 1 1 64 1 1 0 workgroup
//! conv 2 1 1 64 1 1 0 workgroup
//! conv64 2 1 1 64 1 1 0 workgroup
//! minmax 2 1 1 64 1 1 0 workgroup
//! i64 2 1 1 64 1 1 0 workgroup
//! i8 2 1 1 96 1 1 0 workgroup
//! bools 2 1 1 64 1 1 0 workgroup
//! half_ 2 1 1 64 1 1 0 workgroup
//! fdiv 2 1 1 64 1 1 0 workgroup
//! rounding 2 1 1 64 1 1 0 workgroup
//! asserts 2 1 1 64 1 1 0 workgroup
#include <assert.h>
#include <cuda_fp16.h>

KERNEL(divzero) {
  INDEX;
  int d = (t % 5) - 2, r = 7;
  if (d != 0) r = in[i] / d + in[i] % d;
  unsigned u = t & 3;
  if (u) r += 1000u / u;
  if (t & 1) {
    long long l = t - 1;
    if (l) r += (int)(5000ll / l);
  }
  r += __shfl_xor_sync(~0u, r, 1);
  out[i] = r;
}
KERNEL(conv) {
  INDEX;
  float f = (in[i] - 2000) * 1.0e7f;
  if (t == 3) f = NAN;
  if (t == 4) f = INFINITY;
  if (t == 5) f = -INFINITY;
  if (t == 6) f = -3.7f;
  if (t == 7) f = 4.2e9f;
  int r = (int)f ^ (int)(unsigned)f ^ ((int)(short)(int)(f * 1e-6f)) ^ (int)(signed char)(int)(f * 1e-7f);
  out[i] = r + __popc(__activemask()) + __float2int_rn(f * 1e-8f);
}
KERNEL(conv64) {
  INDEX;
  double f = (in[i] - 2000) * 1.0e16;
  if (t == 3) f = NAN;
  if (t == 4) f = INFINITY;
  if (t == 5) f = -INFINITY;
  if (t == 6) f = -3.7;
  if (t == 7) f = 1.9e19;
  long long r = (long long)f;
  unsigned long long u = (unsigned long long)f;
  int b = __ballot_sync(~0u, r > 5);
  out[i] = (int)(r ^ (r >> 32)) + (int)(u ^ (u >> 32)) * 3 + b + (int)(unsigned)(f / 3);
}
KERNEL(minmax) {
  INDEX;
  float a = in[i] % 7 - 3.0f, b = t & 3 ? a * -1 : NAN;
  float c = fminf(a, b), d = fmaxf(a, b);
  int e = min(in[i], t * 60), g = max(in[i], t * 70);
  unsigned u = umin((unsigned)-in[i], 5u);
  out[i] = (int)(c * 8) + (int)(d * 64) + e - g + u + __shfl_xor_sync(~0u, __float_as_int(d), 1) % 1000;
}
KERNEL(i64) {
  INDEX;
  long long v = (long long)in[i] << (t & 31);
  unsigned long long u = v * 0x9e3779b97f4a7c15ull;
  u ^= u >> (t & 63);
  v = v / ((t & 7) + 1) - v % ((t & 3) + 2);
  u += __shfl_xor_sync(~0u, u, 9);
  v -= __shfl_up_sync(~0u, v, 2);
  out[i] = (int)(u >> 20) ^ (int)v ^ __clzll(v) ^ __popcll(u) ^ (int)__brevll(u);
}
KERNEL(i8) {
  INDEX;
  __shared__ unsigned char s[96];
  __shared__ short h[96];
  s[t] = in[i];
  h[t] = in[i] * 9;
  __syncthreads();
  unsigned char c = s[95 - t] + s[t];
  signed char d = s[t] * 2;
  short e = h[(t * 7) % 96];
  e += c;
  c += __shfl_xor_sync(~0u, c, 1);
  out[i] = c * 65536 + d * 256 + e + __popc(__ballot_sync(~0u, c > 100));
}
KERNEL(bools) {
  INDEX;
  bool a = in[i] & 1, b = in[i] & 2, c = a != b;
  bool s = c;
  for (int k = 0; k < 3; ++k) {
    bool o = __shfl_xor_sync(~0u, s, 1 << k);
    s = k & 1 ? s && o : s ^ o;
  }
  __shared__ bool sb[64];
  sb[t] = s;
  __syncthreads();
  out[i] = s + 2 * sb[63 - t] + 4 * __any_sync(~0u, s && !sb[t ^ 1]);
}
KERNEL(half_) {
  INDEX;
  half h = __float2half(in[i] * 0.01f);
  half2 g = __halves2half2(h, __hadd(h, h));
  g = __hmul2(g, g);
  h = __shfl_xor_sync(~0u, h, 3);
  half2 q = __shfl_down_sync(~0u, g, 2);
  out[i] = (int)(__half2float(h) * 100) + (int)__low2float(q) + (int)__high2float(g) + __hgt(h, __float2half(3.0f));
}
KERNEL(fdiv) {
  INDEX;
  float f = in[i] / (float)(t % 4), g = (in[i] - 2000.f) / (t & 1 ? 0.f : 3.f);
  out[i] = __float_as_int(f) ^ __float_as_int(g) ^ __shfl_xor_sync(~0u, __float_as_int(1.0f / (t - 5)), 1);
}
KERNEL(rounding) {
  INDEX;
  float f = in[i] * 0.37f - 500;
  out[i] = (int)rintf(f) + (int)floorf(f) * 3 + (int)ceilf(f) * 5 + (int)roundf(f) * 7 + (int)truncf(f) * 11 +
           __float2int_ru(f) + (int)lrintf(f) + __shfl_xor_sync(~0u, (int)nearbyintf(f), 1);
}
KERNEL(asserts) {
  INDEX;
  assert(t < 64);
  if (in[i] < 0) __trap();
  out[i] = __shfl_sync(~0u, in[i], t ^ 3);
  if (n < 0) printf("never %d\n", t);
}
