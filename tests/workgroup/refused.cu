// SPDX-License-Identifier: Apache-2.0
// Kernels that the pass does not transform. The name is the reason; the remark must contain the line that is marked "here".

inline __device__ void* operator new(__SIZE_TYPE__, void* p) noexcept { return p; }

struct Shape {
  __device__ virtual int place() const = 0;
};
struct Mine : Shape {
  __device__ int place() const override { return threadIdx.x; }
};
extern "C" __global__ void by_virtual_call(int* out, const Shape* shape) {
  out[0] = shape->place();  // here
}
extern "C" __global__ void makes_shape(Shape* shape) { new (shape) Mine; }

__device__ int depth(int n) {
  if (n == 0) return threadIdx.x;
  return depth(n - 1) + depth(n / 2);
}
extern "C" __global__ void by_recursion(int* out, int n) {
  out[0] = depth(n);  // here
}

extern "C" __global__ void by_array(int* out, int n) {
  int a[n];  // here
  for (int i = 0; i < n; ++i) a[i] = i * out[i];
  __syncthreads();
  out[threadIdx.x] = a[n - 1 - threadIdx.x];
}

extern "C" __global__ void by_size(int* out) {
  int a[20000];
  for (int i = 0; i < 20000; ++i) a[i] = out[i];
  __syncthreads();
  out[threadIdx.x] = a[out[threadIdx.x]];
}

extern "C" __global__ void by_flag(int* out, int* flag) {
  if (threadIdx.x == 0) {
    while (atomicAdd(flag, 0) == 0) {  // here
    }
  }
  if (threadIdx.x == 63) atomicExch(flag, 1);
  out[threadIdx.x] = 1;
}

extern "C" __global__ void by_lock(int* lock, int* out) {
  if (threadIdx.x == 5) {
    bool done = false;
    while (!done) {
      if (atomicCAS(lock, 0, 1) == 0) {  // here
        out[0] += 1;
        atomicExch(lock, 0);
        done = true;
      }
    }
  }
}

extern "C" __global__ void by_lanes_in_a_loop(int* out, int n) {
  int v = threadIdx.x;
  for (int i = threadIdx.x; i < n; i += 5) v += __shfl_xor_sync(~0u, v, 1);  // here
  out[threadIdx.x] = v;
}

// Counts, and tries again, but waits for nobody.
extern "C" __global__ void counting(int* next, int* out, int n) {
  for (int i; (i = atomicAdd(next, 1)) < n;) {
    int before = out[0];
    for (int seen; (seen = atomicCAS(out, before, before + i)) != before;) before = seen;
  }
}

extern "C" __global__ void taken(int* out) { out[threadIdx.x] = threadIdx.x; }
