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

// The greatest K: each thread keeps its own list, lists are merged in a tree.
#define K 4
extern "C" __global__ void top_k(const float* in, float* out, int n) {
  __shared__ float lists[64][K];
  float best[K];
  for (int i = 0; i < K; ++i) best[i] = -1e30f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    float v = in[i];
    for (int j = 0; j < K; ++j) {
      if (v > best[j]) { float t = best[j]; best[j] = v; v = t; }
    }
  }
  for (int i = 0; i < K; ++i) lists[threadIdx.x][i] = best[i];
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (threadIdx.x < half) {
      for (int i = 0; i < K; ++i) {
        float v = lists[threadIdx.x + half][i];
        for (int j = 0; j < K; ++j) {
          if (v > best[j]) { float t = best[j]; best[j] = v; v = t; }
        }
      }
      for (int i = 0; i < K; ++i) lists[threadIdx.x][i] = best[i];
    }
    __syncthreads();
  }
  if (threadIdx.x < K) out[threadIdx.x] = lists[0][threadIdx.x];
}

// Smith and Waterman: a thread a column, one diagonal after the other.
extern "C" __global__ void smith_waterman(const char* a, const char* b, int m, int n, int* best) {
  extern __shared__ int diagonal[];
  int* before = diagonal;
  int* older = before + (n + 1);
  int* now = older + (n + 1);
  __shared__ int greatest;
  const int j = threadIdx.x + 1;
  for (int i = threadIdx.x; i < 3 * (n + 1); i += blockDim.x) diagonal[i] = 0;
  if (threadIdx.x == 0) greatest = 0;
  __syncthreads();
  int mine = 0;
  for (int d = 2; d <= m + n; ++d) {
    int i = d - j;
    if (j <= n && i >= 1 && i <= m) {
      int match = older[j - 1] + (a[i - 1] == b[j - 1] ? 3 : -2);
      int gap = max(before[j] - 1, before[j - 1] - 1);
      int v = max(0, max(match, gap));
      now[j] = v;
      mine = max(mine, v);
    } else if (j <= n) {
      now[j] = 0;
    }
    __syncthreads();
    int* t = older;
    older = before;
    before = now;
    now = t;
  }
  atomicMax(&greatest, mine);
  __syncthreads();
  if (threadIdx.x == 0) *best = greatest;
}
