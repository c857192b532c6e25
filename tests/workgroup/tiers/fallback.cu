// SPDX-License-Identifier: Apache-2.0
// Kernels that the pass leaves to fibers, and some that it transforms.
//! bigalloca 1 1 1 64 1 1 0 fibers
//! warprec 1 1 1 64 1 1 0 fibers
//! recurse 3 1 1 64 1 1 0 fibers
//! virt 2 1 1 64 1 1 0 fibers
//! fptr 2 1 1 96 1 1 0 fibers
//! spinflag 1 1 1 64 1 1 0 fibers
//! lock 1 1 1 96 1 1 0 fibers
//! dyn 2 1 1 64 1 1 1024 workgroup
//! dynrec 2 1 1 64 1 1 1024 workgroup
//! waitrec 2 1 1 70 1 1 0 workgroup
//! plainblock 1 1 1 64 1 1 0 workgroup
//! nsleep 1 1 1 64 1 1 0 fibers
//! actrec 1 1 1 64 1 1 0 workgroup
//! volat 1 1 1 64 1 1 0 workgroup
//! bynoinline 1 1 1 96 1 1 0 fibers
//! plainread 2 1 1 64 1 1 0 workgroup
//! shrecf 2 1 1 33 1 1 0 workgroup

KERNEL(bigalloca) {
  INDEX;
  int a[3000];
  for (int k = 0; k < 3000; ++k) a[k] = in[(i + k) & 1023] ^ k;
  __syncthreads();
  int acc = 0;
  for (int k = 0; k < 3000; k += 7) acc += a[(k * 13 + t) % 3000];
  acc += __shfl_xor_sync(~0u, a[t], 1);
  out[i] = acc;
}
__device__ int wrec(int v, int d) {
  if (d == 0) return v;
  int o = __shfl_xor_sync(~0u, v, d);
  return wrec(v + o, d / 2) * 3 + o;
}
KERNEL(warprec) {
  INDEX;
  out[i] = wrec(in[i], 16);
}
__device__ int counter = 5;
__constant__ int table[4] = {1, 2, 3, 4};
static __device__ int hidden_counter = 0;
__device__ int mutex_ = 0;

__device__ int fact(int k) { return k <= 0 ? (int)threadIdx.x + table[k & 3] : k + fact(k - 1) * 3; }
KERNEL(recurse) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = fact(in[i] % 7);
  if (i == 0) atomicAdd(&counter, 10);
}
struct Base {
  __device__ virtual int f(int x) const = 0;
};
struct A : Base {
  __device__ int f(int x) const override { return x + threadIdx.x; }
};
struct B : Base {
  int k;
  __device__ int f(int x) const override { return x * k + blockIdx.x + __shfl_xor_sync(~0u, x, 1); }
};
KERNEL(virt) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  A a;
  B b;
  b.k = 3;
  const Base* p = in[0] > 5 ? (const Base*)&b : (const Base*)&a;
  const Base* q = in[1] > 5000 ? (const Base*)&b : (const Base*)&a;
  out[i] = p->f(in[i]) + q->f(7);
}
typedef int (*F)(int);
__device__ int fa(int x) { return x + threadIdx.x; }
__device__ int fb(int x) {
  __syncthreads();
  return x - threadIdx.x * 2;
}
__device__ F fs[2] = {fa, fb};
KERNEL(fptr) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = fs[in[2] & 1](in[i]) + fs[1](3) + fs[0](5);
}
KERNEL(spinflag) {
  __shared__ int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == blockDim.x - 1) {
    out[100] = 77;
    __threadfence();
    atomicExch(&flag, 1);
  } else {
    while (atomicAdd(&flag, 0) == 0) {
    }
  }
  out[threadIdx.x] = atomicAdd(&out[100], 0);
}
KERNEL(lock) {
  bool done = false;
  while (!done) {
    if (atomicCAS(&mutex_, 0, 1) == 0) {
      hidden_counter += 1;
      out[0] = hidden_counter;
      __threadfence();
      atomicExch(&mutex_, 0);
      done = true;
    }
  }
}
KERNEL(dyn) {
  extern __shared__ int d[];
  d[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = d[blockDim.x - 1 - threadIdx.x];
}
__device__ int sumrec(int* d, int k) { return k < 0 ? 0 : d[k] + threadIdx.x + sumrec(d, k - 1); }
KERNEL(dynrec) {
  extern __shared__ int d[];
  __shared__ int s[64];
  d[threadIdx.x] = in[threadIdx.x];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = sumrec(d, 5) + s[63 - threadIdx.x];
}
__device__ int waits(int k, int* s) {
  if (k == 0) return s[threadIdx.x];
  __syncthreads();
  s[threadIdx.x] += s[(threadIdx.x + 1) % blockDim.x] * 0 + k;
  __syncthreads();
  return waits(k - 1, s) + 1;
}
KERNEL(waitrec) {
  __shared__ int s[128];
  s[threadIdx.x] = in[threadIdx.x] & 3;
  out[blockIdx.x * blockDim.x + threadIdx.x] = waits((in[0] & 3) + 2, s);
}
KERNEL(plainblock) {
  __shared__ int s[64];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = s[63 - threadIdx.x] + counter + hidden_counter;
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&counter, 1);
}
KERNEL(nsleep) {
  __shared__ int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 63)
    flag = 1;
  else
    while (*(volatile int*)&flag == 0) __nanosleep(100);
  out[threadIdx.x] = threadIdx.x;
}
__device__ unsigned act(int k) {
  if (k == 0) return __activemask();
  return act(k - 1) + (threadIdx.x & 1);
}
KERNEL(actrec) {
  unsigned m = 0;
  if (threadIdx.x % 3 == 0)
    m = act(3);
  else
    m = __activemask();
  out[threadIdx.x] = m;
}
__device__ int depth(int k) { return k == 0 ? threadIdx.x : depth(k - 1); }
KERNEL(volat) {
  __shared__ volatile int s[64];
  int t = threadIdx.x;
  s[t] = depth(in[t] & 7) + in[t];
  __syncthreads();
  if (t < 32) {
    s[t] += s[t + 32];
    s[t] += s[t + 16];
    s[t] += s[t + 8];
    s[t] += s[t + 4];
    s[t] += s[t + 2];
    s[t] += s[t + 1];
  }
  __syncthreads();
  if (t == 0) out[0] = s[0];
}
__device__ __noinline__ void take(int* m) {
  while (atomicCAS(m, 0, 1) != 0) {
  }
}
__device__ __noinline__ void give(int* m) {
  __threadfence();
  atomicExch(m, 0);
}
KERNEL(bynoinline) {
  for (int w = 0; w < 32; ++w) {
    if ((threadIdx.x & 31) == w) {
      take(&mutex_);
      out[1] += 1;
      give(&mutex_);
    }
  }
}
KERNEL(plainread) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] * counter + table[i & 3];
}
__device__ int* slot() {
  __shared__ int cell[64];
  return cell + threadIdx.x;
}
__device__ int shr(int k) {
  if (k > 0) {
    *slot() += k;
    return shr(k - 1);
  }
  return *slot();
}
KERNEL(shrecf) {
  *slot() = in[threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = shr(in[threadIdx.x] & 3);
}
