// SPDX-License-Identifier: Apache-2.0
// Kernels over the device functions of a library: block primitives as classes, Welford's moments, a selection by radix.
#include <assert.h>
// block primitives as a library has them: classes with TempStorage
namespace mini {
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_WARP_SCANS };
#define MINI_MIN(a, b) (((a) < (b)) ? (a) : (b))
template <int A> struct Int2Type { enum { VALUE = A }; };
template <int N, int CURRENT_VAL = N, int COUNT = 0>
struct Log2 { enum { VALUE = Log2<N, (CURRENT_VAL >> 1), COUNT + 1>::VALUE }; };
template <int N, int COUNT>
struct Log2<N, 0, COUNT> { enum { VALUE = (1 << (COUNT - 1) < N) ? COUNT : COUNT - 1 }; };
struct Sum { template <typename T> __host__ __device__ __forceinline__ T operator()(const T &a, const T &b) const { return a + b; } };
struct Max { template <typename T> __host__ __device__ __forceinline__ T operator()(const T &a, const T &b) const { return (a < b) ? b : a; } };
__device__ __forceinline__ unsigned int LaneId() { return threadIdx.x & 31; }

template <typename T, int LOGICAL_WARP_THREADS = 32>
class WarpScan {
public:
  struct TempStorage {};
  int lane_id;
  __device__ __forceinline__ WarpScan(TempStorage & /*temp_storage*/) : lane_id(LaneId()) {}
  template <typename ScanOp>
  __device__ __forceinline__ void InclusiveScan(T input, T &inclusive_output, ScanOp scan_op) {
    inclusive_output = input;
#pragma unroll
    for (int STEP = 0; STEP < Log2<LOGICAL_WARP_THREADS>::VALUE; STEP++) {
      const T temp = __shfl_up_sync(0xffffffffu, inclusive_output, 1 << STEP);
      if (lane_id >= (1 << STEP)) inclusive_output = scan_op(temp, inclusive_output);
    }
  }
  template <typename ScanOp>
  __device__ __forceinline__ void ExclusiveScan(T input, T &exclusive_output, T initial_value, ScanOp scan_op, T &warp_aggregate) {
    T inclusive_output;
    InclusiveScan(input, inclusive_output, scan_op);
    warp_aggregate = __shfl_sync(0xffffffffu, inclusive_output, LOGICAL_WARP_THREADS - 1);
    exclusive_output = __shfl_up_sync(0xffffffffu, inclusive_output, 1);
    if (lane_id == 0) exclusive_output = initial_value;
  }
};

template <typename T, int BLOCK_DIM_X>
class BlockScan {
  enum { WARPS = (BLOCK_DIM_X + 31) / 32 };
  typedef WarpScan<T> WarpScanT;
  struct _TempStorage {
    T warp_aggregates[WARPS];
    typename WarpScanT::TempStorage warp_scan[WARPS];
    T block_prefix;
  };
  _TempStorage &temp_storage;
  unsigned int linear_tid;
  unsigned int warp_id;
  unsigned int lane_id;

public:
  struct TempStorage : _TempStorage {};
  __device__ __forceinline__ BlockScan(TempStorage &temp_storage)
      : temp_storage(temp_storage), linear_tid(threadIdx.x), warp_id(linear_tid / 32), lane_id(LaneId()) {}

  template <typename ScanOp>
  __device__ __forceinline__ void ExclusiveScan(T input, T &output, T initial_value, ScanOp scan_op, T &block_aggregate) {
    T inclusive_output;
    WarpScanT(temp_storage.warp_scan[warp_id]).InclusiveScan(input, inclusive_output, scan_op);
    if (lane_id == 31) temp_storage.warp_aggregates[warp_id] = inclusive_output;
    __syncthreads();
    T warp_prefix = initial_value;
    block_aggregate = initial_value;
#pragma unroll
    for (int WARP = 0; WARP < WARPS; ++WARP) {
      if (warp_id == WARP) warp_prefix = block_aggregate;
      block_aggregate = scan_op(block_aggregate, temp_storage.warp_aggregates[WARP]);
    }
    T up = __shfl_up_sync(0xffffffffu, inclusive_output, 1);
    output = lane_id == 0 ? warp_prefix : scan_op(warp_prefix, up);
  }
  template <int ITEMS_PER_THREAD>
  __device__ __forceinline__ void ExclusiveSum(T (&input)[ITEMS_PER_THREAD], T (&output)[ITEMS_PER_THREAD], T &block_aggregate) {
    T thread_prefix = input[0];
#pragma unroll
    for (int i = 1; i < ITEMS_PER_THREAD; ++i) thread_prefix += input[i];
    T p;
    ExclusiveScan(thread_prefix, p, T(0), Sum(), block_aggregate);
#pragma unroll
    for (int i = 0; i < ITEMS_PER_THREAD; ++i) {
      T t = input[i];
      output[i] = p;
      p += t;
    }
  }
};

