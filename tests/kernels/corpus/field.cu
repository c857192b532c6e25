// Kernels like those in real programs: attention, convolution, register tiles, solvers, work queues, wavefronts.
#include <cuda_fp16.h>
#include <stdint.h>

#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
#define KERNEL_LOOP(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)
#define FULL ~0ull

// Attention with a running softmax; one block for each query tile, keys and values in tiles of dynamic shared memory.
template <int D, int BC> __global__ void attention(const float* Q, const float* K, const float* V, float* O, int n, float scale) {
  extern __shared__ float smem[];
  float* const k_tile = smem;
  float* const v_tile = smem + BC * D;
  float* const s = v_tile + BC * D;
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  float q[D], acc[D] = {0.0f}, m = -INFINITY, l = 0.0f;
  for (int d = 0; d < D; ++d) q[d] = row < n ? Q[row * D + d] : 0.0f;
  for (int j0 = 0; j0 < n; j0 += BC) {
    __syncthreads();
    for (int i = threadIdx.x; i < BC * D; i += blockDim.x) {
      const bool there = j0 + i / D < n;
      k_tile[i] = there ? K[j0 * D + i] : 0.0f;
      v_tile[i] = there ? V[j0 * D + i] : 0.0f;
    }
    __syncthreads();
    float m_new = m;
#pragma unroll
    for (int j = 0; j < BC; ++j) {
      if (j0 + j >= n) break;
      float dot = 0.0f;
      for (int d = 0; d < D; ++d) dot += q[d] * k_tile[j * D + d];
      s[threadIdx.x * BC + j] = dot * scale;
      m_new = fmaxf(m_new, dot * scale);
    }
    const float shrink = __expf(m - m_new);
    l *= shrink;
    for (int d = 0; d < D; ++d) acc[d] *= shrink;
    for (int j = 0; j < BC && j0 + j < n; ++j) {
      const float p = __expf(s[threadIdx.x * BC + j] - m_new);
      l += p;
      for (int d = 0; d < D; ++d) acc[d] += p * v_tile[j * D + d];
    }
    m = m_new;
  }
  if (row >= n) return;
  for (int d = 0; d < D; ++d) O[row * D + d] = acc[d] / l;
}
template __global__ void attention<16, 8>(const float*, const float*, const float*, float*, int, float);

// A convolution with a halo, the filter in constant memory.
#define RADIUS 2
#define TILE 16
__constant__ float filter5[2 * RADIUS + 1][2 * RADIUS + 1] = {
    {1, 4, 6, 4, 1}, {4, 16, 24, 16, 4}, {6, 24, 36, 24, 6}, {4, 16, 24, 16, 4}, {1, 4, 6, 4, 1}};
extern "C" __global__ void convolve(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
  __shared__ float tile[TILE + 2 * RADIUS][TILE + 2 * RADIUS];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int ox = blockIdx.x * TILE + tx, oy = blockIdx.y * TILE + ty;
  const int ix = ox - RADIUS, iy = oy - RADIUS;
  if (ix >= 0 && ix < width && iy >= 0 && iy < height) tile[ty][tx] = in[iy * width + ix];
  else tile[ty][tx] = 0.0f;
  __syncthreads();
  if (tx < TILE && ty < TILE && ox < width && oy < height) {
    float sum = 0.0f;
    for (int i = 0; i < 2 * RADIUS + 1; i++)
      for (int j = 0; j < 2 * RADIUS + 1; j++) sum += filter5[i][j] * tile[ty + i][tx + j];
    out[oy * width + ox] = sum / 256.0f;
  }
}

