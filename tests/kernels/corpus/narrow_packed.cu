#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>
#ifndef __HIPCC__
typedef struct { half2 ds; int8_t qs[32]; } block_q8_1;
static __device__ __forceinline__ int get_int_b4(const void* x, const int& i32) { return ((const int*)x)[i32]; }
template <int vdr> static __device__ __forceinline__ float vec_dot_impl(const int* v, const int* u, const float& d8, const half2& ds8) {
  int sumi = 0;
#pragma unroll
  for (int i = 0; i < vdr; ++i) {
    const int vi0 = (v[i] >> 0) & 0x0F0F0F0F;
    const int vi1 = (v[i] >> 4) & 0x0F0F0F0F;
    sumi = __dp4a(vi0, u[2 * i + 0], sumi);
    sumi = __dp4a(vi1, u[2 * i + 1], sumi);
  }
  const float2 ds8f = __half22float2(ds8);
  return d8 * (sumi * ds8f.x - (8 * vdr / 4) * ds8f.y);
}
extern "C" __global__ void simd_video(const uint32_t* a, const uint32_t* b, uint32_t* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uint32_t x = a[i], y = b[i];
  uint32_t* o = out + i * 15;
  o[0] = __vadd4(x, y);
  o[1] = __vsub4(x, y);
  o[2] = __vsubss4(x, y);
  o[3] = __vcmpeq4(x, y);
  o[4] = __vcmpne4(x, 0);
  o[5] = __vabs4(x);
  o[6] = __vmaxs4(x, y);
  o[7] = __vminu4(x, y);
  o[8] = __vsads4(x, y);
  o[9] = __vavgu4(x, y);
  o[10] = __dp4a((int)x, (int)y, 7);
  o[11] = __dp4a(x, y, 9u);
  o[12] = __vaddss2(x, y);
  o[13] = __vavgs2(x, y);
  o[14] = __dp2a_hi((int)x, (int)y, 3);
}
extern "C" __global__ void q4_dot(const int* w, const block_q8_1* x, const float* d, float* out, int blocks) {
  float sum = 0;
  for (int b = threadIdx.x; b < blocks; b += blockDim.x) {
    int v[4], u[8];
    for (int i = 0; i < 4; ++i) { v[i] = w[b * 4 + i]; u[2 * i] = get_int_b4(x[b].qs, i); u[2 * i + 1] = get_int_b4(x[b].qs, i + 4); }
    sum += vec_dot_impl<4>(v, u, d[b], x[b].ds);
  }
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, mask, 32);
  if (threadIdx.x == 0) *out = sum;
}
extern "C" __global__ void half_atomics(const float* in, half2* pair, half* one, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(pair + i % 4, __floats2half2_rn(in[i], 1.0f));
    atomicAdd(one, __float2half_rn(1.0f));
  }
}
extern "C" __global__ void directed(const float* a, const float* b, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float* o = out + i * 12;
  o[0] = __fadd_rz(a[i], b[i]);
  o[1] = __fadd_ru(a[i], b[i]);
  o[2] = __fadd_rd(a[i], b[i]);
  o[3] = __fmul_rz(a[i], b[i]);
  o[4] = __fmul_ru(a[i], b[i]);
  o[5] = __fmul_rd(a[i], b[i]);
  o[6] = __fdiv_rz(a[i], b[i]);
  o[7] = __fdiv_ru(a[i], b[i]);
  o[8] = __fmaf_rz(a[i], b[i], a[i ^ 1]);
  o[9] = __fmaf_rd(a[i], b[i], a[i ^ 1]);
  o[10] = __fsqrt_ru(fabsf(a[i]));
  o[11] = __fsub_rz(a[i], b[i]);
}
extern "C" __global__ void directed_doubles(const double* a, const double* b, const long long* whole, double* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double* o = out + i * 13;
  o[0] = __dadd_rz(a[i], b[i]);
  o[1] = __dadd_ru(a[i], b[i]);
  o[2] = __dsub_rd(a[i], b[i]);
  o[3] = __dmul_rz(a[i], b[i]);
  o[4] = __dmul_ru(a[i], b[i]);
  o[5] = __ddiv_rd(a[i], b[i]);
  o[6] = __ddiv_rz(a[i], b[i]);
  o[7] = __fma_ru(a[i], b[i], a[i ^ 1]);
  o[8] = __dsqrt_rd(fabs(a[i]));
  o[9] = __drcp_ru(b[i]);
  o[10] = __ll2double_rd(whole[i]);
  o[11] = __ull2double_ru((unsigned long long)whole[i]);
  o[12] = __ll2float_rz(whole[i]);
}
// Rounded once, whatever comes: out[16 * i + …] are a number's 16 bits.
extern "C" __global__ void narrow_conversions(const float* f, const double* d, const int* s, const long long* l,
                                              unsigned short* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned short* o = out + 16 * i;
  o[0] = __bfloat16_as_ushort(__float2bfloat16_rz(f[i]));
  o[1] = __bfloat16_as_ushort(__float2bfloat16_rd(f[i]));
  o[2] = __bfloat16_as_ushort(__float2bfloat16_ru(f[i]));
  o[3] = __bfloat16_as_ushort(__double2bfloat16(d[i]));
  o[4] = __bfloat16_as_ushort(__int2bfloat16_rn(s[i]));
  o[5] = __bfloat16_as_ushort(__int2bfloat16_ru(s[i]));
  o[6] = __bfloat16_as_ushort(__ll2bfloat16_rn(l[i]));
  o[7] = __bfloat16_as_ushort(__ll2bfloat16_rz(l[i]));
  o[8] = __half_as_ushort(__ll2half_rd(l[i] >> 46));
  o[9] = __half_as_ushort(__int2half_rz(s[i] >> 15));
  const __nv_bfloat16 a = __float2bfloat16(f[i]), b = __double2bfloat16(d[i]), c = __int2bfloat16_rn(s[i]);
  o[10] = __bfloat16_as_ushort(__hfma(a, b, c));
  o[11] = __bfloat16_as_ushort(__hmul_sat(a, b));
  o[12] = (unsigned short)__bfloat162short_rd(a);
  o[13] = (unsigned short)__bfloat162int_ru(a);
  const __half nan = __ushort_as_half(0x7fff), one = __float2half(1.f);
  o[14] = __hne(nan, one) + 2 * (nan != one) + 4 * __hneu(nan, one) + 8 * __hequ(one, nan) + 16 * __hltu(one, one);
  const __half2 both = __halves2half2(one, nan);
  o[15] = (unsigned short)(__heq2_mask(both, both) + (__hgtu2_mask(both, both) >> 31));
}
#endif

extern "C" __global__ void bessel(const float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[2 * i] = cyl_bessel_i0f(x[i]);
    out[2 * i + 1] = cyl_bessel_i1f(x[i]);
  }
}
