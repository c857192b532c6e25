// Loops over what a thread owns, where a thread has a bound or a beginning of its own.
#define BLOCK 64

// A bound that a function tells each thread.
__device__ int ownLimit() { return threadIdx.x == 5 ? 0 : 1000; }
extern "C" __global__ void k_own_bound(int* out) {
  const int limit = ownLimit();
  int count = 0;
  for (int i = threadIdx.x; i < limit; i += BLOCK) ++count;
  out[threadIdx.x] = count;
}

// A bound that is a parameter of a function in which threads meet.
__device__ int strided(int limit) {
  int count = 0;
  for (int i = threadIdx.x; i < limit; i += BLOCK) ++count;
  __syncthreads();
  return count;
}
extern "C" __global__ void k_bound_by_parameter(int* out) { out[threadIdx.x] = strided(threadIdx.x == 5 ? 0 : 1000); }

// What the loop begins with changes while it runs: by a function, by a reference, by a method.
struct Cursor {
  int at;
  __device__ void next() { at += 1000; }
};
__device__ void advance(int& x) { x += 1000; }
extern "C" __global__ void k_moving_start(int* out) {
  const int t = threadIdx.x;
  int start = t, other = t, sum = 0;
  int& alias = other;
  Cursor cursor{t};
  for (int i = start; i < 1000; i += BLOCK) {
    advance(start);
    sum += i;
  }
  for (int i = other; i < 1000; i += BLOCK) {
    alias += 1000;
    sum += i;
  }
  for (int i = cursor.at + 0 * t; i < 1000; i += BLOCK) {
    cursor.next();
    sum += i;
  }
  out[t] = sum;
}