// A product of which each thread computes 4 x 4, by vectors.
template <int BM, int BN, int BK, int TM, int TN>
__global__ void __launch_bounds__((BM * BN) / (TM * TN)) gemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  __shared__ float As[BK * BM], Bs[BK * BN];
  const uint row = blockIdx.y, col = blockIdx.x;
  const int thread_col = threadIdx.x % (BN / TN), thread_row = threadIdx.x / (BN / TN);
  A += row * BM * K;
  B += col * BN;
  C += row * BM * N + col * BN;
  const uint inner_row_a = threadIdx.x / (BK / 4), inner_col_a = threadIdx.x % (BK / 4);
  const uint inner_row_b = threadIdx.x / (BN / 4), inner_col_b = threadIdx.x % (BN / 4);
  float results[TM * TN] = {0.0f};
  float reg_m[TM] = {0.0f}, reg_n[TN] = {0.0f};
  for (uint step = 0; step < K; step += BK) {
    float4 tmp = reinterpret_cast<const float4*>(&A[inner_row_a * K + inner_col_a * 4])[0];
    As[(inner_col_a * 4 + 0) * BM + inner_row_a] = tmp.x;
    As[(inner_col_a * 4 + 1) * BM + inner_row_a] = tmp.y;
    As[(inner_col_a * 4 + 2) * BM + inner_row_a] = tmp.z;
    As[(inner_col_a * 4 + 3) * BM + inner_row_a] = tmp.w;
    reinterpret_cast<float4*>(&Bs[inner_row_b * BN + inner_col_b * 4])[0] =
        reinterpret_cast<const float4*>(&B[inner_row_b * N + inner_col_b * 4])[0];
    __syncthreads();
    A += BK;
    B += BK * N;
    for (uint k = 0; k < BK; ++k) {
      for (uint i = 0; i < TM; ++i) reg_m[i] = As[k * BM + thread_row * TM + i];
      for (uint i = 0; i < TN; ++i) reg_n[i] = Bs[k * BN + thread_col * TN + i];
      for (uint m = 0; m < TM; ++m)
        for (uint n = 0; n < TN; ++n) results[m * TN + n] += reg_m[m] * reg_n[n];
    }
    __syncthreads();
  }
  for (uint m = 0; m < TM; m += 1) {
    for (uint n = 0; n < TN; n += 4) {
      float4 tmp = reinterpret_cast<float4*>(&C[(thread_row * TM + m) * N + thread_col * TN + n])[0];
      tmp.x = alpha * results[m * TN + n] + beta * tmp.x;
      tmp.y = alpha * results[m * TN + n + 1] + beta * tmp.y;
      tmp.z = alpha * results[m * TN + n + 2] + beta * tmp.z;
      tmp.w = alpha * results[m * TN + n + 3] + beta * tmp.w;
      reinterpret_cast<float4*>(&C[(thread_row * TM + m) * N + thread_col * TN + n])[0] = tmp;
    }
  }
}
template __global__ void gemm<32, 32, 8, 4, 4>(int, int, int, float, const float*, const float*, float, float*);

// The place of the greatest by one atomic on value and place together; a sum of doubles by compare and swap.
__device__ unsigned int ordered(float f) {
  const unsigned int u = __float_as_uint(f);
  return (u & 0x80000000u) ? ~u : u | 0x80000000u;
}
__device__ double add_by_cas(double* address, double v) {
  unsigned long long* const as_bits = (unsigned long long*)address;
  unsigned long long old = *as_bits, assumed;
  do {
    assumed = old;
    old = atomicCAS(as_bits, assumed, __double_as_longlong(v + __longlong_as_double(assumed)));
  } while (assumed != old);
  return __longlong_as_double(old);
}
extern "C" __global__ void argmax_packed(const float* x, int n, unsigned long long* best, double* sum) {
  unsigned long long mine = 0;
  KERNEL_LOOP(i, n) {
    const unsigned long long packed = ((unsigned long long)ordered(x[i]) << 32) | (unsigned int)~i;
    mine = packed > mine ? packed : mine;
    add_by_cas(sum, x[i]);
  }
  atomicMax(best, mine);
}

// Rows of a sparse matrix by parts of a warp.
template <int VEC> __global__ void spmv_vector(int rows, const int* __restrict__ ptr, const int* __restrict__ col, const float* __restrict__ val, const float* __restrict__ x, float* y) {
  const int lane = threadIdx.x & (VEC - 1);
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / VEC;
  float sum = 0;
  if (row < rows)
    for (int j = __ldg(&ptr[row]) + lane; j < __ldg(&ptr[row + 1]); j += VEC) sum += val[j] * __ldg(x + col[j]);
#pragma unroll
  for (int i = VEC >> 1; i > 0; i >>= 1) sum += __shfl_down_sync(FULL, sum, i, VEC);
  if (lane == 0 && row < rows) y[row] = sum;
}
template __global__ void spmv_vector<8>(int, const int*, const int*, const float*, const float*, float*);