template <typename T, int BLOCK_DIM_X>
class BlockReduce {
public:
  struct TempStorage { T warp[(BLOCK_DIM_X + 31) / 32]; };
private:
  TempStorage &temp_storage;
  unsigned int linear_tid;
public:
  __device__ __forceinline__ BlockReduce(TempStorage &temp_storage) : temp_storage(temp_storage), linear_tid(threadIdx.x) {}
  template <typename ReductionOp>
  __device__ __forceinline__ T Reduce(T input, ReductionOp op) {
    for (int o = 16; o > 0; o >>= 1) {
      T other = __shfl_down_sync(0xffffffffu, input, o);
      if (LaneId() + o < 32) input = op(input, other);
    }
    if (LaneId() == 0) temp_storage.warp[linear_tid / 32] = input;
    __syncthreads();
    if (linear_tid == 0) {
      for (int i = 1; i < BLOCK_DIM_X / 32; ++i) input = op(input, temp_storage.warp[i]);
    }
    return input;
  }
  __device__ __forceinline__ T Sum(T input) { return Reduce(input, mini::Sum()); }
};
enum BlockLoadAlgorithm { DIRECT, TRANSPOSE };
template <typename T, int THREADS, int ITEMS, BlockLoadAlgorithm ALGORITHM = DIRECT>
class BlockLoad {
  template <BlockLoadAlgorithm _POLICY, int DUMMY> struct LoadInternal;
  template <int DUMMY>
  struct LoadInternal<DIRECT, DUMMY> {
    typedef int TempStorage;
    __device__ LoadInternal(TempStorage &) {}
    __device__ void Load(const T *in, T (&items)[ITEMS], int valid) {
#pragma unroll
      for (int i = 0; i < ITEMS; ++i) if (int(threadIdx.x) * ITEMS + i < valid) items[i] = in[threadIdx.x * ITEMS + i];
    }
  };
  typedef LoadInternal<ALGORITHM, 0> InternalLoad;
  typedef typename InternalLoad::TempStorage _TempStorage;
  _TempStorage &temp_storage;
public:
  typedef _TempStorage TempStorage;
  __device__ BlockLoad(TempStorage &t) : temp_storage(t) {}
  __device__ void Load(const T *in, T (&items)[ITEMS], int valid, T oob) {
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) items[i] = oob;
    InternalLoad(temp_storage).Load(in, items, valid);
  }
};
}  // namespace mini

