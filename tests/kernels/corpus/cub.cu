// CUB's block and warp primitives, with types of 1 to 16 bytes, blocks that end within a warp, and warps of several sizes.
#include <cub/cub.cuh>

// Products of these do not commute. (Modulo 32749, so that no product overflows.)
struct Matrix {
  int a, b, c, d;
};
struct Product {
  __device__ Matrix operator()(const Matrix& l, const Matrix& r) const {
    return {(l.a * r.a + l.b * r.c) % 32749, (l.a * r.b + l.b * r.d) % 32749, (l.c * r.a + l.d * r.c) % 32749,
            (l.c * r.b + l.d * r.d) % 32749};
  }
};
__device__ Matrix matrix_of(int v) { return {v, 1, 1, v + 2}; }
__device__ int digest(const Matrix& m) { return m.a * 7 + m.b * 5 + m.c * 3 + m.d; }

// A type with a constructor, of 12 bytes.
struct Moments {
  float sum, squares;
  int count;
  __device__ Moments(float s, float q, int n) : sum(s), squares(q), count(n) {}
  __device__ Moments operator+(const Moments& o) const { return {sum + o.sum, squares + o.squares, count + o.count}; }
};

template <int threads>
__global__ void cub_reduce(const int* in, int* out, int valid) {
  using Reduce = cub::BlockReduce<int, threads>;
  __shared__ union {
    typename Reduce::TempStorage numbers;
    typename cub::BlockReduce<Matrix, threads, cub::BLOCK_REDUCE_RAKING>::TempStorage matrices;
  } memory;
  const int t = threadIdx.x, v = in[blockIdx.x * threads + t];
  int results[6];
  results[0] = Reduce(memory.numbers).Sum(v);
  __syncthreads();
  results[1] = Reduce(memory.numbers).Sum(v, valid);
  __syncthreads();
  results[2] = Reduce(memory.numbers).Reduce(v, cub::Max());
  __syncthreads();
  results[3] = Reduce(memory.numbers).Reduce(v, cub::Min(), valid);
  int items[3] = {v, 2 * v, 1};
  results[4] = Reduce().Sum(items);  // in memory of its own
  __syncthreads();
  Product product;
  results[5] = digest(cub::BlockReduce<Matrix, threads, cub::BLOCK_REDUCE_RAKING>(memory.matrices).Reduce(matrix_of(v), product));
  if (t == 0) {
    for (int i = 0; i < 6; ++i) out[blockIdx.x * 6 + i] = results[i];
  }
}
template __global__ void cub_reduce<16>(const int*, int*, int);
template __global__ void cub_reduce<200>(const int*, int*, int);

extern "C" __global__ void cub_reduce_2d(const float* in, float* out) {
  using Reduce = cub::BlockReduce<Moments, 12, cub::BLOCK_REDUCE_WARP_REDUCTIONS, 5, 2>;
  __shared__ Reduce::TempStorage memory;
  const float v = in[(threadIdx.z * 5 + threadIdx.y) * 12 + threadIdx.x];
  const Moments all = Reduce(memory).Sum(Moments(v, v * v, 1));
  using Best = cub::BlockReduce<cub::KeyValuePair<int, float>, 12, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, 5, 2>;
  __shared__ Best::TempStorage best_memory;
  const cub::KeyValuePair<int, float> own((threadIdx.z * 5 + threadIdx.y) * 12 + threadIdx.x, v);
  const cub::KeyValuePair<int, float> most = Best(best_memory).Reduce(own, cub::ArgMax());
  __syncthreads();
  const cub::KeyValuePair<int, float> least = Best(best_memory).Reduce(own, cub::ArgMin());
  if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
    out[0] = all.sum, out[1] = all.squares, out[2] = (float)all.count;
    out[3] = (float)most.key, out[4] = most.value, out[5] = (float)least.key, out[6] = least.value;
  }
}

// Each result is a row of `out`, with an element for each thread.
template <int threads>
__global__ void cub_scan(const int* in, int* out) {
  using Scan = cub::BlockScan<int, threads>;
  __shared__ typename Scan::TempStorage memory;
  const int t = threadIdx.x, v = in[t];
  int results[10], all, initial = 100;
  Scan(memory).InclusiveSum(v, results[0]);
  __syncthreads();
  Scan(memory).ExclusiveSum(v, results[1], results[2]);
  __syncthreads();
  Scan(memory).ExclusiveScan(v, results[3], initial, cub::Max());
  __syncthreads();
  Scan(memory).InclusiveScan(v, results[4], cub::Min(), results[5]);
  __syncthreads();
  results[6] = 0;
  Scan(memory).ExclusiveScan(v, results[6], cub::Max());
  if (t == 0) results[6] = 0;  // undefined
  __syncthreads();
  Scan(memory).ExclusiveScan(v, results[7], 5, cub::Sum(), all);
  results[8] = all;
  cub::BlockScan<Matrix, threads, cub::BLOCK_SCAN_WARP_SCANS> matrices;
  Matrix m = matrix_of(v);
  matrices.InclusiveScan(m, m, Product());
  results[9] = digest(m);
  for (int i = 0; i < 10; ++i) out[i * threads + t] = results[i];
}
template __global__ void cub_scan<200>(const int*, int*);

