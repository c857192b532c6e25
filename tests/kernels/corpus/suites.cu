// SPDX-License-Identifier: Apache-2.0
// Kernels in the style of Rodinia and SHOC: long bodies, loops until all threads agree, vectors of four, structures in memory.
// Also hand-written synchronization of blocks: locks, compare and swap, a queue.
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <assert.h>
#include <stdio.h>
typedef unsigned int uint;
// ================= Rodinia: lud
#define BLOCK_SIZE 16
extern "C" __global__ void lud_perimeter(float* m, int matrix_dim, int offset) {
  __shared__ float dia[BLOCK_SIZE][BLOCK_SIZE];
  __shared__ float peri_row[BLOCK_SIZE][BLOCK_SIZE];
  __shared__ float peri_col[BLOCK_SIZE][BLOCK_SIZE];

  int i, j, array_offset;
  int idx;

  if (threadIdx.x < BLOCK_SIZE) {
    idx = threadIdx.x;

    array_offset = offset * matrix_dim + offset;
    for (i = 0; i < BLOCK_SIZE / 2; i++) {
      dia[i][idx] = m[array_offset + idx];
      array_offset += matrix_dim;
    }

    array_offset = offset * matrix_dim + offset;
    for (i = 0; i < BLOCK_SIZE; i++) {
      peri_row[i][idx] = m[array_offset + (blockIdx.x + 1) * BLOCK_SIZE + idx];
      array_offset += matrix_dim;
    }

  } else {
    idx = threadIdx.x - BLOCK_SIZE;

    array_offset = (offset + BLOCK_SIZE / 2) * matrix_dim + offset;
    for (i = BLOCK_SIZE / 2; i < BLOCK_SIZE; i++) {
      dia[i][idx] = m[array_offset + idx];
      array_offset += matrix_dim;
    }

    array_offset = (offset + (blockIdx.x + 1) * BLOCK_SIZE) * matrix_dim + offset;
    for (i = 0; i < BLOCK_SIZE; i++) {
      peri_col[i][idx] = m[array_offset + idx];
      array_offset += matrix_dim;
    }
  }
  __syncthreads();

  if (threadIdx.x < BLOCK_SIZE) {  // peri-row
    idx = threadIdx.x;
    for (i = 1; i < BLOCK_SIZE; i++) {
      for (j = 0; j < i; j++) peri_row[i][idx] -= dia[i][j] * peri_row[j][idx];
    }
  } else {  // peri-col
    idx = threadIdx.x - BLOCK_SIZE;
    for (i = 0; i < BLOCK_SIZE; i++) {
      for (j = 0; j < i; j++) peri_col[idx][i] -= peri_col[idx][j] * dia[j][i];
      peri_col[idx][i] /= dia[i][i];
    }
  }

  __syncthreads();

  if (threadIdx.x < BLOCK_SIZE) {  // peri-row
    idx = threadIdx.x;
    array_offset = (offset + 1) * matrix_dim + offset;
    for (i = 1; i < BLOCK_SIZE; i++) {
      m[array_offset + (blockIdx.x + 1) * BLOCK_SIZE + idx] = peri_row[i][idx];
      array_offset += matrix_dim;
    }
  } else {  // peri-col
    idx = threadIdx.x - BLOCK_SIZE;
    array_offset = (offset + (blockIdx.x + 1) * BLOCK_SIZE) * matrix_dim + offset;
    for (i = 0; i < BLOCK_SIZE; i++) {
      m[array_offset + idx] = peri_col[i][idx];
      array_offset += matrix_dim;
    }
  }
}

extern "C" __global__ void lud_internal(float* m, int matrix_dim, int offset) {
  __shared__ float peri_row[BLOCK_SIZE][BLOCK_SIZE];
  __shared__ float peri_col[BLOCK_SIZE][BLOCK_SIZE];
  int i;
  float sum;
  int global_row_id = offset + (blockIdx.y + 1) * BLOCK_SIZE;
  int global_col_id = offset + (blockIdx.x + 1) * BLOCK_SIZE;
  peri_row[threadIdx.y][threadIdx.x] = m[(offset + threadIdx.y) * matrix_dim + global_col_id + threadIdx.x];
  peri_col[threadIdx.y][threadIdx.x] = m[(global_row_id + threadIdx.y) * matrix_dim + offset + threadIdx.x];
  __syncthreads();
  sum = 0;
  for (i = 0; i < BLOCK_SIZE; i++) sum += peri_col[threadIdx.y][i] * peri_row[i][threadIdx.x];
  m[(global_row_id + threadIdx.y) * matrix_dim + global_col_id + threadIdx.x] -= sum;
}