template <typename T, int THREADS, int ITEMS>
__global__ void BlockPrefixSumKernel(const T *d_in, T *d_out, T *d_max, int n) {
  typedef mini::BlockLoad<T, THREADS, ITEMS> BlockLoadT;
  typedef mini::BlockScan<T, THREADS> BlockScanT;
  using BlockReduceT = mini::BlockReduce<T, THREADS>;
  // Shared memory
  __shared__ union TempStorage {
    typename BlockLoadT::TempStorage load;
    typename BlockScanT::TempStorage scan;
    typename BlockReduceT::TempStorage reduce;
  } temp_storage;
  T data[ITEMS];
  const int base = blockIdx.x * THREADS * ITEMS;
  BlockLoadT(temp_storage.load).Load(d_in + base, data, n - base, T(0));
  __syncthreads();
  T m = data[0];
#pragma unroll
  for (int i = 1; i < ITEMS; ++i) m = mini::Max()(m, data[i]);
  T most = BlockReduceT(temp_storage.reduce).Reduce(m, mini::Max());
  __syncthreads();
  T aggregate;
  BlockScanT(temp_storage.scan).ExclusiveSum(data, data, aggregate);
#pragma unroll
  for (int i = 0; i < ITEMS; ++i)
    if (base + int(threadIdx.x) * ITEMS + i < n) d_out[base + threadIdx.x * ITEMS + i] = data[i];
  if (threadIdx.x == 0) {
    d_max[blockIdx.x * 2] = most;
    d_max[blockIdx.x * 2 + 1] = aggregate;
  }
}
template __global__ void BlockPrefixSumKernel<int, 128, 4>(const int*, int*, int*, int);
// radix select, from TensorTopK
template <typename scalar_t> struct TopKTypeConfig {};
template <> struct TopKTypeConfig<float> {
  typedef unsigned int RadixType;
  static inline __device__ RadixType convert(float v) {
    RadixType x = __float_as_int(v);
    RadixType mask = (x & 0x80000000) ? 0xffffffff : 0x80000000;
    return (v == v) ? (x ^ mask) : 0xffffffff;
  }
  static inline __device__ float deconvert(RadixType v) {
    RadixType mask = (v & 0x80000000) ? 0x80000000 : 0xffffffff;
    return __int_as_float(v ^ mask);
  }
};
template <typename T> struct Bitfield {};
template <> struct Bitfield<unsigned int> {
  static __device__ __host__ __forceinline__ unsigned int getBitfield(unsigned int val, int pos, int len) { return (val >> pos) & ((1u << len) - 1); }
  static __device__ __host__ __forceinline__ unsigned int setBitfield(unsigned int val, unsigned int toInsert, int pos, int len) {
    unsigned m = ((1u << len) - 1);
    toInsert &= m; toInsert <<= pos; m <<= pos;
    return (val & ~m) | toInsert;
  }
};
constexpr int RADIX_BITS = 2; // digits are base-(2 ^ RADIX_BITS)
constexpr int RADIX_SIZE = 4; // 2 ^ RADIX_BITS
constexpr int RADIX_MASK = (RADIX_SIZE - 1);
__device__ __forceinline__ int getLaneId() { return threadIdx.x % 32; }
template <typename scalar_t, typename bitwise_t, typename index_t, typename CountType, int RadixSize, int RadixBits>
__device__ void countRadixUsingMask(CountType counts[RadixSize], CountType* smem, bitwise_t desired, bitwise_t desiredMask, int radixDigitPos, index_t sliceSize, index_t withinSliceStride, const scalar_t* data) {
#pragma unroll
  for (int i = 0; i < RadixSize; ++i) {
    counts[i] = 0;
  }
  if (threadIdx.x < RadixSize) {
    smem[threadIdx.x] = 0;
  }
  __syncthreads();
  // Scan over all the data. Upon a read, the warp will accumulate counts per each digit in the radix using warp voting.
  unsigned mask = __ballot_sync(0xffffffffu, threadIdx.x < sliceSize);
  for (index_t i = threadIdx.x; i < sliceSize;) {
    bitwise_t val = TopKTypeConfig<scalar_t>::convert(__ldg(&data[i * withinSliceStride]));
    bool hasVal = ((val & desiredMask) == desired);
    bitwise_t digitInRadix = Bitfield<bitwise_t>::getBitfield(val, radixDigitPos, RadixBits);
#pragma unroll
    for (unsigned int j = 0; j < RadixSize; ++j) {
      bool vote = hasVal && (digitInRadix == j);
      counts[j] += __popc(__ballot_sync(mask, vote));
    }
    i += blockDim.x;
    mask = __ballot_sync(mask, i < sliceSize);
  }
  // Now, for each warp, sum values
  if (getLaneId() == 0) {
#pragma unroll
    for (unsigned int i = 0; i < RadixSize; ++i) {
      atomicAdd(&smem[i], counts[i]);
    }
  }
  __syncthreads();
  // For each thread, read in the total counts
#pragma unroll
  for (unsigned int i = 0; i < RadixSize; ++i) {
    counts[i] = smem[i];
  }
  __syncthreads();
}
template <typename scalar_t, typename bitwise_t, typename index_t>
__device__ scalar_t findPattern(scalar_t* smem, const scalar_t* data, index_t sliceSize, index_t withinSliceStride, bitwise_t desired, bitwise_t desiredMask) {
  if (threadIdx.x < 2) {
    smem[threadIdx.x] = static_cast<scalar_t>(0);
  }
  __syncthreads();
  // All threads participate in the loop, in order to sync on the flag
  index_t numIterations = ((sliceSize + blockDim.x - 1) / blockDim.x) * blockDim.x;
  for (index_t i = threadIdx.x; i < numIterations; i += blockDim.x) {
    bool inRange = (i < sliceSize);
    scalar_t v = inRange ? __ldg(&data[i * withinSliceStride]) : static_cast<scalar_t>(0);
    if (inRange && ((TopKTypeConfig<scalar_t>::convert(v) & desiredMask) == desired)) {
      // There should not be conflicts if we are using findPattern, since the result is unique
      smem[0] = static_cast<scalar_t>(1);
      smem[1] = v; // can't use val as the flag, since it could be 0
    }
    __syncthreads();
    scalar_t found = smem[0];
    scalar_t val = smem[1];
    __syncthreads();
    // Check to see if a thread found the value
    if (found != static_cast<scalar_t>(0)) {
      // all threads return this value
      return val;
    }
  }
  // should not get here
  assert(false);
  return static_cast<scalar_t>(0);
}
template <typename scalar_t, typename bitwise_t, typename index_t>
__device__ void radixSelect(const scalar_t* data, index_t k, bool largest, index_t sliceSize, index_t withinSliceStride, int* smem, scalar_t* topK) {
  int counts[RADIX_SIZE];
  bitwise_t desired = 0;
  bitwise_t desiredMask = 0;
  int kToFind = k;
  // We start at the most significant digit in our radix, scanning through to the least significant digit
  for (int digitPos = sizeof(scalar_t) * 8 - RADIX_BITS; digitPos >= 0; digitPos -= RADIX_BITS) {
    countRadixUsingMask<scalar_t, bitwise_t, index_t, int, RADIX_SIZE, RADIX_BITS>(counts, smem, desired, desiredMask, digitPos, sliceSize, withinSliceStride, data);
    auto found_unique = [&](int i, int count) -> bool {
      /* All threads have the same value in counts here, so all threads will return from the function. */
      if (count == 1 && kToFind == 1) {
        /* There is a unique answer. */
        desired = Bitfield<bitwise_t>::setBitfield(desired, i, digitPos, RADIX_BITS);
        desiredMask = Bitfield<bitwise_t>::setBitfield(desiredMask, RADIX_MASK, digitPos, RADIX_BITS);
        return true;
      }
      return false;
    };
    auto found_non_unique = [&](int i, int count) -> bool {
      if (count >= kToFind) {
        desired = Bitfield<bitwise_t>::setBitfield(desired, i, digitPos, RADIX_BITS);
        desiredMask = Bitfield<bitwise_t>::setBitfield(desiredMask, RADIX_MASK, digitPos, RADIX_BITS);
        return true;
      }
      kToFind -= count;
      return false; // continue the loop
    };
    if (largest) {
      // Process in descending order
#pragma unroll
      for (int i = RADIX_SIZE - 1; i >= 0; --i) {
        int count = counts[i];
        if (found_unique(i, count)) {
          *topK = findPattern<scalar_t, bitwise_t, index_t>((scalar_t*)smem, data, sliceSize, withinSliceStride, desired, desiredMask);
          return;
        }
        if (found_non_unique(i, count)) {
          break;
        }
      }
    } else {
      // Process in ascending order
#pragma unroll
      for (int i = 0; i < RADIX_SIZE; ++i) {
        int count = counts[i];
        if (found_unique(i, count)) {
          *topK = findPattern<scalar_t, bitwise_t, index_t>((scalar_t*)smem, data, sliceSize, withinSliceStride, desired, desiredMask);
          return;
        }
        if (found_non_unique(i, count)) {
          break;
        }
      }
    }
  } // end digitPos for
  // There is no unique result, but there is a non-unique result matching `desired` exactly
  *topK = TopKTypeConfig<scalar_t>::deconvert(desired);
}
extern "C" __global__ void gatherKthValue(const float* input, int sliceSize, int k, float* kthValue) {
  __shared__ int smem[32]; // one per each warp, up to warp limit
  const float* inputSliceStart = &input[blockIdx.x * sliceSize];
  float kValue = static_cast<float>(0);
  radixSelect<float, TopKTypeConfig<float>::RadixType, int>(inputSliceStart, k, false, sliceSize, 1, smem, &kValue);
  if (threadIdx.x == 0) kthValue[blockIdx.x] = kValue;
}

// A scan that looks back over the blocks before it.
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
