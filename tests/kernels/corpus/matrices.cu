// SPDX-License-Identifier: Apache-2.0
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
