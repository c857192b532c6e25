// SPDX-License-Identifier: Apache-2.0
// The words of CUDA C++ in all their places: `register`, launch bounds, __restrict__, inlining, alignment, C's linkage,
// declarations before definitions, the kernel's attributes in other orders.
#include "check.h"

extern "C" __global__ void with_c_linkage(int* out);
void __global__ declared(int*, int);
static __device__ __forceinline__ int inlined(int x) { return x + 1; }
__device__ __noinline__ int called(int x) { return x * 2; }
inline __device__ int plain(int x) { return x - 1; }
__device__ int recursive(int n) { return n <= 1 ? 1 : n * recursive(n - 1); }
struct __align__(16) Wide {
  int x;
};
typedef struct __builtin_align__(8) {
  float a, b;
}
Pair;

__global__ void __launch_bounds__(128) bounded(int* __restrict__ out, const int* __restrict__ in) {
  register int i = threadIdx.x;
  out[i] = inlined(in[i]) + called(plain(i));
}
template <int threads>
__launch_bounds__(threads, 2) __global__ void bounded_by(int* out) {
  out[threadIdx.x] = recursive(5);
}
extern "C" __global__ void with_c_linkage(int* out) { out[threadIdx.x] = int(sizeof(Wide) + alignof(Pair)); }
__global__ void declared(int* out, const int value) {
  unsigned int i = threadIdx.x;
#pragma unroll
  for (int k = 0; k < 2; ++k) out[i] = value + k + warpSize;
  if (i == 1000) __trap();
}
class Holder {
 public:
  Numbers<int, 32> out;
  int launch() {
    const dim3 grid(1), block(32);
    declared<<<grid, block, 0, cudaStreamPerThread>>>(out.device, 3);
    return cudaStreamSynchronize(cudaStreamPerThread);
  }
};

int main() {
  Numbers<int, 32> in, out;
  bounded<<<1, 32>>>(out.device, in.device);
  CHECK(out.read()[31] == 32 + 60);
  bounded_by<64><<<1, 32>>>(out.device);
  CHECK(out.read()[31] == 120);
  with_c_linkage<<<dim3(1, 1, 1), dim3(32, 1, 1)>>>(out.device);
  CHECK(out.read()[0] == 24);
  Holder holder;
  CHECK(holder.launch() == 0);
  CHECK(holder.out.read()[5] == 36);
  CHECK_KERNEL();
  return 0;
}