// The distance of two words along a wavefront, in shared memory of bytes that is cut into parts.
extern "C" __global__ void edit_distance(const char* a, int n, const char* b, int m, int* result) {
  extern __shared__ __align__(16) unsigned char raw[];
  int* before = reinterpret_cast<int*>(raw);
  int* last = before + (n + 1);
  int* next = last + (n + 1);
  char* const word = reinterpret_cast<char*>(next + (n + 1));
  const int i = threadIdx.x;
  if (i < n) word[i] = a[i];
  for (int d = 0; d <= n + m; ++d) {
    if (i <= n && i <= d && d - i <= m) {
      const int j = d - i;
      int best;
      if (i == 0 || j == 0) {
        best = d;
      } else {
        best = min(last[i - 1], last[i]) + 1;
        best = min(best, before[i - 1] + (word[i - 1] == b[j - 1] ? 0 : 1));
      }
      next[i] = best;
    }
    __syncthreads();
    int* const t = before;
    before = last;
    last = next;
    next = t;
    __syncthreads();
  }
  if (i == 0) *result = last[n];
}

// A Cholesky factor for each block, column by column.
extern "C" __global__ void cholesky(float* A, int n) {
  extern __shared__ float L[];
  float* const mine = A + blockIdx.x * n * n;
  for (int i = threadIdx.x; i < n * n; i += blockDim.x) L[i] = mine[i];
  __syncthreads();
  for (int k = 0; k < n; k++) {
    if (threadIdx.x == 0) L[k * n + k] = sqrtf(L[k * n + k]);
    __syncthreads();
    for (int i = k + 1 + threadIdx.x; i < n; i += blockDim.x) L[i * n + k] /= L[k * n + k];
    __syncthreads();
    for (int j = k + 1; j < n; j++) {
      for (int i = j + threadIdx.x; i < n; i += blockDim.x) L[i * n + j] -= L[i * n + k] * L[j * n + k];
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < n * n; i += blockDim.x) mine[i] = i % n <= i / n ? L[i] : 0.0f;
}

// Blocks that take work from a queue until there is none.
extern "C" __global__ void work_queue(unsigned* head, const int* lengths, int tasks, int* out) {
  __shared__ unsigned task;
  __shared__ int total;
  while (true) {
    if (threadIdx.x == 0) {
      task = atomicAdd(head, 1u);
      total = 0;
    }
    __syncthreads();
    const unsigned mine = task;
    if (mine >= tasks) return;
    int part = 0;
    for (int i = threadIdx.x; i < lengths[mine]; i += blockDim.x) part += i;
    atomicAdd(&total, part);
    __syncthreads();
    if (threadIdx.x == 0) out[mine] = total;
    __syncthreads();
  }
}

// Shortest paths until nothing changes any more.
extern "C" __global__ void relax(const int* from, const int* to, const int* weight, int edges, int* distance, int nodes) {
  __shared__ int turns;
  if (threadIdx.x == 0) turns = 0;
  int changed;
  do {
    changed = 0;
    __syncthreads();
    for (int e = threadIdx.x; e < edges; e += blockDim.x) {
      const int reached = distance[from[e]];
      if (reached == 0x7fffffff) continue;
      if (atomicMin(&distance[to[e]], reached + weight[e]) > reached + weight[e]) changed = 1;
    }
    if (threadIdx.x == 0) ++turns;
  } while (__syncthreads_or(changed));
  if (threadIdx.x == 0) distance[nodes] = turns > 0;
}

// All shortest paths, a block of rows after the other.
#define FW 8
__device__ void fw_tile(int (*c)[FW], int (*a)[FW], int (*b)[FW]) {
  const int i = threadIdx.y, j = threadIdx.x;
  for (int k = 0; k < FW; ++k) {
    const int through = a[i][k] + b[k][j];
    if (c[i][j] > through) c[i][j] = through;
    __syncthreads();
  }
}
extern "C" __global__ void floyd_warshall(int* w, int n) {
  __shared__ int a[FW][FW], b[FW][FW], c[FW][FW];
  const int i = threadIdx.y, j = threadIdx.x, tiles = n / FW;
  for (int p = 0; p < tiles; ++p) {
    for (int phase = 1; phase <= 3; ++phase) {
      for (int y = 0; y < tiles; ++y) {
        for (int x = 0; x < tiles; ++x) {
          const int in_cross = (y == p) + (x == p);
          if (in_cross != 3 - phase) continue;
          a[i][j] = w[(y * FW + i) * n + p * FW + j];
          b[i][j] = w[(p * FW + i) * n + x * FW + j];
          c[i][j] = w[(y * FW + i) * n + x * FW + j];
          __syncthreads();
          fw_tile(c, y == p && x == p ? c : x == p ? c : a, y == p ? c : b);
          w[(y * FW + i) * n + x * FW + j] = c[i][j];
          __syncthreads();
        }
      }
    }
  }
}

// The smallest of each thread's list, kept sorted in registers, then merged by a tournament.
template <int K> __global__ void smallest_k(const int* in, int n, int* out) {
  __shared__ int heads[128], owners[128];
  int best[K];
#pragma unroll
  for (int i = 0; i < K; ++i) best[i] = 0x7fffffff;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    int v = in[i];
    if (v >= best[K - 1]) continue;
#pragma unroll
    for (int j = 0; j < K; ++j) {
      if (v < best[j]) { const int t = best[j]; best[j] = v; v = t; }
    }
  }
  int taken = 0;
  for (int round = 0; round < K; ++round) {
    heads[threadIdx.x] = taken < K ? best[taken] : 0x7fffffff;
    owners[threadIdx.x] = threadIdx.x;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
      if (threadIdx.x < s) {
        const int o = threadIdx.x + s;
        if (heads[o] < heads[threadIdx.x] || (heads[o] == heads[threadIdx.x] && owners[o] < owners[threadIdx.x])) {
          heads[threadIdx.x] = heads[o];
          owners[threadIdx.x] = owners[o];
        }
      }
      __syncthreads();
    }
    if (owners[0] == threadIdx.x) ++taken;
    if (threadIdx.x == 0) out[round] = heads[0];
    __syncthreads();
  }
}
template __global__ void smallest_k<4>(const int*, int, int*);

