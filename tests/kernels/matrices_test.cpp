// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/support.hpp"

/// Matrices in tiles of shared memory: products, transposition, sparse rows.
namespace weir::test {
namespace {

constexpr const char* source = R"(
#define TILE 16
extern "C" __global__ void product_tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[TILE][TILE], bs[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int t = 0; t < (k + TILE - 1) / TILE; ++t) {
    int ac = t * TILE + threadIdx.x, br = t * TILE + threadIdx.y;
    as[threadIdx.y][threadIdx.x] = row < m && ac < k ? a[row * k + ac] : 0.0f;
    bs[threadIdx.y][threadIdx.x] = br < k && column < n ? b[br * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < TILE; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

// Each thread holds four by four elements in an array of its own, across barriers.
template <int BM, int BN, int BK, int TM, int TN>
__device__ void product_block(const float* a, const float* b, float* c, int n, int k) {
  __shared__ float as[BK][BM];
  __shared__ float bs[BK][BN];
  float sum[TM][TN] = {};
  const int tx = threadIdx.x % (BN / TN), ty = threadIdx.x / (BN / TN);
  const int first_row = blockIdx.y * BM, first_column = blockIdx.x * BN;
  for (int kk = 0; kk < k; kk += BK) {
    for (int i = threadIdx.x; i < BM * BK; i += blockDim.x) as[i % BK][i / BK] = a[(first_row + i / BK) * k + kk + i % BK];
    for (int i = threadIdx.x; i < BK * BN; i += blockDim.x) bs[i / BN][i % BN] = b[(kk + i / BN) * n + first_column + i % BN];
    __syncthreads();
    for (int i = 0; i < BK; ++i) {
      float ra[TM], rb[TN];
      for (int x = 0; x < TM; ++x) ra[x] = as[i][ty * TM + x];
      for (int y = 0; y < TN; ++y) rb[y] = bs[i][tx * TN + y];
      for (int x = 0; x < TM; ++x)
        for (int y = 0; y < TN; ++y) sum[x][y] += ra[x] * rb[y];
    }
    __syncthreads();
  }
  for (int x = 0; x < TM; ++x)
    for (int y = 0; y < TN; ++y) c[(first_row + ty * TM + x) * n + first_column + tx * TN + y] = sum[x][y];
}
extern "C" __global__ void __launch_bounds__(64) product_registers(const float* a, const float* b, float* c, int n, int k) {
  product_block<32, 32, 8, 4, 4>(a, b, c, n, k);
}

// A tile with one column more than it needs; 32 columns by 8 rows of threads.
extern "C" __global__ void transpose(const float* in, float* out, int width, int height) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x;
  int y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += blockDim.y)
    if (x < width && y + j < height) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x;
  y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += blockDim.y)
    if (x < height && y + j < width) out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

// A sparse matrix, a warp a row; rows differ in length, so warps differ in how often they go round.
extern "C" __global__ void sparse_by_warps(const int* begin, const int* columns, const float* values, const float* x, float* y, int rows) {
  int warp = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize, lane = threadIdx.x % warpSize;
  if (warp < rows) {
    float sum = 0;
    for (int j = begin[warp] + lane; j < begin[warp + 1]; j += warpSize) sum += values[j] * x[columns[j]];
    for (int o = warpSize / 2; o > 0; o /= 2) sum += __shfl_down_sync(0xffffffffffffffffull, sum, o);
    if (lane == 0) y[warp] = sum;
  }
}

// A vector of the matrix's rows by atomics in shared memory.
extern "C" __global__ void matrix_vector(const float* a, const float* x, float* y, int rows, int columns) {
  extern __shared__ float part[];
  for (int r = threadIdx.x; r < rows; r += blockDim.x) part[r] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < rows * columns; i += blockDim.x) atomicAdd(&part[i / columns], a[i] * x[i % columns]);
  __syncthreads();
  for (int r = threadIdx.x; r < rows; r += blockDim.x) y[r] = part[r];
}
)";

const ModulePtr& module() {
  static const ModulePtr compiled = compile(source);
  return compiled;
}

std::vector<double> product(const std::vector<float>& a, const std::vector<float>& b, std::size_t m, std::size_t n,
                            std::size_t k) {
  std::vector<double> c(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t l = 0; l < k; ++l) {
      for (std::size_t j = 0; j < n; ++j)
        c[i * n + j] += static_cast<double>(a[i * k + l]) * static_cast<double>(b[l * n + j]);
    }
  }
  return c;
}

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("products in tiles of shared memory") {
  constexpr int m = 50, n = 37, k = 70;
  const auto a = random_floats(m * k, 1), b = random_floats(k * n, 2);
  const auto c = upload(std::vector<float>(m * n));
  launch(module()->kernel("product_tiled"), {.grid = {3, 4}, .block = {16, 16}}, upload(a), upload(b), c, m, n, k);
  CHECK(difference(download(c), product(a, b, m, n, k)) < 1e-5);
}

TEST_CASE("products in tiles of registers, by a template") {
  constexpr int size = 64;
  const auto a = random_floats(size * size, 3), b = random_floats(size * size, 4);
  const auto c = upload(std::vector<float>(size * size));
  launch(module()->kernel("product_registers"), {.grid = {2, 2}, .block = {64}}, upload(a), upload(b), c, size, size);
  CHECK(difference(download(c), product(a, b, size, size, size)) < 1e-5);
}

TEST_CASE("transposition with padding") {
  constexpr int width = 100, height = 70;
  const auto in = random_floats(width * height, 5);
  const auto out = upload(std::vector<float>(in.size()));
  launch(module()->kernel("transpose"), {.grid = {4, 3}, .block = {32, 8}}, upload(in), out, width, height);
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) REQUIRE(out.data()[x * height + y] == in[y * width + x]);
  }
}

TEST_CASE("a sparse matrix times a vector, a warp a row") {
  constexpr int rows = 37;
  const auto lengths = random_ints(rows, 6, 0, 200);
  std::vector<int> begin{0};
  for (const int length : lengths) begin.push_back(begin.back() + length);
  const auto count = static_cast<std::size_t>(begin.back());
  const auto columns = random_ints(count, 7, 0, 99);
  const auto values = random_floats(count, 8), x = random_floats(100, 9);
  const auto y = upload(std::vector<float>(rows));
  launch(module()->kernel("sparse_by_warps"), {.grid = {(rows * warp_size() + 127) / 128}, .block = {128}}, upload(begin),
         upload(columns), upload(values), upload(x), y, rows);
  std::vector<double> expected(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    for (auto j = static_cast<std::size_t>(begin[r]); j < static_cast<std::size_t>(begin[r + 1]); ++j) {
      expected[r] += static_cast<double>(values[j]) * static_cast<double>(x[static_cast<std::size_t>(columns[j])]);
    }
  }
  CHECK(difference(download(y), expected) < 1e-5);
}

TEST_CASE("a matrix times a vector, by atomics on shared floats") {
  constexpr int rows = 13, columns = 57;
  const auto a = random_floats(rows * columns, 10), x = random_floats(columns, 11);
  const auto y = upload(std::vector<float>(rows));
  launch(module()->kernel("matrix_vector"), {.grid = {1}, .block = {96}, .shared_memory_bytes = rows * 4U}, upload(a),
         upload(x), y, rows, columns);
  CHECK(difference(download(y), product(a, x, rows, 1, columns)) < 1e-5);
}

TEST_SUITE_END();

}  // namespace
}  // namespace weir::test
