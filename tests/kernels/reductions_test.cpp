// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "tests/kernels/support.hpp"

/// Many numbers become few: sums, extremes, dot products, softmax, layer norm.
namespace weir::test {
namespace {

constexpr const char* source = R"(
// Shared memory, halving strides.
extern "C" __global__ void sum_halving(const float* in, float* out, int n) {
  extern __shared__ float s[];
  unsigned tid = threadIdx.x;
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  s[tid] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) {
    if (tid < k) s[tid] += s[tid + k];
    __syncthreads();
  }
  if (tid == 0) out[blockIdx.x] = s[0];
}

// Interleaved addressing with a modulus, each thread adds up several elements first.
extern "C" __global__ void sum_strided(const float* __restrict__ in, float* out, int n) {
  __shared__ float s[128];
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += in[i];
  s[threadIdx.x] = mine;
  __syncthreads();
  for (int k = 1; k < blockDim.x; k *= 2) {
    if (threadIdx.x % (2 * k) == 0) s[threadIdx.x] += s[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

__inline__ __device__ float warp_sum(float v) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffffffffffffull, v, offset);
  return v;
}

__inline__ __device__ float block_sum(float v) {
  static __shared__ float partial[32];
  int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
  v = warp_sum(v);
  __syncthreads();
  if (lane == 0) partial[warp] = v;
  __syncthreads();
  v = threadIdx.x < (blockDim.x + warpSize - 1) / warpSize ? partial[lane] : 0.0f;
  if (warp == 0) v = warp_sum(v);
  return v;
}

template <typename T>
__device__ T block_max(T v, T* scratch) {
  scratch[threadIdx.x] = v;
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (threadIdx.x < k) scratch[threadIdx.x] = max(scratch[threadIdx.x], scratch[threadIdx.x + k]);
    __syncthreads();
  }
  T result = scratch[0];
  __syncthreads();
  return result;
}

extern "C" __global__ void sum_by_warps(const float* in, float* out, int n) {
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += in[i];
  float total = block_sum(v);
  if (threadIdx.x == 0) atomicAdd(out, total);
}

// Twice in one kernel: the shared memory of the function is one.
extern "C" __global__ void mean_and_variance(const float* in, float* out, int n) {
  float v = threadIdx.x < n ? in[blockIdx.x * n + threadIdx.x] : 0.0f;
  __shared__ float mean;
  float total = block_sum(v);
  if (threadIdx.x == 0) mean = total / n;
  __syncthreads();
  float d = threadIdx.x < n ? v - mean : 0.0f;
  float squares = block_sum(d * d);
  if (threadIdx.x == 0) {
    out[2 * blockIdx.x] = mean;
    out[2 * blockIdx.x + 1] = squares / n;
  }
}

extern "C" __global__ void dot(const float* a, const float* b, double* out, int n) {
  __shared__ double cache[256];
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  double t = 0;
  while (i < n) {
    t += (double)a[i] * b[i];
    i += blockDim.x * gridDim.x;
  }
  cache[threadIdx.x] = t;
  __syncthreads();
  int k = blockDim.x / 2;
  while (k != 0) {
    if (threadIdx.x < k) cache[threadIdx.x] += cache[threadIdx.x + k];
    __syncthreads();
    k /= 2;
  }
  if (threadIdx.x == 0) atomicAdd(out, cache[0]);
}

extern "C" __global__ void softmax(const float* in, float* out, int columns) {
  __shared__ float scratch[256];
  __shared__ float total;
  const float* row = in + blockIdx.x * columns;
  float greatest = -1e30f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) greatest = fmaxf(greatest, row[c]);
  greatest = block_max<float>(greatest, scratch);
  float sum = 0;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) sum += expf(row[c] - greatest);
  sum = block_sum(sum);
  if (threadIdx.x == 0) total = sum;
  __syncthreads();
  for (int c = threadIdx.x; c < columns; c += blockDim.x) out[blockIdx.x * columns + c] = expf(row[c] - greatest) / total;
}

// A warp a row, by x; rows by y.
extern "C" __global__ void layer_norm(const float* in, const float* gamma, const float* beta, float* out, int rows, int columns) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  float sum = 0, squares = 0;
  for (int c = threadIdx.x; c < columns; c += 32) {
    float v = in[row * columns + c];
    sum += v;
    squares += v * v;
  }