// Half precision by pairs, with a tail.
__device__ __forceinline__ float silu(float x) { return x / (1.0f + __expf(-x)); }
extern "C" __global__ void swiglu_half(const __half* gate, const __half* up, __half* out, int n) {
  const int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 1 < n) {
    const float2 g = __half22float2(*reinterpret_cast<const __half2*>(gate + i));
    const __half2 s = __floats2half2_rn(silu(g.x), silu(g.y));
    *reinterpret_cast<__half2*>(out + i) = __hmul2(s, *reinterpret_cast<const __half2*>(up + i));
  } else if (i < n) {
    out[i] = __hmul(__float2half(silu(__half2float(gate[i]))), up[i]);
  }
}

// Labels of a picture's parts: the least of the neighbours', by atomics, until a launch changes nothing.
__device__ int root(const int* labels, int at) {
  int next = labels[at];
  while (next != at) {
    at = next;
    next = labels[at];
  }
  return at;
}
__device__ void unite(int* labels, int a, int b) {
  bool done;
  do {
    a = root(labels, a);
    b = root(labels, b);
    if (a < b) {
      const int old = atomicMin(&labels[b], a);
      done = (old == b);
      b = old;
    } else if (b < a) {
      const int old = atomicMin(&labels[a], b);
      done = (old == a);
      a = old;
    } else {
      done = true;
    }
  } while (!done);
}
extern "C" __global__ void label_init(int* labels, int n) { KERNEL_LOOP(i, n) labels[i] = i; }
extern "C" __global__ void label_unite(const unsigned char* image, int* labels, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const int at = y * width + x;
  if (x > 0 && image[at] == image[at - 1]) unite(labels, at, at - 1);
  if (y > 0 && image[at] == image[at - width]) unite(labels, at, at - width);
}
extern "C" __global__ void label_flatten(int* labels, int n) { KERNEL_LOOP(i, n) labels[i] = root(labels, i); }

// Sums over segments that are found by a search for each block.
__device__ int upper_bound(const int* ends, int n, int x) {
  int low = 0, high = n;
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (ends[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}
extern "C" __global__ void segment_sums(const float* values, const int* ends, int segments, int n, float* sums) {
  __shared__ float parts[256];
  __shared__ int first_segment;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) first_segment = upper_bound(ends, segments, blockIdx.x * blockDim.x);
  parts[threadIdx.x] = i < n ? values[i] : 0.0f;
  __syncthreads();
  const int last = min((int)(blockIdx.x + 1) * (int)blockDim.x, n);
  for (int s = first_segment + threadIdx.x; s < segments; s += blockDim.x) {
    const int begin = max(s == 0 ? 0 : ends[s - 1], (int)(blockIdx.x * blockDim.x)), end = min(ends[s], last);
    if (begin >= last) break;
    float sum = 0.0f;
    for (int k = begin; k < end; ++k) sum += parts[k - blockIdx.x * blockDim.x];
    atomicAdd(&sums[s], sum);
  }
}
