#include <assert.h>
// Block primitives in the style of CUB, and a kernel that uses them.
template <typename T> struct Uninitialized { alignas(16) unsigned char storage[sizeof(T)]; __device__ __forceinline__ T& Alias() { return reinterpret_cast<T&>(*this); } };
struct Sum { template <typename T> __host__ __device__ __forceinline__ T operator()(const T& a, const T& b) const { return a + b; } };
struct Max { template <typename T> __host__ __device__ __forceinline__ T operator()(const T& a, const T& b) const { return (b > a) ? b : a; } };

template <typename T, int BLOCK_DIM_X>
class BlockScan {
 private:
  enum { WARP_THREADS = 32, WARPS = (BLOCK_DIM_X + WARP_THREADS - 1) / WARP_THREADS };
 public:
  struct TempStorage { T warp_aggregates[WARPS]; T block_prefix; };
 private:
  TempStorage& temp_storage;
  unsigned int linear_tid;
  unsigned int warp_id;
  unsigned int lane_id;

  template <typename ScanOp>
  __device__ __forceinline__ T WarpInclusive(T input, ScanOp scan_op) {
#pragma unroll
    for (int offset = 1; offset < WARP_THREADS; offset <<= 1) {
      T temp = __shfl_up_sync(0xffffffff, input, offset);
      if (lane_id >= offset) input = scan_op(temp, input);
    }
    return input;
  }

 public:
  __device__ __forceinline__ BlockScan(TempStorage& storage)
      : temp_storage(storage), linear_tid(threadIdx.x), warp_id(threadIdx.x / WARP_THREADS), lane_id(threadIdx.x % WARP_THREADS) {}

  template <typename ScanOp>
  __device__ __forceinline__ void InclusiveScan(T input, T& output, ScanOp scan_op, T& block_aggregate) {
    T inclusive = WarpInclusive(input, scan_op);
    if (lane_id == WARP_THREADS - 1) temp_storage.warp_aggregates[warp_id] = inclusive;
    __syncthreads();
    T warp_prefix;
    block_aggregate = temp_storage.warp_aggregates[0];
#pragma unroll
    for (int WARP = 1; WARP < WARPS; ++WARP) {
      if (warp_id == WARP) warp_prefix = block_aggregate;
      T addend = temp_storage.warp_aggregates[WARP];
      block_aggregate = scan_op(block_aggregate, addend);
    }
    output = warp_id == 0 ? inclusive : scan_op(warp_prefix, inclusive);
  }
  template <int ITEMS_PER_THREAD, typename ScanOp>
  __device__ __forceinline__ void InclusiveScan(T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD], ScanOp scan_op) {
    T partial = input[0];
#pragma unroll
    for (int i = 1; i < ITEMS_PER_THREAD; ++i) partial = scan_op(partial, input[i]);
    T scanned, aggregate;
    InclusiveScan(partial, scanned, scan_op, aggregate);
    T prefix = __shfl_up_sync(0xffffffff, scanned, 1);
    __syncthreads();
    if (lane_id == WARP_THREADS - 1) temp_storage.warp_aggregates[warp_id] = scanned;
    __syncthreads();
    if (lane_id == 0 && warp_id > 0) prefix = temp_storage.warp_aggregates[warp_id - 1];
    const bool has_prefix = linear_tid > 0;
#pragma unroll
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) {
      output[i] = i == 0 ? (has_prefix ? scan_op(prefix, input[0]) : input[0]) : scan_op(output[i - 1], input[i]);
    }
  }
};

