#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#define FULL 0xffffffffu
#define THREADS 96
namespace cg = cooperative_groups;

// Functions with reference parameters: variables, members, elements, and shared data of the block.
struct Moments {
  float sum, squares;
};
struct Workspace {
  float parts[THREADS / 32];
  float total;
  int rounds;
};
__device__ void warp_sum(float& v) {
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(FULL, v, o);
}
__device__ void block_sum(float& v, Workspace& w) {
  warp_sum(v);
  if (threadIdx.x % 32 == 0) w.parts[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    w.total = 0;
    for (float part : w.parts) w.total += part;
    ++w.rounds;
  }
  __syncthreads();
  v = w.total;
}
__device__ void begin(Workspace& w) {
  if (threadIdx.x == 0) w.rounds = 0;
  __syncthreads();
}
template <class F>
__device__ void for_rounds(int n, F&& f) {
  for (int i = 0; i < n; ++i) {
    f(i);
    __syncthreads();
  }
}
__device__ void add_to(float& sum, const float& value) {
  sum += __shfl_xor_sync(FULL, value, 1);
  sum += value;
}
extern "C" __global__ void references(const float* in, float* out, int n) {
  __shared__ Workspace w;
  __shared__ float line[THREADS];
  const int t = threadIdx.x, i = blockIdx.x * THREADS + t;
  const float x = i < n ? in[i] : 0.0f;
  begin(w);
  Moments m = {x, x * x};
  float powers[2] = {x * x * x, 1.0f};
  float alone = x, same = 1.0f;
  block_sum(m.sum, w);
  block_sum(m.squares, w);
#pragma unroll
  for (int k = 0; k < 2; ++k) block_sum(powers[k], w);
  block_sum(alone, w);
  block_sum(same, w);
  float thrice = 1.0f;
  const float one = 1.0f;
  add_to(thrice, one);
  add_to(powers[1], same);
  line[t] = x;
  __syncthreads();
  float shifted = 0.0f;
  for_rounds(3, [&](int k) { shifted += line[(t + k) % THREADS]; });
  if (i >= n) return;
  float* const to = out + i * 10;
  to[0] = m.sum;
  to[1] = m.squares;
  to[2] = powers[0];
  to[3] = powers[1];
  to[4] = alone;
  to[5] = same;
  to[6] = thrice;
  to[7] = shifted;
  to[8] = (float)w.rounds;
}

// Overloads by value and by reference, names out of namespaces, lambdas by name, and loops of other forms.
template <typename K, typename V>
struct Pair {
  K k;
  V v;
};
template <typename T>
__device__ inline T exchange(const T value, int mask, int width = 32) {
  return __shfl_xor_sync(FULL, value, mask, width);
}
template <typename K, typename V>
__device__ inline Pair<K, V> exchange(const Pair<K, V>& p, int mask, int width = 32) {
  return {__shfl_xor_sync(FULL, p.k, mask, width), __shfl_xor_sync(FULL, p.v, mask, width)};
}
__device__ inline bool before(int a, int b) { return a < b; }
template <typename K, typename V>
__device__ inline bool before(const Pair<K, V>& a, const Pair<K, V>& b) {
  return a.k < b.k || (a.k == b.k && a.v < b.v);
}
template <class T>
__device__ T warp_sorted(T value) {
  const int lane = threadIdx.x % 32;
  for (int size = 2; size <= 32; size *= 2)
    for (int mask = size / 2; mask > 0; mask /= 2) {
      const T other = exchange(value, mask);
      const bool up = (lane & size) == 0 || size == 32, low = (lane & mask) == 0;
      if ((low == up) == before(other, value)) value = other;
    }
  return value;
}
namespace everyday {
namespace scans {
__device__ int scanned(int v, int* s) {
  const int t = threadIdx.x;
  s[t] = v;
  __syncthreads();
  for (int d = 1; d < THREADS; d *= 2) {
    const int left = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += left;
    __syncthreads();
  }
  return s[t];
}
}  // namespace scans
using scans::scanned;
}  // namespace everyday
extern "C" __global__ void everyday_mix(const int* in, int* out) {
  using everyday::scanned;
  __shared__ int s[THREADS];
  const int t = threadIdx.x;
  const int v = in[t];
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const auto most = [](int a, int b) { return a > b ? a : b; };
  out[t] = warp_sorted(v);
  const Pair<int, int> sorted = warp_sorted(Pair<int, int>{v % 4, v});
  out[THREADS + t] = sorted.k * 1000 + sorted.v;
  out[2 * THREADS + t] = scanned(v, s);
  out[3 * THREADS + t] = cg::reduce(tile, v, most);
  int order = 0, rank = -1;
  bool waits = v % 3 != 0;
  while (const unsigned queue = __ballot_sync(FULL, waits)) {
    const int first = __ffs(queue) - 1;
    if (t % 32 == first) {
      waits = false;
      rank = order;
    }
    if (__shfl_sync(FULL, v, first) % 2 == 0) continue;
    ++order;
  }
  out[4 * THREADS + t] = rank;
  const int steps[3] = {1, 5, 30};
  int walk = v;
  __syncthreads();
  for (const int step : steps) {
    s[t] = walk;
    __syncthreads();
    walk += s[(t + step) % THREADS];
    __syncthreads();
  }
  int pair[2] = {v, walk};
  for (int& each : pair) each = __shfl_down_sync(FULL, each, 1);
  out[5 * THREADS + t] = pair[0] + 3 * pair[1];
}

// A template's specialization as an overload, structured bindings, and dynamic shared memory in rows.
template <typename T>
inline __device__ T shuffled(const T& x, unsigned mask) {
  return __shfl_xor_sync(FULL, x, mask);
}
template <>
inline __device__ float2 shuffled<float2>(const float2& x, unsigned mask) {
  return {shuffled(x.x, mask), shuffled(x.y, mask)};
}
template <typename T>
struct Plus {
  __device__ T operator()(T a, T b) const { return a + b; }
};
template <>
struct Plus<float2> {
  __device__ float2 operator()(float2 a, float2 b) const { return make_float2(a.x + b.x, a.y + b.y); }
};
template <typename T, typename Op>
inline __device__ T all_sum(T data, Op op) {
  for (int mask = 16; mask > 0; mask /= 2) data = op(data, shuffled(data, mask));
  return data;
}
struct Split {
  int whole;
  float rest;
};
__device__ Split split_neighbour(float x) {
  const float other = __shfl_xor_sync(FULL, x, 1);
  Split s;
  s.whole = (int)other;
  s.rest = other - (float)s.whole;
  return s;
}
extern "C" __global__ void everyday_parts(const float* in, float* out) {
  extern __shared__ float rows[][33];
  const int t = threadIdx.x, w = t / 32, lane = t % 32;
  const float x = in[t];
  const float2 both = all_sum(make_float2(x, 1.0f), Plus<float2>());
  auto [whole, rest] = split_neighbour(x * 10.0f);
  rows[w][lane] = all_sum(x, Plus<float>());
  __syncthreads();
  rest += (float)whole;
  Split own{t, x};
  auto& [number, value] = own;
  number += __shfl_xor_sync(FULL, number, 2);
  value = rows[(w + 1) % 3][31 - lane];
  out[t] = both.x + both.y;
  out[THREADS + t] = rest;
  out[2 * THREADS + t] = (float)own.whole;
  out[3 * THREADS + t] = own.rest;
}