#pragma unroll
  for (int m = 16; m > 0; m >>= 1) {
    sum += __shfl_xor_sync(0xffffffff, sum, m);
    squares += __shfl_xor_sync(0xffffffff, squares, m);
  }
  float mean = sum / columns;
  float scale = rsqrtf(squares / columns - mean * mean + 1e-5f);
  for (int c = threadIdx.x; c < columns; c += 32) out[row * columns + c] = (in[row * columns + c] - mean) * scale * gamma[c] + beta[c];
}

// The least number and where it is: a struct in shared memory.
struct Least { float value; int index; };
__device__ Least better(Least a, Least b) { return b.value < a.value || (b.value == a.value && b.index < a.index) ? b : a; }
extern "C" __global__ void arg_min(const float* in, Least* out, int n) {
  __shared__ Least s[64];
  Least mine = {1e30f, -1};
  for (int i = threadIdx.x; i < n; i += blockDim.x) mine = better(mine, Least{in[i], i});
  s[threadIdx.x] = mine;
  __syncthreads();
  for (int k = 32; k > 0; k >>= 1) {
    if (threadIdx.x < k) s[threadIdx.x] = better(s[threadIdx.x], s[threadIdx.x + k]);
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = s[0];
}

// The last block to arrive adds up what the others left.
__device__ unsigned int arrived = 0;
extern "C" __global__ void sum_in_one_launch(const float* in, volatile float* parts, float* out, int n) {
  __shared__ float s[64];
  __shared__ bool last;
  unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  s[tid] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned k = 32; k > 0; k >>= 1) {
    if (tid < k) s[tid] += s[tid + k];
    __syncthreads();
  }
  if (tid == 0) {
    parts[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(&arrived, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    float v = 0;
    for (unsigned b = tid; b < gridDim.x; b += blockDim.x) v += parts[b];
    s[tid] = v;
    __syncthreads();
    for (unsigned k = 32; k > 0; k >>= 1) {
      if (tid < k) s[tid] += s[tid + k];
      __syncthreads();
    }
    if (tid == 0) {
      *out = s[0];
      arrived = 0;
    }
  }
}
)";

const ModulePtr& module() {
  static const ModulePtr compiled = compile(source);
  return compiled;
}

double sum_of(const std::vector<float>& v) { return std::accumulate(v.begin(), v.end(), 0.0); }

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("sums of a block, by shared memory") {
  for (const unsigned block : {1U, 2U, 32U, 128U, 1024U}) {
    const auto in = random_floats(3000, block);
    const LaunchConfig config = grid_for(in.size(), block);
    const auto x = upload(in);
    const auto out = upload(std::vector<float>(config.grid.x));
    launch(module()->kernel("sum_halving"), {.grid = config.grid, .block = {block}, .shared_memory_bytes = block * 4U}, x,
           out, 3000);
    std::vector<double> expected(config.grid.x);
    for (std::size_t i = 0; i < in.size(); ++i) expected[i / block] += static_cast<double>(in[i]);
    CHECK(difference(download(out), expected) < 1e-5);
  }
  const auto in = random_floats(10000, 7);
  const auto out = upload(std::vector<float>(4));
  launch(module()->kernel("sum_strided"), {.grid = {4}, .block = {128}}, upload(in), out, 10000);
  CHECK(std::fabs(sum_of(download(out)) - sum_of(in)) < 1e-3);
}

TEST_CASE("sums of a block, by shuffles, and by functions that call each other") {
  for (const unsigned block : {64U, 128U, 256U, 1024U}) {
    const auto in = random_floats(20000, block);
    const auto out = upload(std::vector<float>(1));
    launch(module()->kernel("sum_by_warps"), {.grid = {5}, .block = {block}}, upload(in), out, 20000);
    CHECK(std::fabs(static_cast<double>(download(out)[0]) - sum_of(in)) < 1e-2);
  }
  constexpr int n = 200;
  const auto in = random_floats(3 * n, 3);
  const auto out = upload(std::vector<float>(6));
  launch(module()->kernel("mean_and_variance"), {.grid = {3}, .block = {256}}, upload(in), out, n);
  std::vector<double> expected;
  for (int b = 0; b < 3; ++b) {
    double mean = 0, variance = 0;
    for (int i = 0; i < n; ++i) mean += static_cast<double>(in[static_cast<std::size_t>(b * n + i)]) / n;
    for (int i = 0; i < n; ++i)
      variance += std::pow(static_cast<double>(in[static_cast<std::size_t>(b * n + i)]) - mean, 2) / n;
    expected.insert(expected.end(), {mean, variance});
  }
  CHECK(difference(download(out), expected) < 1e-5);
}

TEST_CASE("a dot product with an atomic double") {
  const auto a = random_floats(5000, 1), b = random_floats(5000, 2);
  const auto out = upload(std::vector<double>(1));
  launch(module()->kernel("dot"), {.grid = {7}, .block = {256}}, upload(a), upload(b), out, 5000);
  double expected = 0;
  for (std::size_t i = 0; i < a.size(); ++i) expected += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  CHECK(download(out)[0] == doctest::Approx(expected));
}

TEST_CASE("softmax by rows") {
  constexpr int rows = 5, columns = 777;
  const auto in = random_floats(rows * columns, 5, -10, 10);
  const auto out = upload(std::vector<float>(in.size()));
  launch(module()->kernel("softmax"), {.grid = {rows}, .block = {256}}, upload(in), out, columns);
  std::vector<double> expected;
  for (int r = 0; r < rows; ++r) {
    const auto row = in.begin() + r * columns;
    const double greatest = static_cast<double>(*std::max_element(row, row + columns));
    double sum = 0;
    for (int c = 0; c < columns; ++c) sum += std::exp(static_cast<double>(row[c]) - greatest);
    for (int c = 0; c < columns; ++c) expected.push_back(std::exp(static_cast<double>(row[c]) - greatest) / sum);
  }
  CHECK(difference(download(out), expected) < 1e-5);
}

TEST_CASE("the least element of a struct type, and a sum in one launch") {
  struct Least {
    float value;
    int index;
  };
  const auto in = random_floats(1000, 9);
  const auto out = upload(std::vector<Least>(1));
  launch(module()->kernel("arg_min"), {.grid = {1}, .block = {64}}, upload(in), out, 1000);
  const auto least = std::min_element(in.begin(), in.end());
  CHECK(out.data()[0].value == *least);
  CHECK(out.data()[0].index == least - in.begin());

  const auto parts = upload(std::vector<float>(16));
  const auto sum = upload(std::vector<float>(1));
  for (int round = 0; round < 3; ++round) {
    launch(module()->kernel("sum_in_one_launch"), {.grid = {16}, .block = {64}}, upload(in), parts, sum, 1000);
    CHECK(std::fabs(static_cast<double>(sum.data()[0]) - sum_of(in)) < 1e-3);
  }
}

TEST_SUITE_END();

TEST_CASE("layer norm, a warp of 32 a row, with rows that return early") {
  constexpr int rows = 10, columns = 100;
  const auto in = random_floats(rows * columns, 11), gamma = random_floats(columns, 12), beta = random_floats(columns, 13);
  const auto out = upload(std::vector<float>(in.size()));
  launch(module()->kernel("layer_norm"), {.grid = {3}, .block = {32, 4}}, upload(in), upload(gamma), upload(beta), out, rows,
         columns);
  std::vector<double> expected;
  for (int r = 0; r < rows; ++r) {
    double mean = 0, squares = 0;
    const auto at = [&](int c) { return static_cast<double>(in[static_cast<std::size_t>(r * columns + c)]); };
    for (int c = 0; c < columns; ++c) mean += at(c) / columns;
    for (int c = 0; c < columns; ++c) squares += at(c) * at(c) / columns;
    const double scale = 1 / std::sqrt(squares - mean * mean + 1e-5);
    for (int c = 0; c < columns; ++c) {
      const auto i = static_cast<std::size_t>(c);
      expected.push_back((at(c) - mean) * scale * static_cast<double>(gamma[i]) + static_cast<double>(beta[i]));
    }
  }
  CHECK(difference(download(out), expected) < 1e-4);
}

}  // namespace
}  // namespace weir::test