template <int BLOCK_THREADS, int ITEMS_PER_THREAD, typename ScanOp>
__global__ void __launch_bounds__(BLOCK_THREADS) block_scan_kernel(const int* __restrict__ d_in, int* __restrict__ d_out, ScanOp op) {
  typedef BlockScan<int, BLOCK_THREADS> BlockScanT;
  __shared__ typename BlockScanT::TempStorage temp_storage;
  const int tile = blockIdx.x * BLOCK_THREADS * ITEMS_PER_THREAD;
  int data[ITEMS_PER_THREAD];
#pragma unroll
  for (int i = 0; i < ITEMS_PER_THREAD; ++i) data[i] = d_in[tile + threadIdx.x * ITEMS_PER_THREAD + i];
  BlockScanT(temp_storage).InclusiveScan(data, data, op);
#pragma unroll
  for (int i = 0; i < ITEMS_PER_THREAD; ++i) d_out[tile + threadIdx.x * ITEMS_PER_THREAD + i] = data[i];
}
extern "C" __global__ void block_max_flags(const int* in, int* out) {
  typedef BlockScan<int, 128> BlockScanT;
  __shared__ BlockScanT::TempStorage temp;
  int aggregate, mine;
  BlockScanT scan(temp);
  scan.InclusiveScan(in[blockIdx.x * 128 + threadIdx.x], mine, Max(), aggregate);
  out[blockIdx.x * 128 + threadIdx.x] = mine;
  if (threadIdx.x == 127) assert(mine == aggregate);
}
template __global__ void block_scan_kernel<128, 4, Sum>(const int*, int*, Sum);

enum Status : int { INVALID = 0, AGGREGATE = 1, PREFIX = 2 };
union TileState {
  struct { int status, value; };
  unsigned long long bits;
};
__device__ unsigned int ticket;
__device__ __forceinline__ TileState load_state(const TileState* p) {
  TileState s;
  s.bits = *reinterpret_cast<const volatile unsigned long long*>(p);
  return s;
}
__device__ __forceinline__ void store_state(TileState* p, int status, int value) {
  TileState s;
  s.status = status;
  s.value = value;
  __threadfence();
  atomicExch(reinterpret_cast<unsigned long long*>(p), s.bits);
}
__device__ int warp_inclusive_scan(int v) {
  const int lane = threadIdx.x & 31;
  for (int o = 1; o < 32; o *= 2) {
    int n = __shfl_up_sync(0xffffffffu, v, o);
    if (lane >= o) v += n;
  }
  return v;
}
extern "C" __global__ __launch_bounds__(256) void scan_lookback(const int* __restrict__ in, int* __restrict__ out, TileState* states, int n) {
  __shared__ int s_tile, s_prefix, s_warp[8];
  const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
  if (tid == 0) s_tile = atomicAdd(&ticket, 1);
  __syncthreads();
  const int tile = s_tile, i = tile * 256 + tid;
  int v = i < n ? in[i] : 0;
  int inc = warp_inclusive_scan(v);
  if (lane == 31) s_warp[warp] = inc;
  __syncthreads();
  if (warp == 0) {
    int w = lane < 8 ? s_warp[lane] : 0;
    w = warp_inclusive_scan(w);
    if (lane < 8) s_warp[lane] = w;
    const int total = __shfl_sync(0xffffffffu, w, 7);
    int exclusive = 0;
    if (tile == 0) {
      if (lane == 0) store_state(&states[0], PREFIX, total);
    } else {
      if (lane == 0) store_state(&states[tile], AGGREGATE, total);
      int look = tile - 1 - lane;
      for (;;) {
        TileState st;
        st.status = PREFIX;
        st.value = 0;
        if (look >= 0) {
          do { st = load_state(&states[look]); } while (st.status == INVALID);
        }
        const unsigned prefixes = __ballot_sync(0xffffffffu, st.status == PREFIX);
        const int stop = prefixes ? __ffs(prefixes) - 1 : 31;
        int part = lane <= stop ? st.value : 0;
#pragma unroll
        for (int o = 16; o > 0; o >>= 1) part += __shfl_down_sync(0xffffffffu, part, o);
        exclusive += __shfl_sync(0xffffffffu, part, 0);
        if (prefixes) break;
        look -= 32;
      }
      if (lane == 0) store_state(&states[tile], PREFIX, exclusive + total);
    }
    if (lane == 0) s_prefix = exclusive;
  }
  __syncthreads();
  if (i < n) out[i] = s_prefix + (warp > 0 ? s_warp[warp - 1] : 0) + inc;
}
