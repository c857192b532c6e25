// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "tests/kernels/support.hpp"

/// Tests names that CUDA's compilers define without an include, and AMD's do not: their meaning on the CPU.
namespace weir::test {
namespace {

template <class T>
Buffer<T> results(std::size_t count) {
  return upload(std::vector<T>(count));
}

TEST_CASE("a shuffle from a lane that does not call gives zero") {
  const auto kernel = compile(R"(
extern "C" __global__ void k(int* out) {
  const int lane = threadIdx.x % 32;
  int v = lane + 1;
  const unsigned first = __ballot_sync(__activemask(), lane < 4);
  if (lane < 4) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(first, v, o);  // as over the warps of a block
  }
  out[threadIdx.x] = v + 100 * __shfl_xor_sync(__activemask(), 1, 16);
})")->untyped_kernel("k");
  const auto out = results<int>(48);
  launch(kernel, {.grid = {1}, .block = {48}}, out);
  CHECK(out.data()[0] == 1 + 2 + 3 + 4 + 100);
  CHECK(out.data()[31] == 32 + 100);
  CHECK(out.data()[32] == 1 + 2 + 3 + 4);  // lanes 16 to 31 of the last warp are not there
  CHECK(out.data()[47] == 16);
}

TEST_CASE("blocks that use the file's shared memory, or wait for earlier ones, do not run as one") {
  const auto rows = compile(R"(
extern __shared__ unsigned sums[];
extern "C" __global__ void k(unsigned n, unsigned* out) {
  const unsigned g = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
  sums[0] = 0;
  for (unsigned i = g; i < n; i += all) sums[0] += i;
  out[g] = sums[0];
})")->untyped_kernel("k");
  const auto out = results<unsigned>(67);
  launch(rows, {.grid = {67}, .block = {1}, .shared_memory_bytes = 4}, 1000U, out);
  for (unsigned g = 0; g < 67; ++g) {
    unsigned sum = 0;
    for (unsigned i = g; i < 1000; i += 67) sum += i;
    CHECK(out.data()[g] == sum);
  }
  const auto chain = compile(R"(
extern "C" __global__ void k(unsigned n, volatile unsigned* done, unsigned* out) {
  const unsigned g = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x, b = g / blockDim.x;
  if (g % blockDim.x == 0)
    while (*done < b) {
    }
  unsigned sum = 0;
  for (unsigned i = g; i < n; i += all) sum += i;
  out[g] = sum;
  __threadfence();
  if (g % blockDim.x == blockDim.x - 1) *done = b + 1;
})")->untyped_kernel("k");
  const auto done = results<unsigned>(1), totals = results<unsigned>(64 * 32);
  launch(chain, {.grid = {64}, .block = {32}}, 10000U, done, totals);
  CHECK(done.data()[0] == 64);
  CHECK(totals.data()[5] == 5 + 5 + 2048 + 5 + 4096 + 5 + 6144 + 5 + 8192);
}

TEST_CASE("shared memory is aligned as a type, or by several wishes") {
  const auto kernel = compile(R"(
struct alignas(128) Line { float a[32]; };
extern "C" __global__ void k(unsigned long long* out) {
  __shared__ alignas(Line) unsigned char lines[2 * sizeof(Line)];
  alignas(8) __shared__ __align__(256) char bytes[3];
  __shared__ alignas(double) char more[8];
  lines[threadIdx.x] = bytes[threadIdx.x % 3] = more[threadIdx.x % 8] = 1;
  __syncthreads();
  out[0] = (unsigned long long)lines % 128 + (unsigned long long)bytes % 256 + (unsigned long long)more % 8;
  out[1] = lines[63 - threadIdx.x];
})")->untyped_kernel("k");
  const auto out = results<unsigned long long>(2);
  launch(kernel, {.grid = {1}, .block = {64}}, out);
  CHECK(download(out) == std::vector<unsigned long long>{0, 1});
}

TEST_CASE("assert and __builtin_assume need no include, and __fns finds a set bit") {
  const auto kernel = compile(R"(
template <class T> __device__ T half_of(T x) {
  assert(sizeof(T) > 1);
  __builtin_assume(x > 0);
  return x / 2;
}
extern "C" __global__ void k(int* out) {
  out[0] = half_of(8);
  out[1] = (int)__fns(0xf0u, 0, 2);
  out[2] = (int)__fns(0xf0u, 7, -3);
  out[3] = (int)__fns(0xf0u, 5, 0);
  out[4] = (int)__fns(0xf0u, 5, 4);
})")->untyped_kernel("k");
  const auto out = results<int>(5);
  launch(kernel, {.grid = {1}, .block = {1}}, out);
  CHECK(download(out) == std::vector<int>{4, 5, 5, 5, -1});
}

TEST_CASE("an object is made in memory that is there, without <new>, with it, and with a function of the source's own") {
  for (const char* const first :
       {"", "#include <new>\n", "inline __device__ void* operator new(size_t, void* p) { return p; }\n"}) {
    CAPTURE(first);
    const auto kernel = compile((std::string(first) + R"(
struct Counted {
  int n;
  __device__ Counted(int first = 3) : n(first) {}
  __device__ ~Counted() { n = -1; }
};
extern "C" __global__ void k(int* out) {
  alignas(Counted) __shared__ unsigned char one[sizeof(Counted)];
  __shared__ Counted* made;
  if (threadIdx.x == 0) made = new (one) Counted(5);
  __syncthreads();
  void* const many = out + 1;
  if (threadIdx.x == 1) new (many) Counted[2];
  out[0] = made->n;
  __syncthreads();
  if (threadIdx.x == 0) made->~Counted();
})").c_str())->untyped_kernel("k");
    const auto out = results<int>(3);
    launch(kernel, {.grid = {1}, .block = {2}}, out);
    CHECK(download(out) == std::vector<int>{5, 3, 3});
  }
}

TEST_CASE("headers of the CUDA Toolkit that have nothing in them here") {
  const auto kernel = compile(R"(
#include <builtin_types.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <device_atomic_functions.h>
#include <device_functions.h>
#include <device_launch_parameters.h>
#include <math_functions.h>
#include <sm_20_atomic_functions.h>
#include <sm_30_intrinsics.h>
#include <vector_functions.h>
#include <vector_types.h>
extern "C" __global__ void k(float* out) {
  const float4 v = make_float4(1.0f, 2.0f, 3.0f, 4.0f);
  out[threadIdx.x] = v.w;
})")->untyped_kernel("k");
  const auto out = results<float>(2);
  launch(kernel, {.grid = {1}, .block = {2}}, out);
  CHECK(download(out) == std::vector<float>{4, 4});
}

TEST_CASE("halves: raw bits, pairs that are compared, products that are cut off at zero, NaN that stays") {
  const auto kernel = compile(R"(
#include <cuda_fp16.hpp>
#include <cuda_fp16.h>
extern "C" __global__ void k(float* out) {
  __half_raw bits;
  bits.x = 0x4200;
  const half three = bits, nan = __ushort_as_half(0x7e00);
  const half2 a = __floats2half2_rn(1.0f, -2.0f), b = __hfma2_relu(a, __half2half2(three), __float2half2_rn(1.0f));
  out[0] = (float)three + static_cast<__half_raw>(three).x;
  out[1] = __low2float(b) * 10 + __high2float(b);
  out[2] = (a == a) + 2 * (a == b) + 4 * (a != b) + 8 * (a < b);
  out[3] = __hisnan(__hmax_nan(three, nan)) + 2 * __hisnan(__hmax(three, nan));
  out[3] += 4 * __hisnan(__hfma_relu(three, three, nan));
  out[4] = (float)__half2short_rn(__float2half(2.5f)) + 10 * (float)__half2short_rz(__float2half(-2.75f));
  out[5] = (float)htanh(__float2half(0.0f));
  out[6] = (float)__half2short_rn(__float2half(40000.0f)) + (float)__half2short_rz(__float2half(-65504.0f));
})")->untyped_kernel("k");
  const auto out = results<float>(7);
  launch(kernel, {.grid = {1}, .block = {1}}, out);
  CHECK(download(out) == std::vector<float>{3 + 0x4200, 40, 1 + 4 + 8, 1 + 4, 2 - 20, 0, -1});
}

TEST_CASE("bfloat16: functions of pairs") {
  const auto kernel = compile(R"(
#include <cuda_bf16.hpp>
#include <cuda_bf16.h>
extern "C" __global__ void k(float* out) {
  const __nv_bfloat162 a = __floats2bfloat162_rn(1.0f, -2.0f), b = __floats2bfloat162_rn(-4.0f, 8.0f);
  const __nv_bfloat162 most = __hmax2(a, b), least = __hmin2(a, b), quotient = __h2div(b, a), size = __habs2(-a);
  const __nv_bfloat162 ends = __lows2bfloat162(a, b), e = h2exp2(a);
  out[0] = __low2float(most) * 10 + __high2float(most);
  out[1] = __low2float(least) * 10 + __high2float(least);
  out[2] = __low2float(quotient) * 10 + __high2float(quotient);
  out[3] = __low2float(size) * 10 + __high2float(size);
  out[4] = __low2float(ends) * 10 + __high2float(ends);
  out[5] = __low2float(e) * 10 + __high2float(e);
  out[6] = __bfloat162int_rn(__float2bfloat16(2.5f)) + 10 * __bfloat162int_rz(__float2bfloat16(-2.75f));
})")->untyped_kernel("k");
  const auto out = results<float>(7);
  launch(kernel, {.grid = {1}, .block = {1}}, out);
  CHECK(download(out) == std::vector<float>{18, -42, -44, 12, 6, 20.25F, -18});
}

}  // namespace
}  // namespace weir::test