// ================= Rodinia: b+tree findK
typedef struct knode {
  int location;
  int indices[33];
  int keys[33];
  bool is_leaf;
  int num_keys;
} knode;
typedef struct record { int value; } record;
extern "C" __global__ void findK(long height, knode* knodesD, long knodes_elem, record* recordsD, long* currKnodeD, long* offsetD, int* keysD, record* ansD) {
  // private thread IDs
  int thid = threadIdx.x;
  int bid = blockIdx.x;
  // processtree levels
  int i;
  for (i = 0; i < height; i++) {
    // if value is between the two keys
    if ((knodesD[currKnodeD[bid]].keys[thid]) <= keysD[bid] && (knodesD[currKnodeD[bid]].keys[thid + 1] > keysD[bid])) {
      // this conditional statement is inserted to avoid crush due to but in original code
      // "offset[bid]" calculated below that addresses knodes[] in the next iteration goes outside of its bounds cause segmentation fault
      if (knodesD[offsetD[bid]].indices[thid] < knodes_elem) {
        offsetD[bid] = knodesD[offsetD[bid]].indices[thid];
      }
    }
    __syncthreads();
    // set for next tree level
    if (thid == 0) {
      currKnodeD[bid] = offsetD[bid];
    }
    __syncthreads();
  }
  // At this point, we have a candidate leaf node which may contain the target record.  Check each key to hopefully find the record
  if (knodesD[currKnodeD[bid]].keys[thid] == keysD[bid]) {
    ansD[bid].value = recordsD[knodesD[currKnodeD[bid]].indices[thid]].value;
  }
}

// SHOC reduction: templates, SharedMem class, while with stride, warp-synchronous tail
template <class T>
class SharedMem {
 public:
  __device__ inline T* getPointer() {
    extern __shared__ T s[];
    return s;
  };
};
template <>
class SharedMem<double> {
 public:
  __device__ inline double* getPointer() {
    extern __shared__ double s_double[];
    return s_double;
  }
};
template <class T, int blockSize>
__global__ void shoc_reduce(const T* __restrict__ g_idata, T* __restrict__ g_odata, const unsigned int n) {
  const unsigned int tid = threadIdx.x;
  unsigned int i = (blockIdx.x * (blockDim.x * 2)) + tid;
  const unsigned int gridSize = blockDim.x * 2 * gridDim.x;
  SharedMem<T> shared;
  volatile T* sdata = shared.getPointer();
  sdata[tid] = 0.0f;
  // Reduce multiple elements per thread, strided by grid size
  while (i < n) {
    sdata[tid] += g_idata[i] + g_idata[i + blockSize];
    i += gridSize;
  }
  __syncthreads();
  // Do a tree reduction on the values in shared memory
  if (blockSize >= 512) {
    if (tid < 256) { sdata[tid] += sdata[tid + 256]; }
    __syncthreads();
  }
  if (blockSize >= 256) {
    if (tid < 128) { sdata[tid] += sdata[tid + 128]; }
    __syncthreads();
  }
  if (blockSize >= 128) {
    if (tid < 64) { sdata[tid] += sdata[tid + 64]; }
    __syncthreads();
  }
  // Only one warp left
  if (tid < warpSize) {
    if (blockSize >= 64) { sdata[tid] += sdata[tid + 32]; }
    if (blockSize >= 32) { sdata[tid] += sdata[tid + 16]; }
    if (blockSize >= 16) { sdata[tid] += sdata[tid + 8]; }
    if (blockSize >= 8) { sdata[tid] += sdata[tid + 4]; }
    if (blockSize >= 4) { sdata[tid] += sdata[tid + 2]; }
    if (blockSize >= 2) { sdata[tid] += sdata[tid + 1]; }
  }
  // Write result back to global memory
  if (tid == 0) {
    g_odata[blockIdx.x] = sdata[0];
  }
}
template __global__ void shoc_reduce<float, 256>(const float*, float*, unsigned int);
template __global__ void shoc_reduce<double, 128>(const double*, double*, unsigned int);


