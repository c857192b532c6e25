// SPDX-License-Identifier: Apache-2.0
// Kernels with barriers for the whole block, one for each form of control flow around a barrier.

extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// A barrier in a loop.
extern "C" __global__ void reduce(const int* in, int* out, int n) {
  extern __shared__ int sum[];
  const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  sum[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) {
    if (t < k) sum[t] += sum[t + k];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = sum[0];
}

// Two dimensions, and sums that each thread keeps.
extern "C" __global__ void tiled_product(const float* a, const float* b, float* c, int n) {
  __shared__ float as[16][16], bs[16][16];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    as[y][x] = a[row * n + k + x];
    bs[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += as[y][i] * bs[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

// Some threads return before the barrier.
extern "C" __global__ void early_return(const int* in, int* out, int n) {
  __shared__ int s[256];
  const int t = threadIdx.x;
  if (t >= n) return;
  s[t] = in[t];
  __syncthreads();
  const int v = s[n - 1 - t];
  __syncthreads();
  if (v % 2 == 0) return;
  s[t] = v;
  __syncthreads();
  out[t] = s[t] + t;
}

// Threads wait at two different barriers.
extern "C" __global__ void divergent(int* out, int limit) {
  if (threadIdx.x < limit) {
    out[threadIdx.x] = 1;
    __syncthreads();
  } else {
    out[threadIdx.x] = 2;
    __syncthreads();
  }
  out[threadIdx.x] += 10;
}

// A barrier in a called function, in a switch, and in the arm of a uniform branch.
__device__ int shift(int* s, int v, int by) {
  s[threadIdx.x] = v;
  __syncthreads();
  const int r = s[(threadIdx.x + by) % blockDim.x];
  __syncthreads();
  return r;
}
extern "C" __global__ void choices(int* out, int which) {
  __shared__ int s[256];
  int v = threadIdx.x;
  switch (which) {
    case 0: v = shift(s, v, 1); break;
    case 1: v = shift(s, v, 2);
    case 2: v = shift(s, v * 2, 3); break;
    default: v = -v;
  }
  if (which != 1) {
    v = shift(s, v, 5);
  } else {
    v += 1000;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

// A private array that lives across barriers, and a pointer into it.
extern "C" __global__ void private_array(const int* in, int* out, int n) {
  __shared__ int s[128];
  int a[8];
  for (int i = 0; i < 8; ++i) a[i] = in[(threadIdx.x * 8 + i) % n];
  int* p = a + in[threadIdx.x] % 8;
  s[threadIdx.x] = *p;
  __syncthreads();
  *p += s[(threadIdx.x + 1) % blockDim.x];
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 8; ++i) sum = sum * 31 + a[i];
  out[threadIdx.x] = sum;
}

// A loop that is left by a value of shared memory, which is the same for all.
extern "C" __global__ void until_sorted(int* data) {
  __shared__ int s[64];
  __shared__ int changed;
  const int t = threadIdx.x;
  s[t] = data[blockIdx.x * 64 + t];
  do {
    __syncthreads();
    if (t == 0) changed = 0;
    __syncthreads();
    for (int odd = 0; odd < 2; ++odd) {
      const int i = 2 * t + odd;
      if (i + 1 < 64 && s[i] > s[i + 1]) {
        const int x = s[i];
        s[i] = s[i + 1];
        s[i + 1] = x;
        changed = 1;
      }
      __syncthreads();
    }
  } while (changed);
  data[blockIdx.x * 64 + t] = s[t];
}

// Atomic accesses of shared memory: threads meet in them.
extern "C" __global__ void histogram(const int* in, int* bins, int n) {
  __shared__ int local[16];
  if (threadIdx.x < 16) local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[in[i] & 15], 1);
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

// Each thread leaves a loop without barriers on its own, and carries on.
extern "C" __global__ void collatz(int* out, int n) {
  __shared__ int most;
  if (threadIdx.x == 0) most = 0;
  __syncthreads();
  const int start = blockIdx.x * blockDim.x + threadIdx.x + 1;
  int steps = 0;
  for (unsigned v = start; v != 1; v = v % 2 == 0 ? v / 2 : 3 * v + 1) ++steps;
  atomicMax(&most, steps);
  __syncthreads();
  if (start <= n) out[start - 1] = steps * 1000 + most;
}

extern "C" __global__ void counted(const int* in, int* out) {
  const int t = threadIdx.x;
  int v = in[t];
  for (int i = 0; i < 4; ++i) {
    const int odd = __syncthreads_count(v & 1);
    v += odd + t;
  }
  out[t] = v;
}

extern "C" __global__ void cube(int* out) {
  __shared__ int s[4][4][4];
  const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  s[z][y][x] = x + 10 * y + 100 * z;
  __syncthreads();
  out[((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * 64 + z * 16 + y * 4 + x] =
      s[x][z][y] + 1000 * (blockIdx.x + 10 * blockIdx.y + 100 * blockIdx.z);
}

// Neighbouring elements by pointers that may be the same: a thread's own accesses stay in order.
extern "C" __global__ void pairs(int* a, int* b, int* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    a[2 * i] += 1;
    a[2 * i + 1] = b[2 * i] * 2;
    c[2 * i + 1] += b[2 * i + 1] - 1;
  }
}

// Each thread's elements lie apart, and their order counts. `n` may be negative.
extern "C" __global__ void strided(const int* in, unsigned* hashes, int n) {
  __shared__ unsigned first;
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned hash = 1;
  for (int i = thread; i < n; i += gridDim.x * blockDim.x) hash = hash * 31 + in[i];
  if (threadIdx.x == 0) first = hash;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) hash = hash * 31 + in[i];
  hashes[thread] = hash + first;
}

// The index may wrap.
extern "C" __global__ void wrapping(unsigned* turns, unsigned first, unsigned n, unsigned step) {
  unsigned count = 0;
  for (unsigned i = first + threadIdx.x; i < n; i += step) ++count, turns[threadIdx.x + 64] = i;
  turns[threadIdx.x] = count;
}

// Sums of columns, some of which only a part of the block's rows has.
extern "C" __global__ void column_sums(const float* in, float* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x >= width) return;
  float sum = 0, least = in[x];
  for (int y = threadIdx.y; y < height; y += blockDim.y) {
    sum += in[y * width + x];
    if (in[y * width + x] < least) least = in[y * width + x];
  }
  out[threadIdx.y * width + x] = sum + least;
}
