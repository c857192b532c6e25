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

// ================= Rodinia: leukocyte's IMGVF: a loop until all have converged, float flag in shared memory
#define LOCAL_THREADS 64
extern "C" __global__ void IMGVF_like(float* IMGVF_global, const float* I_global, int m, int n, float e, int max_iterations, float cutoff, int* iterations_done) {
  // Shared copy of the matrix being computed
  __shared__ float IMGVF[24 * 24];
  __shared__ float buffer[LOCAL_THREADS];
  __shared__ int cell_converged;
  int thread_id = threadIdx.x;
  int max = (m * n + LOCAL_THREADS - 1) / LOCAL_THREADS;
  int thread_block, i, j;
  for (thread_block = 0; thread_block < max; thread_block++) {
    int offset = thread_block * LOCAL_THREADS;
    i = (thread_id + offset) / n;
    j = (thread_id + offset) % n;
    if (i < m) IMGVF[(i * n) + j] = IMGVF_global[(i * n) + j];
  }
  __syncthreads();
  if (thread_id == 0) cell_converged = 0;
  __syncthreads();
  const float one_nth = 1.0f / (float)n;
  const int tid_mod = thread_id % n;
  int iterations = 0;
  while ((!cell_converged) && (iterations < max_iterations)) {
    // The total change to this thread's matrix elements in the current iteration
    float total_diff = 0.0f;
    int old_i = 0, old_j = 0;
    j = tid_mod - (LOCAL_THREADS % n);
    // Iterate over matrix elements
    float new_val = 0, old_val = 0;
    for (thread_block = 0; thread_block < max; thread_block++) {
      old_i = i;
      old_j = j;
      int offset = thread_block * LOCAL_THREADS;
      i = (thread_id + offset) * one_nth;
      i = (thread_id + offset) / n;
      j = (thread_id + offset) % n;
      float value = 0;
      if (i < m) {
        int rowU = (i == 0) ? 0 : i - 1;
        int rowD = (i == m - 1) ? m - 1 : i + 1;
        int colL = (j == 0) ? 0 : j - 1;
        int colR = (j == n - 1) ? n - 1 : j + 1;
        old_val = IMGVF[(i * n) + j];
        float U = IMGVF[(rowU * n) + j] - old_val, D = IMGVF[(rowD * n) + j] - old_val;
        float L = IMGVF[(i * n) + colL] - old_val, R = IMGVF[(i * n) + colR] - old_val;
        value = old_val + 0.125f * (U + D + L + R);
        float vI = I_global[(i * n) + j];
        new_val = value - ((1.0f / 16.0f) * vI * (value - vI));
      }
      __syncthreads();
      // Save the previous virtual thread block's value (if it exists)
      if (thread_block > 0) {
        offset = (thread_block - 1) * LOCAL_THREADS;
        if (old_i < m) IMGVF[(old_i * n) + old_j] = buffer[thread_id];
      }
      if (thread_block < max - 1) {
        // Write the new value to our virtual thread block's buffer
        buffer[thread_id] = new_val;
      } else {
        if (i < m) IMGVF[(i * n) + j] = new_val;
      }
      total_diff += i < m ? fabsf(new_val - old_val) : 0;
      __syncthreads();
    }
    // We need to compute the overall sum of the change at each matrix element by performing a tree reduction across the whole threadblock
    buffer[thread_id] = total_diff;
    __syncthreads();
    int th;
    for (th = LOCAL_THREADS / 2; th > 0; th /= 2) {
      if (thread_id < th) {
        buffer[thread_id] += buffer[thread_id + th];
      }
      __syncthreads();
    }
    // Have thread 0 figure out if the computation has converged
    if (thread_id == 0) {
      float mean = buffer[thread_id] / (float)(m * n);
      if (mean < cutoff) {
        cell_converged = 1;
      }
    }
    __syncthreads();
    iterations++;
  }
  if (thread_id == 0) *iterations_done = iterations;
  for (thread_block = 0; thread_block < max; thread_block++) {
    int offset = thread_block * LOCAL_THREADS;
    i = (thread_id + offset) / n;
    j = (thread_id + offset) % n;
    if (i < m) IMGVF_global[(i * n) + j] = IMGVF[(i * n) + j];
  }
}

