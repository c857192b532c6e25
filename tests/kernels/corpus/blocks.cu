// Classes with functions in which the threads of a block synchronize, as in libraries of block primitives: temporary storage
// in shared memory, an object for each thread, overloads, functions that call each other, and static functions.
#define BLOCK 128
#define ITEMS 4
#define WARP 32

template <class T> struct WarpSum {
  struct TempStorage { T s[WARP]; };
  TempStorage& temp;
  const int lane;
  __device__ explicit WarpSum(TempStorage& storage) : temp(storage), lane(threadIdx.x % WARP) {}
  __device__ T Sum(T v) {
    temp.s[lane] = v;
    __syncwarp();
    for (int d = WARP / 2; d > 0; d /= 2) {
      if (lane < d) temp.s[lane] += temp.s[lane + d];
      __syncwarp();
    }
    return temp.s[0];
  }
};

// A sum by the warps' sums, for one number a thread and for several.
template <class T, int THREADS> class BlockSum {
  static constexpr int WARPS = THREADS / WARP;
  using OneWarp = WarpSum<T>;

 public:
  struct TempStorage {
    typename OneWarp::TempStorage warps[WARPS];
    T sums[WARPS];
  };
  __device__ BlockSum(TempStorage& storage) : temp_(storage) {}
  __device__ T Sum(T v) const {
    const int warp = threadIdx.x / WARP;
    const T mine = OneWarp(temp_.warps[warp]).Sum(v);
    if (threadIdx.x % WARP == 0) temp_.sums[warp] = mine;
    __syncthreads();
    T all = 0;
    for (int w = 0; w < WARPS; ++w) all += temp_.sums[w];
    __syncthreads();
    return all;
  }
  template <int N> __device__ T Sum(T (&v)[N]) const {
    T mine = v[0];
    for (int i = 1; i < N; ++i) mine += v[i];
    return Sum(mine);
  }

 private:
  TempStorage& temp_;
};

// A scan that changes its argument, and counts in the object how often it was called.
template <class T> struct BlockScan {
  T* s;
  int calls = 0;
  __device__ void inclusive(T& v) {
    ++calls;
    const int t = threadIdx.x;
    s[t] = v;
    __syncthreads();
    for (int d = 1; d < BLOCK; d *= 2) {
      const T left = t >= d ? s[t - d] : T(0);
      __syncthreads();
      s[t] += left;
      __syncthreads();
    }
    v = s[t];
  }
  __device__ void exclusive(T& v) {
    const T own = v;
    this->inclusive(v);
    v -= own;
  }
  __device__ T total() const { __syncthreads(); return s[BLOCK - 1]; }
};

// From blocked to striped: each thread's own array goes through shared memory.
template <class T, int THREADS, int N> struct BlockExchange {
  struct TempStorage { T s[THREADS * N]; } & temp;
  __device__ void BlockedToStriped(T (&items)[N]) {
    for (int i = 0; i < N; ++i) temp.s[threadIdx.x * N + i] = items[i];
    __syncthreads();
    for (int i = 0; i < N; ++i) items[i] = temp.s[i * THREADS + threadIdx.x];
    __syncthreads();
  }
};

// No object, and a base that has what the function names.
struct Votes {
  static __device__ int most(int v) {
    for (int d = WARP / 2; d > 0; d /= 2) v = max(v, __shfl_xor_sync(~0ull, v, d, WARP));
    return v;
  }
};
struct Lane {
  int v, calls;
  template <int W> __device__ int sum() {
    for (int d = W / 2; d > 0; d /= 2) v += __shfl_xor_sync(~0ull, v, d, W);
    ++calls;
    return v;
  }
};
struct Threshold { float limit; };
struct Above : Threshold {
  __device__ int count(float v) { return __syncthreads_count(v > limit); }
};
__device__ BlockScan<int>& chosen(BlockScan<int>* scans, int which) { return scans[which]; }

extern "C" __global__ void k_block_sum(const float* in, float* out) {
  using Sums = BlockSum<float, BLOCK>;
  __shared__ Sums::TempStorage temp;
  float items[ITEMS];
  for (int i = 0; i < ITEMS; ++i) items[i] = in[(blockIdx.x * BLOCK + threadIdx.x) * ITEMS + i];
  const float all = Sums(temp).Sum(items);
  const Sums sums{temp};
  const float first = sums.Sum(items[0]);
  if (threadIdx.x == 0) {
    out[2 * blockIdx.x] = all;
    out[2 * blockIdx.x + 1] = first;
  }
}

extern "C" __global__ void k_block_scan(const int* in, int* out, int* info) {
  __shared__ int s[BLOCK];
  const int t = threadIdx.x;
  BlockScan<int> scans[2] = {{s}, {s}};
  int v = in[t], w = in[t];
  scans[0].inclusive(v);
  const int total = scans[0].total();
  __syncthreads();
  BlockScan<int>* const other = &scans[1];
  other->exclusive(w);
  __syncthreads();
  int x = 1;
  chosen(scans, 1).inclusive(x);
  out[t] = v;
  out[BLOCK + t] = w;
  info[t] = 10000 * total + 100 * x / (t + 1) + 10 * scans[0].calls + scans[1].calls;
}

extern "C" __global__ void k_block_exchange(const int* in, int* out) {
  using Exchange = BlockExchange<int, BLOCK, ITEMS>;
  __shared__ Exchange::TempStorage temp;
  int items[ITEMS];
  for (int i = 0; i < ITEMS; ++i) items[i] = in[threadIdx.x * ITEMS + i];
  Exchange{temp}.BlockedToStriped(items);
  for (int i = 0; i < ITEMS; ++i) out[i * BLOCK + threadIdx.x] = items[i];
}

extern "C" __global__ void k_block_votes(const float* in, int* out) {
  Above above;
  above.limit = 0.25f;
  const int most = Votes::most(threadIdx.x ^ 5);
  int count = 0;
  if (in[0] < 2.0f) count = above.count(in[threadIdx.x]);
  Lane lane{1, 0};
  for (int i = 0; i < 2; ++i) lane.sum<8>();
  out[threadIdx.x] = 1000 * count + most + 1000000 * lane.v + 100000000 * lane.calls;
}
