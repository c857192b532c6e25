// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "tests/kernels/support.hpp"

/// Prefix sums, and what is built of them: compaction, a pass of a radix sort.
namespace weir::test {
namespace {

constexpr const char* source = R"(
// Hillis and Steele, with two buffers that change places.
extern "C" __global__ void scan_hillis_steele(const int* in, int* out, int n) {
  extern __shared__ int temp[];
  int tid = threadIdx.x;
  int pout = 0, pin = 1;
  temp[tid] = tid > 0 ? in[blockIdx.x * n + tid - 1] : 0;
  __syncthreads();
  for (int offset = 1; offset < n; offset *= 2) {
    pout = 1 - pout;
    pin = 1 - pout;
    if (tid >= offset) temp[pout * n + tid] = temp[pin * n + tid] + temp[pin * n + tid - offset];
    else temp[pout * n + tid] = temp[pin * n + tid];
    __syncthreads();
  }
  out[blockIdx.x * n + tid] = temp[pout * n + tid];
}

// The same in place: read, barrier, write, barrier.
extern "C" __global__ void scan_in_place(int* x) {
  __shared__ int s[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = x[i];
  for (int d = 1; d < blockDim.x; d <<= 1) {
    __syncthreads();
    int left = 0;
    if (threadIdx.x >= d) left = s[threadIdx.x - d];
    __syncthreads();
    s[threadIdx.x] += left;
  }
  x[i] = s[threadIdx.x];
}

#define PAD(i) ((i) + ((i) >> 5))
// Blelloch: up and down a tree, without conflicts of banks; two elements a thread.
extern "C" __global__ void scan_blelloch(const float* in, float* out, int n) {
  extern __shared__ float temp[];
  int tid = threadIdx.x, offset = 1;
  temp[PAD(2 * tid)] = in[2 * tid];
  temp[PAD(2 * tid + 1)] = in[2 * tid + 1];
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (tid < d) {
      int a = PAD(offset * (2 * tid + 1) - 1), b = PAD(offset * (2 * tid + 2) - 1);
      temp[b] += temp[a];
    }
    offset *= 2;
  }
  if (tid == 0) temp[PAD(n - 1)] = 0;
  for (int d = 1; d < n; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (tid < d) {
      int a = PAD(offset * (2 * tid + 1) - 1), b = PAD(offset * (2 * tid + 2) - 1);
      float t = temp[a];
      temp[a] = temp[b];
      temp[b] += t;
    }
  }
  __syncthreads();
  out[2 * tid] = temp[PAD(2 * tid)];
  out[2 * tid + 1] = temp[PAD(2 * tid + 1)];
}

__device__ int warp_scan(int v) {
  int lane = threadIdx.x & (warpSize - 1);
  for (int d = 1; d < warpSize; d <<= 1) {
    int left = __shfl_up_sync(~0ull, v, d);
    if (lane >= d) v += left;
  }
  return v;
}

// Inclusive, of the whole block: by warps, then over the warps.
__device__ int block_scan(int v, int* sums) {
  const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
  v = warp_scan(v);
  if (lane == warpSize - 1) sums[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int s = lane < blockDim.x / warpSize ? sums[lane] : 0;
    s = warp_scan(s);
    sums[lane] = s;
  }
  __syncthreads();
  if (warp > 0) v += sums[warp - 1];
  __syncthreads();
  return v;
}

extern "C" __global__ void scan_by_warps(const int* in, int* out) {
  __shared__ int sums[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = block_scan(in[i], sums);
}

// What is positive moves to the front, in order, block by block.
extern "C" __global__ void compact(const float* in, float* out, int* count, int n) {
  __shared__ int sums[64];
  __shared__ int base;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int keep = i < n && in[i] > 0.0f;
  int place = block_scan(keep, sums);
  if (threadIdx.x == blockDim.x - 1) base = atomicAdd(count, place);
  __syncthreads();
  if (keep) out[base + place - 1] = in[i];
}

// A pass of a radix sort: four bits, one block.
extern "C" __global__ void radix_pass(const unsigned* in, unsigned* out, int shift) {
  __shared__ int sums[64];
  __shared__ unsigned begin[17];
  unsigned key = in[threadIdx.x];
  unsigned digit = key >> shift & 15u;
  if (threadIdx.x == 0) begin[0] = 0;
  unsigned place = 0;
  for (int d = 0; d < 16; ++d) {
    int mine = digit == d;
    int upto = block_scan(mine, sums);
    if (threadIdx.x == blockDim.x - 1) begin[d + 1] = begin[d] + upto;
    __syncthreads();
    if (mine) place = begin[d] + upto - 1;
  }
  out[place] = key;
}

// Threads without an element return first; those that stay must all meet.
extern "C" __global__ void prefix_with_early_return(const int* in, int* out, int n) {
  __shared__ int s[2][128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  s[0][threadIdx.x] = in[i];
  int at = 0;
  for (int d = 1; d < 128; d *= 2) {
    __syncthreads();
    s[1 - at][threadIdx.x] = s[at][threadIdx.x] + (threadIdx.x >= d ? s[at][threadIdx.x - d] : 0);
    at = 1 - at;
  }
  out[i] = s[at][threadIdx.x];
}
)";

const ModulePtr& module() {
  static const ModulePtr compiled = compile(source);
  return compiled;
}

std::vector<int> prefix_by_blocks(const std::vector<int>& in, std::size_t block, bool inclusive) {
  std::vector<int> out(in.size());
  for (std::size_t b = 0; b < in.size(); b += block) {
    const std::size_t end = std::min(b + block, in.size());
    int sum = 0;
    for (std::size_t i = b; i < end; ++i) {
      if (!inclusive) out[i] = sum;
      sum += in[i];
      if (inclusive) out[i] = sum;
    }
  }
  return out;
}

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("scans of Hillis and Steele, and of Blelloch") {
  for (const unsigned n : {1U, 64U, 256U}) {
    const auto in = random_ints(4 * n, n, -100, 100);
    const auto out = upload(std::vector<int>(in.size()));
    launch(module()->kernel("scan_hillis_steele"), {.grid = {4}, .block = {n}, .shared_memory_bytes = 2 * n * 4U},
           upload(in), out, static_cast<int>(n));
    CHECK(download(out) == prefix_by_blocks(in, n, false));
  }
  const auto in = random_ints(1024, 2, -100, 100);
  const auto x = upload(in);
  launch(module()->kernel("scan_in_place"), {.grid = {4}, .block = {256}}, x);
  CHECK(download(x) == prefix_by_blocks(in, 256, true));

  const auto floats = random_floats(512, 3);
  const auto out = upload(std::vector<float>(512));
  launch(module()->kernel("scan_blelloch"), {.grid = {1}, .block = {256}, .shared_memory_bytes = 600 * 4U}, upload(floats),
         out, 512);
  std::vector<double> expected(512);
  std::exclusive_scan(floats.begin(), floats.end(), expected.begin(), 0.0);
  CHECK(difference(download(out), expected) < 1e-5);
}

TEST_CASE("scans by warps") {
  const auto in = random_ints(2048, 4, -1000, 1000);
  const auto out = upload(std::vector<int>(in.size()));
  for (const unsigned block : {64U, 512U, 1024U}) {
    launch(module()->kernel("scan_by_warps"), {.grid = {2048 / block}, .block = {block}}, upload(in), out);
    CHECK(download(out) == prefix_by_blocks(in, block, true));
  }
}

TEST_CASE("stream compaction") {
  const auto in = random_floats(1000, 5);
  const auto out = upload(std::vector<float>(1000));
  const auto count = upload(std::vector<int>(1));
  launch(module()->kernel("compact"), {.grid = {8}, .block = {128}}, upload(in), out, count, 1000);
  std::vector<float> kept(out.data(), out.data() + count.data()[0]), expected;
  std::copy_if(in.begin(), in.end(), std::back_inserter(expected), [](float v) { return v > 0; });
  std::sort(kept.begin(), kept.end());
  std::sort(expected.begin(), expected.end());
  CHECK(kept == expected);
}

TEST_CASE("a radix sort") {
  const auto numbers = random_ints(256, 6, 0, 0x7FFFFFFF);
  auto a = upload(std::vector<unsigned>(numbers.begin(), numbers.end()));
  auto b = upload(std::vector<unsigned>(256));
  for (int shift = 0; shift < 32; shift += 4) {
    launch(module()->kernel("radix_pass"), {.grid = {1}, .block = {256}}, a, b, shift);
    std::swap(a, b);
  }
  std::vector<unsigned> expected(numbers.begin(), numbers.end());
  std::sort(expected.begin(), expected.end());
  CHECK(download(a) == expected);
}

TEST_CASE("a scan that some threads left before") {
  for (const int n : {1, 100, 128, 129, 200, 384}) {
    const auto in = random_ints(static_cast<std::size_t>(n), 7, -9, 9);
    const auto out = upload(std::vector<int>(in.size()));
    launch(module()->kernel("prefix_with_early_return"), {.grid = {3}, .block = {128}}, upload(in), out, n);
    CHECK(download(out) == prefix_by_blocks(in, 128, true));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test