// ================= SHOC sort: scanLSB, radixSortBlocks with uint4
#define WARP_SIZE 32
#define SORT_BLOCK_SIZE 128
__device__ uint scanLSB(const uint val, uint* s_data) {
  // Shared mem is 256 uints long, set first half to 0's
  int idx = threadIdx.x;
  s_data[idx] = 0;
  __syncthreads();
  // Set 2nd half to thread local sum (sum of the 4 elems from global mem)
  idx += blockDim.x;  // += 128 in this case
  // Unrolled scan in local memory
  // Some of these __sync's are unnecessary due to warp synchronous execution. Right now these are left in to be consistent with opencl version, since that has to execute on platforms where thread groups are not synchronous (i.e. CPUs)
  uint t;
  s_data[idx] = val;     __syncthreads();
  t = s_data[idx - 1];   __syncthreads();
  s_data[idx] += t;      __syncthreads();
  t = s_data[idx - 2];   __syncthreads();
  s_data[idx] += t;      __syncthreads();
  t = s_data[idx - 4];   __syncthreads();
  s_data[idx] += t;      __syncthreads();
  t = s_data[idx - 8];   __syncthreads();
  s_data[idx] += t;      __syncthreads();
  t = s_data[idx - 16];  __syncthreads();
  s_data[idx] += t;      __syncthreads();
  t = s_data[idx - 32];  __syncthreads();
  s_data[idx] += t;      __syncthreads();
  t = s_data[idx - 64];  __syncthreads();
  s_data[idx] += t;      __syncthreads();
  return s_data[idx] - val;  // convert inclusive -> exclusive
}
__device__ uint4 scan4(uint4 idata, uint* ptr) {
  uint4 val4 = idata;
  uint4 sum;
  // Scan the 4 elements in idata within this thread
  sum.x = val4.x;
  sum.y = val4.y + sum.x;
  sum.z = val4.z + sum.y;
  uint val = val4.w + sum.z;
  // Now scan those sums across the local work group
  val = scanLSB(val, ptr);
  val4.x = val;
  val4.y = val + sum.x;
  val4.z = val + sum.y;
  val4.w = val + sum.z;
  return val4;
}
extern "C" __global__ void radixSortBlocks(const uint nbits, const uint startbit, uint4* keysOut, uint4* valuesOut, uint4* keysIn, uint4* valuesIn) {
  __shared__ uint sMem[512];
  // Get Indexing information
  const uint i = threadIdx.x + (blockIdx.x * blockDim.x);
  const uint tid = threadIdx.x;
  const uint localSize = blockDim.x;
  // Load keys and vals from global memory
  uint4 key, value;
  key = keysIn[i];
  value = valuesIn[i];
  // For each of the 4 bits
  for (uint shift = startbit; shift < (startbit + nbits); ++shift) {
    // Check if the LSB is 0
    uint4 lsb;
    lsb.x = !((key.x >> shift) & 0x1);
    lsb.y = !((key.y >> shift) & 0x1);
    lsb.z = !((key.z >> shift) & 0x1);
    lsb.w = !((key.w >> shift) & 0x1);
    // Do an exclusive scan of how many elems have 0's in the LSB. When this is finished, address.n will contain the number of elems with 0 in the LSB which precede elem n
    uint4 address = scan4(lsb, sMem);
    __shared__ uint numtrue;
    // Store the total number of elems with an LSB of 0 to shared mem
    if (tid == localSize - 1) {
      numtrue = address.w + lsb.w;
    }
    __syncthreads();
    // Determine rank -- position in the block. If you are a 0 --> your position is the scan of 0's. If you are a 1 --> your position is calculated as below
    uint4 rank;
    const int idx = tid * 4;
    rank.x = lsb.x ? address.x : numtrue + idx - address.x;
    rank.y = lsb.y ? address.y : numtrue + idx + 1 - address.y;
    rank.z = lsb.z ? address.z : numtrue + idx + 2 - address.z;
    rank.w = lsb.w ? address.w : numtrue + idx + 3 - address.w;
    // Scatter keys into local mem
    sMem[(rank.x & 3) * localSize + (rank.x >> 2)] = key.x;
    sMem[(rank.y & 3) * localSize + (rank.y >> 2)] = key.y;
    sMem[(rank.z & 3) * localSize + (rank.z >> 2)] = key.z;
    sMem[(rank.w & 3) * localSize + (rank.w >> 2)] = key.w;
    __syncthreads();
    // Read keys out of local mem into registers, in prep for write out to global mem
    key.x = sMem[tid];
    key.y = sMem[tid + localSize];
    key.z = sMem[tid + 2 * localSize];
    key.w = sMem[tid + 3 * localSize];
    __syncthreads();
    // Scatter values into local mem
    sMem[(rank.x & 3) * localSize + (rank.x >> 2)] = value.x;
    sMem[(rank.y & 3) * localSize + (rank.y >> 2)] = value.y;
    sMem[(rank.z & 3) * localSize + (rank.z >> 2)] = value.z;
    sMem[(rank.w & 3) * localSize + (rank.w >> 2)] = value.w;
    __syncthreads();
    // Read keys out of local mem into registers, in prep for write out to global mem
    value.x = sMem[tid];
    value.y = sMem[tid + localSize];
    value.z = sMem[tid + 2 * localSize];
    value.w = sMem[tid + 3 * localSize];
    __syncthreads();
  }
  keysOut[i] = key;
  valuesOut[i] = value;
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
