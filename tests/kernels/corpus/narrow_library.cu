// SPDX-License-Identifier: Apache-2.0
// Kernels over the device functions of a library: a selection by radix, and a scan that looks back.
#include <assert.h>
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