struct Running {
  int total;
  __device__ int operator()(int all) {
    const int before = total;
    total += all;
    return before;
  }
};

// A scan of any length by one block, three items a thread.
extern "C" __global__ void cub_scan_all(const int* in, int* inclusive, int* exclusive, int n) {
  constexpr int threads = 96, items = 3;
  using Scan = cub::BlockScan<int, threads>;
  using Load = cub::BlockLoad<int, threads, items, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store = cub::BlockStore<int, threads, items, cub::BLOCK_STORE_TRANSPOSE>;
  __shared__ union {
    Scan::TempStorage scan;
    Load::TempStorage load;
    Store::TempStorage store;
  } memory;
  Running up{0}, down{1000};
  for (int first = 0; first < n; first += threads * items) {
    int v[items], sums[items];
    Load(memory.load).Load(in + first, v, n - first, 0);
    __syncthreads();
    Scan(memory.scan).InclusiveSum(v, sums, up);
    __syncthreads();
    Store(memory.store).Store(inclusive + first, sums, n - first);
    __syncthreads();
    Scan(memory.scan).ExclusiveScan(v, v, cub::Sum(), down);
    __syncthreads();
    Store(memory.store).Store(exclusive + first, v, n - first);
    __syncthreads();
  }
}

extern "C" __global__ void cub_scan_items(const int* in, int* out) {
  using Load = cub::BlockLoad<int, 8, 4, cub::BLOCK_LOAD_STRIPED, 5>;
  using Scan = cub::BlockScan<int, 8, cub::BLOCK_SCAN_RAKING_MEMOIZE, 5>;
  using Store = cub::BlockStore<int, 8, 4, cub::BLOCK_STORE_STRIPED, 5>;
  int v[4], sums[4], all;
  Load().Load(in, v);
  Scan().ExclusiveSum(v, sums, all);
  Store().Store(out, sums);
  __syncthreads();
  Scan().InclusiveScan(v, v, 3, cub::Max());
  Store().Store(out + 160, v);
  if (threadIdx.x == 7 && threadIdx.y == 4) out[320] = all;
}

template <int lanes>
__device__ void by_warps(const int* in, int* out, int valid) {
  using Reduce = cub::WarpReduce<int, lanes>;
  using Scan = cub::WarpScan<int, lanes>;
  using Wide = cub::WarpScan<Matrix, lanes>;
  __shared__ typename Reduce::TempStorage reduce_memory[32];
  __shared__ typename Scan::TempStorage scan_memory[32];
  __shared__ typename Wide::TempStorage wide_memory;
  const int t = threadIdx.x, n = blockDim.x, warp = t / lanes, v = in[t], flag = v % 3 == 0;
  int results[12], items[2] = {v, v / 2};
  results[0] = Reduce(reduce_memory[warp]).Sum(v);
  results[1] = Reduce(reduce_memory[warp]).Sum(v, valid);
  results[2] = Reduce(reduce_memory[warp]).Reduce(v, cub::Max());
  results[3] = Reduce(reduce_memory[warp]).HeadSegmentedSum(v, flag);
  results[4] = Reduce(reduce_memory[warp]).TailSegmentedReduce(v, flag, cub::Min());
  results[5] = Reduce(reduce_memory[warp]).Reduce(items, cub::Sum());
  Scan(scan_memory[warp]).InclusiveSum(v, results[6]);
  Scan(scan_memory[warp]).ExclusiveSum(v, results[7], results[8]);
  Scan(scan_memory[warp]).ExclusiveScan(v, results[9], -3, cub::Max());
  Matrix inclusive, exclusive;
  Wide(wide_memory).Scan(matrix_of(v), inclusive, exclusive, matrix_of(0), Product());
  results[10] = digest(inclusive);
  results[11] = digest(exclusive) + Scan(scan_memory[warp]).Broadcast(v, 2);
  for (int i = 0; i < 12; ++i) out[i * n + t] = results[i];
}
extern "C" __global__ void cub_warps_5(const int* in, int* out, int valid) {
  // Within a warp of 32 or 64 lanes, 30 make six warps of five.
  if (threadIdx.x < 30) by_warps<5>(in, out, valid);
}
extern "C" __global__ void cub_warps_8(const int* in, int* out, int valid) {
  if (threadIdx.x / 8 % 3 != 1) by_warps<8>(in, out, valid);  // some warps of eight alone
}
extern "C" __global__ void cub_warps_32(const int* in, int* out, int valid) { by_warps<32>(in, out, valid); }

// Types that are smaller and larger than a word; a lambda as the operation.
extern "C" __global__ void cub_types(const int* in, double* out) {
  const int v = in[threadIdx.x];
  const signed char small = cub::BlockReduce<signed char, 64>().Reduce((signed char)v, cub::Max());
  const double large = cub::BlockReduce<double, 64>().Sum(v + 0.5);
  const unsigned long long bits =
      cub::BlockReduce<unsigned long long, 64>().Reduce(1ull << v % 64, [](unsigned long long a, unsigned long long b) { return a | b; });
  cub::Sum add;
  double before;  // the initial value is an integer
  cub::BlockScan<double, 64>().ExclusiveScan((double)v, before, 0, add);
  if (threadIdx.x == 0) out[0] = small, out[1] = large, out[2] = (double)bits;
  if (threadIdx.x == 63) out[3] = before + v;
}
