// Functions in which threads synchronize, in typical forms: overloaded, with lambdas, with arrays and references as
// parameters, with a switch whose cases fall through.
#include <math_constants.h>
#define T 8
#define BLOCK 64
constexpr int twice(int n) { return 2 * n; }

// Overloads, one of which calls the other; a result told by auto.
struct Moments { float sum, squares; };
__device__ float blockSum(float v, float* s) {
  s[threadIdx.x] = v;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d >>= 1) {
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  const float sum = s[0];
  __syncthreads();
  return sum;
}
__device__ Moments blockSum(Moments v, float* s) {
  v.sum = blockSum(v.sum, s);
  v.squares = blockSum(v.squares, s);
  return v;
}
__device__ int blockSum(int v, float* s) { return (int)blockSum((float)v, s); }
template <class V> __device__ auto mean(V v, float* s) {
  V result = blockSum(v, s) / (V)blockDim.x;
  return result;
}
extern "C" __global__ void k_overloads(const float* in, float* out) {
  __shared__ float s[BLOCK];
  const float v = in[blockIdx.x * BLOCK + threadIdx.x];
  const Moments m = blockSum(Moments{v, v * v}, s);
  const int positive = blockSum(v > 0.f ? 1 : 0, s);
  const float middle = mean(v, s);
  if (threadIdx.x == 0) {
    out[4 * blockIdx.x] = m.sum;
    out[4 * blockIdx.x + 1] = m.squares;
    out[4 * blockIdx.x + 2] = (float)positive;
    out[4 * blockIdx.x + 3] = middle;
  }
}

// Lambdas that a function in which threads meet is given, and one that is used behind a barrier.
template <class F> __device__ void everyElement(int n, F f) { for (int i = threadIdx.x; i < n; i += blockDim.x) f(i); }
template <class V, class Op> __device__ V blockReduce(V v, V* s, Op op) {
  s[threadIdx.x] = v;
  __syncthreads();
  for (int d = blockDim.x >> 1; d > 0; d >>= 1) {
    if (threadIdx.x < d) s[threadIdx.x] = op(s[threadIdx.x], s[threadIdx.x + d]);
    __syncthreads();
  }
  V r = s[0];
  __syncthreads();
  return r;
}
extern "C" __global__ void k_lambdas(const float* in, float* out, int n) {
  __shared__ float s[BLOCK], copy[512];
  const int tid = threadIdx.x;
  const float* const row = in + blockIdx.x * n;
  const auto index = [=]() { return threadIdx.x + blockDim.x * blockIdx.x; };
  everyElement(n, [&](int i) { copy[i] = row[i] * 2.0f; });
  __syncthreads();
  float v = -CUDART_INF_F;
  everyElement(n, [&](int i) { v = fmaxf(v, copy[n - 1 - i]); });
  const float most = blockReduce(v, s, [](float a, float b) { return a > b ? a : b; });
  const float shift = tid < 0 ? 1.0f : 0.0f;
  float sum = 0;
  everyElement(n, [=, &sum](int i) { sum += expf(copy[i] - most); });
  const float total = blockReduce(sum, s, [&](float a, float b) { return a + b + shift * tid; });
  out[index()] = most + logf(total);
}

// Shared arrays of arrays as parameters; a struct in shared memory by its address and by reference.
struct Tile { float v[T][T + 1]; };
__device__ void load(float tile[][T + 1], const float* from, int width) {
  tile[threadIdx.y][threadIdx.x] = from[threadIdx.y * width + threadIdx.x];
  __syncthreads();
}
__device__ void turn(float (*tile)[T + 1], const float* from, int width) {
  tile[threadIdx.x][threadIdx.y] = from[threadIdx.y * width + threadIdx.x];
  __syncthreads();
}
__device__ float trace(const Tile& tile) {
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < T; ++i) sum += tile.v[i][i];
  __syncthreads();
  return sum;
}
__device__ void store(Tile* tile, float x) { tile->v[threadIdx.y][threadIdx.x] = x; }
extern "C" __global__ void k_tiles(const float* in, float* out, int width) {
  __shared__ float a[T][T + 1], b[T][T + 1];
  __shared__ Tile c;
  const float* const from = in + blockIdx.y * T * width + blockIdx.x * T;
  load(a, from, width);
  turn(b, from, width);
  store(&c, a[threadIdx.y][threadIdx.x] + b[threadIdx.y][threadIdx.x]);
  out[(blockIdx.y * T + threadIdx.y) * width + blockIdx.x * T + threadIdx.x] = trace(c) + twice(threadIdx.x);
}

// A reference to something constant shows what other threads write there.
__device__ int late(const int& x, const int& own) {
  __syncthreads();
  const int r = x + own;
  __syncthreads();
  return r;
}
extern "C" __global__ void k_late(const int* in, int* out) {
  __shared__ int one, s[BLOCK];
  const int t = threadIdx.x;
  one = 0;
  s[t] = -1;
  __syncthreads();
  s[t] = in[t];
  if (t == BLOCK - 1) one = 7;
  out[t] = late(s[(t + 13) % BLOCK], t) + 1000 * late(one, 1);
}

// Cases that fall through, as a reduction of a size that is known when it is compiled has them.
template <int N> __device__ void fold(int* s, int& sum, int t) {
  switch (N) {
    case 256: if (t < 128) s[t] = sum = sum + s[t + 128]; __syncthreads();
    case 128: if (t < 64) s[t] = sum = sum + s[t + 64]; __syncthreads();
    case 64: if (t < 32) s[t] = sum = sum + s[t + 32]; __syncthreads(); break;
    default: sum = -1;
  }
}
template <int N> __global__ void fold_blocks(const int* in, int* out) {
  __shared__ int s[N];
  const int t = threadIdx.x;
  int sum = in[blockIdx.x * N + t];
  s[t] = sum;
  __syncthreads();
  fold<N>(s, sum, t);
  if (t < 32) out[blockIdx.x * 32 + t] = sum;
}
template __global__ void fold_blocks<256>(const int*, int*);
template __global__ void fold_blocks<64>(const int*, int*);

// What lives across barriers: an array with computed indices, a volatile variable, a struct with a pointer to itself.
struct State { int key[3]; State* self; };
extern "C" __global__ void k_locals(const int* in, int* out) {
  __shared__ int s[BLOCK];
  const int t = threadIdx.x;
  int counts[4] = {0, 1, 2};
  State state{};
  state.key[t % 3] = t;
  state.self = &state;
  int* const p = &counts[t & 3];
  int& next = counts[(t + 1) & 3];
  volatile int kept = t;
  s[t] = in[t];
  __syncthreads();
  *p += s[BLOCK - 1 - t];
  next *= 2;
  __syncthreads();
  s[t] = counts[s[t] & 3] + kept;
  __syncthreads();
  int sum = 0;
  for (const int count : counts) sum += count;
  out[t] = s[(t + 7) % BLOCK] + sum + state.self->key[t % 3] + (int)(10 * erfinvf(erff(0.5f)) + rhypotf(3.0f, 4.0f) * 5);
}
