// SPDX-License-Identifier: Apache-2.0
// Atomic functions of all types and scopes, among them programs' own by atomicCAS, beside CUDA's for double; and places that
// atomic functions give, which threads keep across barriers.
#include "check.h"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
#else
__device__ double atomicAdd(double* address, double value) { return value; }
#endif
__device__ static float atomicMax(float* address, float value) {
  int* const bits = (int*)address;
  int old = *bits, assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, __float_as_int(fmaxf(value, __int_as_float(assumed))));
  } while (assumed != old);
  return __int_as_float(old);
}

__global__ void all(int* i, unsigned* u, unsigned long long* l, float* f, double* d) {
  const int me = threadIdx.x + blockIdx.x * blockDim.x;
  atomicAdd(&i[0], 1);
  atomicSub(&i[1], 2);
  atomicMin(&i[2], -me);
  atomicMax(&i[3], me);
  atomicOr(&i[4], 1 << (me & 7));
  atomicXor(&i[5], me);
  atomicExch(&i[6], 42);
  atomicInc(&u[0], 9);
  atomicDec(&u[1], 9);
  atomicAnd(&u[2], ~1u);
  atomicAdd(&l[0], 1ull << 33);
  atomicMax(&l[1], (unsigned long long)me);
  atomicAdd(&f[0], 0.5f);
  atomicMax(&f[1], float(me));
  atomicAdd(&d[0], 0.25);
  atomicAdd_block(&i[7], 1);
}

// Copies the positive numbers, each to a place of its own.
__global__ void keep_positive(int* to, int* count, const int* from, int n) {
  __shared__ int here, own[64];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) here = 0;
  own[threadIdx.x] = int(threadIdx.x);
  __syncthreads();
  int value, place;
  if (i < n) {
    value = from[i];
    if (value > 0) place = atomicAdd(&here, 1);
  }
  const int twice = atomicCAS(&own[threadIdx.x], -1, 0) + atomicMax(&own[threadIdx.x], -1);
  __syncthreads();
  if (threadIdx.x == 0) here = atomicAdd(count, here);
  __syncthreads();
  if (i < n && value > 0) to[place + here] = value;
  if (twice != 2 * int(threadIdx.x)) atomicAdd(count, 1000);
}

int main() {
  Numbers<int, 8> i;
  Numbers<unsigned, 8> u;
  Numbers<unsigned long long, 8> l;
  Numbers<float, 8> f;
  Numbers<double, 8> d;
  all<<<4, 64>>>(i.device, u.device, l.device, f.device, d.device);
  CHECK_KERNEL();
  const int ints[] = {256, 1 - 512, -255, 255, 255, 5, 42};
  for (int k = 0; k < 7; ++k) CHECK(i.read()[k] == ints[k]);
  CHECK(u.read()[0] == 256 % 10 && u.host[1] == (1 + 10 * 26 - 256) % 10 && u.host[2] == 2);
  Numbers<int, 200> from, to;
  for (int k = 0; k < 200; ++k) from.host[k] = k % 3 == 0 ? -k : k;
  CHECK_CALL(cudaMemcpy(from.device, from.host, sizeof(from.host), cudaMemcpyHostToDevice));
  CHECK_CALL(cudaMemset(i.device, 0, sizeof(int)));
  keep_positive<<<4, 64>>>(to.device, i.device, from.device, 200);
  CHECK_KERNEL();
  CHECK(i.read()[0] == 133);
  bool found[200] = {};
  for (int k = 0; k < 133; ++k) found[to.read()[k]] = true;
  for (int k = 0; k < 200; ++k) CHECK(found[k] == (k % 3 != 0));
  CHECK(l.read()[0] == 256ull << 33 && l.host[1] == 255);
  CHECK(f.read()[0] == 128 && f.host[1] == 255 && d.read()[0] == 64);
  return 0;
}
