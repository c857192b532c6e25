// SPDX-License-Identifier: Apache-2.0
extern "C" __global__ void bitonic(int* x) {
  extern __shared__ int s[];
  const unsigned tid = threadIdx.x;
  s[tid] = x[blockIdx.x * blockDim.x + tid];
  __syncthreads();
  for (unsigned k = 2; k <= blockDim.x; k *= 2) {
    for (unsigned j = k / 2; j > 0; j /= 2) {
      unsigned other = tid ^ j;
      if (other > tid) {
        if ((tid & k) == 0) {
          if (s[tid] > s[other]) { int t = s[tid]; s[tid] = s[other]; s[other] = t; }
        } else {
          if (s[tid] < s[other]) { int t = s[tid]; s[tid] = s[other]; s[other] = t; }
        }
      }
      __syncthreads();
    }
  }
  x[blockIdx.x * blockDim.x + tid] = s[tid];
}

__device__ void swap_if(int& a, int& b) {
  if (a > b) { int t = a; a = b; b = t; }
}
// Odd and even transposition until nothing changes: a vote of the block ends the loop.
extern "C" __global__ void odd_even(int* x, int* rounds) {
  __shared__ int s[130];
  int tid = threadIdx.x;
  s[tid] = x[tid];
  __syncthreads();
  int round = 0, changed;
  do {
    changed = 0;
    for (int phase = 0; phase < 2; ++phase) {
      int i = 2 * tid + phase;
      if (i + 1 < blockDim.x) {
        int before = s[i];
        swap_if(s[i], s[i + 1]);
        changed |= before != s[i];
      }
      __syncthreads();
    }
    ++round;
  } while (__syncthreads_or(changed));
  x[tid] = s[tid];
  if (tid == 0) *rounds = round;
}
