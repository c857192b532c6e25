// SPDX-License-Identifier: Apache-2.0
#define ALL 0xffffffffffffffffull
typedef decltype(__popcll(0)) count_type;

extern "C" __global__ void shuffles(const int* in, int* out, int distance, int width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = blockDim.x * gridDim.x;
  int v = in[i];
  out[i] = __shfl_sync(ALL, v, distance + threadIdx.x, width);
  out[i + n] = __shfl_up_sync(ALL, v, distance, width);
  out[i + 2 * n] = __shfl_down_sync(ALL, v, distance, width);
  out[i + 3 * n] = __shfl_xor_sync(ALL, v, distance, width);
}

extern "C" __global__ void votes(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = blockDim.x * gridDim.x;
  const int v = in[i];
  out[i] = __popcll(__ballot_sync(ALL, v > 0));
  out[i + n] = __any_sync(ALL, v == 7);
  out[i + 2 * n] = __all_sync(ALL, v < 7);
  out[i + 3 * n] = __popcll(__activemask());
  bool same = false;
  auto equal = __match_any_sync(ALL, v);
  out[i + 4 * n] = __popcll(equal);
  int all;
  auto lanes = __match_all_sync(ALL, v / 100, &all);
  out[i + 5 * n] = all;
  out[i + 6 * n] = __popcll(lanes);
}

extern "C" __global__ void reductions(const unsigned* in, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = blockDim.x * gridDim.x;
  out[i] = __reduce_add_sync(ALL, in[i]);
  out[i + n] = __reduce_min_sync(ALL, in[i]);
  out[i + 2 * n] = __reduce_max_sync(ALL, in[i]);
  out[i + 3 * n] = __reduce_and_sync(ALL, in[i]);
  out[i + 4 * n] = __reduce_or_sync(ALL, in[i]);
  out[i + 5 * n] = __reduce_xor_sync(ALL, in[i]);
}

// Warps and halves of warps go different ways; a lane that is not there is not counted.
extern "C" __global__ void divergent(const int* in, int* out) {
  const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
  int v = in[threadIdx.x];
  if (warp == 1) {
    v = __shfl_xor_sync(ALL, v, 1) + 1000;
    __syncwarp();
  } else if (lane < 16) {
    v = __shfl_down_sync(0xffffull, v, 1, 16);
    out[blockDim.x + threadIdx.x] = __popcll(__activemask());
  } else {
    v = -__popcll(__ballot_sync(ALL << 16, v > 0));
  }
  __syncwarp();
  out[threadIdx.x] = v;
}

// Lanes leave a loop one by one; those that stay go on shuffling among themselves.
extern "C" __global__ void lanes_leave(const int* in, int* out) {
  const int lane = threadIdx.x % warpSize;
  int rounds = in[threadIdx.x], sum = 0;
  while (__any_sync(ALL, rounds > 0)) {
    if (rounds > 0) sum += __popcll(__activemask());
    --rounds;
  }
  out[threadIdx.x] = sum;
}

// In place of one atomic each, one a warp: the leader adds for all.
extern "C" __global__ void aggregated(const int* in, int* counter, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (in[i] > 0) {
    auto active = __activemask();
    const int leader = __ffsll(active) - 1;
    const int lane = threadIdx.x % warpSize;
    int base = 0;
    if (lane == leader) base = atomicAdd(counter, __popcll(active));
    base = __shfl_sync(active, base, leader);
    out[base + __popcll(active & ((1ull << lane) - 1))] = in[i];
  }
}

// Values of other types: doubles, and addresses as numbers.
extern "C" __global__ void types(const double* in, double* out) {
  double v = in[threadIdx.x];
  double w = __shfl_xor_sync(ALL, v, 1);
  const double* p = (const double*)__shfl_xor_sync(ALL, (unsigned long long)(in + threadIdx.x), 2);
  out[threadIdx.x] = w + *p;
}

extern "C" __global__ void width(int* x) { *x = warpSize; }
