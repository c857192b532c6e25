// SPDX-License-Identifier: Apache-2.0
__device__ void subtract(int* cell, int v) { atomicSub(cell, v); }
__device__ void subtract(unsigned* cell, unsigned v) { atomicSub(cell, v); }
__device__ void subtract(unsigned long long* cell, unsigned long long v) { atomicAdd(cell, 0 - v); }

template <class T>
__device__ void all_of_them(T* cells, T v, T i) {
  atomicAdd(&cells[0], v);
  subtract(&cells[1], v);
  atomicMin(&cells[2], v);
  atomicMax(&cells[3], v);
  atomicAnd(&cells[4], ~v);
  atomicOr(&cells[5], v);
  atomicXor(&cells[6], v);
  T old = cells[7], seen;
  do {
    seen = old;
    old = atomicCAS(&cells[7], seen, seen + v);
  } while (old != seen);
  atomicAdd_block(cells + 8, v);
  atomicAdd_system(cells + 8, v);
}
extern "C" __global__ void on_int(int* cells, const int* in) { all_of_them<int>(cells, in[blockIdx.x * blockDim.x + threadIdx.x], 1); }
extern "C" __global__ void on_unsigned(unsigned* cells, const unsigned* in) {
  all_of_them<unsigned>(cells, in[blockIdx.x * blockDim.x + threadIdx.x], 1);
}
extern "C" __global__ void on_long(unsigned long long* cells, const unsigned long long* in) {
  all_of_them<unsigned long long>(cells, in[blockIdx.x * blockDim.x + threadIdx.x], 1);
}
extern "C" __global__ void on_floats(float* f, double* d, const float* in) {
  float v = in[blockIdx.x * blockDim.x + threadIdx.x];
  atomicAdd(f, v);
  atomicAdd(d, v);
  atomicAdd(d + 1, -1);
}
extern "C" __global__ void tickets(unsigned* counter, int* taken, unsigned limit) {
  unsigned mine = atomicInc(counter, limit);
  atomicAdd(&taken[mine], 1);
  unsigned down = atomicDec(counter + 1, limit);
  atomicAdd(&taken[limit + 1 + down], 1);
}
extern "C" __global__ void pushed_out(int* cell, int* seen) { seen[atomicExch(cell, blockIdx.x * blockDim.x + threadIdx.x + 1)] = 1; }

extern "C" __global__ void histogram(const unsigned char* in, unsigned* bins, int n) {
  __shared__ unsigned mine[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) mine[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[in[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], mine[i]);
}

// All of them on shared memory; two subscripts, a member, a cell behind a pointer that is itself shared.
struct Cell { int low, high; };
extern "C" __global__ void shared_cells(const int* in, int* out) {
  __shared__ int s[2][8];
  __shared__ Cell cell;
  __shared__ int* pointers[1];
  __shared__ float f;
  if (threadIdx.x < 16) s[threadIdx.x / 8][threadIdx.x % 8] = threadIdx.x == 3 || threadIdx.x == 2 ? in[0] : 0;
  if (threadIdx.x == 0) { cell.low = cell.high = 0; pointers[0] = out + 20; f = 0; s[0][4] = -1; }
  __syncthreads();
  int v = in[threadIdx.x];
  atomicAdd(&s[0][0], v);
  atomicSub(&s[0][1], v);
  atomicMin(&s[0][2], v);
  atomicMax(&s[0][3], v);
  atomicAnd(&s[0][4], v);
  atomicOr(&s[0][5], v);
  atomicXor(&s[0][6], v);
  atomicCAS(&s[0][7], 0, v | 1);
  atomicAdd(&cell.low, 1);
  atomicAdd(&pointers[0][0], v);
  atomicAdd(&f, 0.5f);
  int old = atomicExch(&s[1][0], v);
  atomicAdd(&s[1][1], old);
  __syncthreads();
  if (threadIdx.x < 16) out[threadIdx.x] = s[threadIdx.x / 8][threadIdx.x % 8];
  if (threadIdx.x == 0) { out[16] = cell.low; out[17] = (int)(2 * f); }
}

// A function that uses shared memory and meets nobody.
__device__ int* scratch() {
  __shared__ int memory[4];
  return memory;
}
extern "C" __global__ void through_a_function(int* out) {
  if (threadIdx.x == 0) scratch()[1] = 0;
  __syncthreads();
  atomicAdd(scratch() + 1, threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = scratch()[1];
}
