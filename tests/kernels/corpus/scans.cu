// SPDX-License-Identifier: Apache-2.0
// A scan by Hillis and Steele, with two buffers that are swapped.
extern "C" __global__ void scan_hillis_steele(const int* in, int* out, int n) {
  extern __shared__ int temp[];
  int tid = threadIdx.x;
  int pout = 0, pin = 1;
  temp[tid] = tid > 0 ? in[blockIdx.x * n + tid - 1] : 0;
  __syncthreads();
  for (int offset = 1; offset < n; offset *= 2) {
    pout = 1 - pout;
    pin = 1 - pout;
    if (tid >= offset) temp[pout * n + tid] = temp[pin * n + tid] + temp[pin * n + tid - offset];
    else temp[pout * n + tid] = temp[pin * n + tid];
    __syncthreads();
  }
  out[blockIdx.x * n + tid] = temp[pout * n + tid];
}

#define PAD(i) ((i) + ((i) >> 5))
// Blelloch: up and down a tree, without conflicts of banks; two elements a thread.
extern "C" __global__ void scan_blelloch(const float* in, float* out, int n) {
  extern __shared__ float padded[];
  int tid = threadIdx.x, offset = 1;
  padded[PAD(2 * tid)] = in[2 * tid];
  padded[PAD(2 * tid + 1)] = in[2 * tid + 1];
  for (int d = n >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (tid < d) {
      int a = PAD(offset * (2 * tid + 1) - 1), b = PAD(offset * (2 * tid + 2) - 1);
      padded[b] += padded[a];
    }
    offset *= 2;
  }
  if (tid == 0) padded[PAD(n - 1)] = 0;
  for (int d = 1; d < n; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (tid < d) {
      int a = PAD(offset * (2 * tid + 1) - 1), b = PAD(offset * (2 * tid + 2) - 1);
      float t = padded[a];
      padded[a] = padded[b];
      padded[b] += t;
    }
  }
  __syncthreads();
  out[2 * tid] = padded[PAD(2 * tid)];
  out[2 * tid + 1] = padded[PAD(2 * tid + 1)];
}

__device__ int warp_scan(int v) {
  int lane = threadIdx.x & (warpSize - 1);
  for (int d = 1; d < warpSize; d <<= 1) {
    int left = __shfl_up_sync(~0ull, v, d);
    if (lane >= d) v += left;
  }
  return v;
}

// Inclusive, of the whole block: by warps, then over the warps.
__device__ int block_scan(int v, int* sums) {
  const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
  v = warp_scan(v);
  if (lane == warpSize - 1) sums[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int s = lane < blockDim.x / warpSize ? sums[lane] : 0;
    s = warp_scan(s);
    sums[lane] = s;
  }
  __syncthreads();
  if (warp > 0) v += sums[warp - 1];
  __syncthreads();
  return v;
}

extern "C" __global__ void scan_by_warps(const int* in, int* out) {
  __shared__ int sums[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = block_scan(in[i], sums);
}

// What is positive moves to the front, in order, block by block.
extern "C" __global__ void compact(const float* in, float* out, int* count, int n) {
  __shared__ int sums[64];
  __shared__ int base;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int keep = i < n && in[i] > 0.0f;
  int place = block_scan(keep, sums);
  if (threadIdx.x == blockDim.x - 1) base = atomicAdd(count, place);
  __syncthreads();
  if (keep) out[base + place - 1] = in[i];
}

// A pass of a radix sort: four bits, one block.
extern "C" __global__ void radix_pass(const unsigned* in, unsigned* out, int shift) {
  __shared__ int sums[64];
  __shared__ unsigned begin[17];
  unsigned key = in[threadIdx.x];
  unsigned digit = key >> shift & 15u;
  if (threadIdx.x == 0) begin[0] = 0;
  unsigned place = 0;
  for (int d = 0; d < 16; ++d) {
    int mine = digit == d;
    int upto = block_scan(mine, sums);
    if (threadIdx.x == blockDim.x - 1) begin[d + 1] = begin[d] + upto;
    __syncthreads();
    if (mine) place = begin[d] + upto - 1;
  }
  out[place] = key;
}

// Threads without an element return first; those that stay must all meet.
extern "C" __global__ void prefix_with_early_return(const int* in, int* out, int n) {
  __shared__ int s[2][128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  s[0][threadIdx.x] = in[i];
  int at = 0;
  for (int d = 1; d < 128; d *= 2) {
    __syncthreads();
    s[1 - at][threadIdx.x] = s[at][threadIdx.x] + (threadIdx.x >= d ? s[at][threadIdx.x - d] : 0);
    at = 1 - at;
  }
  out[i] = s[at][threadIdx.x];
}