// ================= atomics on float by compare and swap; a histogram with clipping; a lock
__device__ __forceinline__ float atomicMaxFloat(float* addr, float value) {
  float old;
  old = (value >= 0) ? __int_as_float(atomicMax((int*)addr, __float_as_int(value))) : __uint_as_float(atomicMin((unsigned int*)addr, __float_as_uint(value)));
  return old;
}
__device__ double atomicMulDouble(double* address, double val) {
  unsigned long long int* address_as_ull = (unsigned long long int*)address;
  unsigned long long int old = *address_as_ull, assumed;
  do {
    assumed = old;
    old = atomicCAS(address_as_ull, assumed, __double_as_longlong(val * __longlong_as_double(assumed)));
    // Note: uses integer comparison to avoid hang in case of NaN (since NaN != NaN)
  } while (assumed != old);
  return __longlong_as_double(old);
}
__device__ int d_lock = 0;
__device__ float d_locked_sum[2];
extern "C" __global__ void atomics_by_hand(const float* x, int n, float* greatest, double* product) {
  __shared__ float block_max;
  if (threadIdx.x == 0) block_max = -INFINITY;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicMaxFloat(&block_max, x[i]);
    atomicMulDouble(product, 1.0 + x[i] * 1e-3);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicMaxFloat(greatest, block_max);
    while (atomicCAS(&d_lock, 0, 1) != 0) {
    }
    __threadfence();
    volatile float* p = d_locked_sum;
    p[0] += 1.0f;
    p[1] += block_max;
    __threadfence();
    atomicExch(&d_lock, 0);
  }
}

// ================= a worker queue in shared memory with do/while, break around barriers, switch, goto-free early return, clock64, printf
enum Shape { CIRCLE, SQUARE, TRIANGLE };
struct Item { Shape kind; union { float radius; struct { float a, b; } sides; } u; };
__device__ __forceinline__ float area(const Item& it) {
  switch (it.kind) {
    case CIRCLE: return 3.14159265f * it.u.radius * it.u.radius;
    case SQUARE: return it.u.sides.a * it.u.sides.b;
    default: return 0.5f * it.u.sides.a * it.u.sides.b;
  }
}
extern "C" __global__ void drain(const Item* items, int n, float* total, long long* ticks) {
  const long long start = clock64();
  __shared__ int next;
  __shared__ float partial[128];
  if (threadIdx.x == 0) next = 0;
  partial[threadIdx.x] = 0.f;
  __syncthreads();
  int base;
  do {
    base = next;
    __syncthreads();
    if (base >= n) break;
    const int i = base + threadIdx.x;
    if (i < n) partial[threadIdx.x] += area(items[i]);
    if (threadIdx.x == 0) next = base + blockDim.x;
    __syncthreads();
  } while (true);
  for (int s = blockDim.x >> 1; s; s >>= 1) {
    if (threadIdx.x < s) partial[threadIdx.x] += partial[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  *total = partial[0];
  *ticks = clock64() - start;
  if (partial[0] < 0) printf("negative area %f in block %d\n", partial[0], static_cast<int>(blockIdx.x));
  assert(partial[0] >= 0);
}

// ================= classes inside of kernels
struct S0 { int a; };
struct Counter { float sum; int turns; __device__ void add(float x) { sum += x; ++turns; } };
union U0 { int i; float f; };
extern "C" __global__ void local_classes(const float* in, float* out) {
  __shared__ union { int a[64]; float b[64]; } s;
  __shared__ struct alignas(16) Pair { float x, y; } pairs[64];
  union { float f; unsigned u; } bits;
  struct { float lo, hi; } mine[2] = {{1, 2}, {3, 4}};
  union U0 u; struct S0 st;
  struct Counter counter = {5, 0}, braced{0, 1};
  struct Acc { float v; __device__ void add(float x) { v += x; } } acc = {0};
  enum { A = 3, B = 5 };
  enum Mode { one, two } mode = two;
  u.f = in[threadIdx.x]; st.a = threadIdx.x;
  bits.f = in[threadIdx.x];
  s.a[threadIdx.x] = (int)bits.u;
  pairs[threadIdx.x].x = in[threadIdx.x]; pairs[threadIdx.x].y = -1;
  mine[1].lo = threadIdx.x;
  acc.add(2);
  counter.add(1); braced.add(0);
  __syncthreads();
  acc.add(s.b[63 - threadIdx.x]);
  counter.add(1);
  out[threadIdx.x] = acc.v + pairs[(threadIdx.x + 1) % 64].x + mine[1].lo + mine[0].hi + u.f + st.a + A + (mode == two ? B : 0) +
                     counter.sum + counter.turns + braced.turns - 1;
}
