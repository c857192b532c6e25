// SPDX-License-Identifier: Apache-2.0
// A barrier under a condition whose text depends on the thread, but whose value does not.
extern "C" __global__ void branch_by_data(const int* in, int* out) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  if (in[threadIdx.x] > 0) {
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
  } else {
    out[threadIdx.x] = -1;
    __syncthreads();
    out[threadIdx.x] -= s[63 - threadIdx.x];
  }
}

// Break and continue of loops with barriers, by conditions that the block agrees on.
extern "C" __global__ void agreed_jumps(const int* in, int* out, int n) {
  __shared__ int s[64], stop;
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    if (i % 3 == 1) continue;
    s[threadIdx.x] = in[i] + threadIdx.x;
    __syncthreads();
    sum += s[(threadIdx.x + 1) % 64];
    if (threadIdx.x == 0) stop = in[i] == 99;
    __syncthreads();
    if (stop) break;
  }
  out[threadIdx.x] = sum;
}

// Threads leave a loop at different times, meet no one in it by barriers, but by shuffles of those who stay.
extern "C" __global__ void own_jumps(const int* in, int* out) {
  int rounds = in[threadIdx.x], v = threadIdx.x, i = 0;
  for (;; ++i) {
    if (i == rounds) break;
    if ((i + threadIdx.x) % 3 == 0) continue;
    v += 10 * __popc(__activemask() != 0);
  }
  __syncthreads();
  out[threadIdx.x] = v + 1000 * i;
}

// Returns in the function, values in and out by reference, a default argument, a call in an expression.
__device__ void rotate(int& v, int by = 1) {
  __shared__ int s[64];
  __syncthreads();
  s[threadIdx.x] = v;
  __syncthreads();
  v = s[(threadIdx.x + by) % blockDim.x];
}
// A pointer to constants is itself a variable.
__device__ void advance(const int*& p, const int& by) {
  __syncthreads();
  p += by;
}
extern "C" __global__ void advanced(const int* in, int* out) {
  static constexpr int steps[] = {1, 2};
  const int more[] = {3, 4};
  const int* p = in + threadIdx.x;
  advance(p, steps[1]);
  advance(p, more[0] + threadIdx.x);
  out[threadIdx.x] = *p;
}
namespace helpers {
template <class T, int n> __device__ T sum_of_next(T v, T* s) {
  s[threadIdx.x] = v;
  __syncthreads();
  T sum = 0;
  for (int i = 0; i < n; ++i) sum += s[(threadIdx.x + i) % blockDim.x];
  __syncthreads();
  return sum;
}
}
extern "C" __global__ void calls(int* out) {
  __shared__ int s[64];
  int v = threadIdx.x;
  rotate(v);
  rotate(v, 2);
  int w = 1 + 2 * helpers::sum_of_next<int, 3>(v, s) - v;
  out[threadIdx.x] = w;
}

// Values of all kinds live across barriers: scalars, arrays, structs, pointers, references, const and auto, lambdas.
struct Point { float x, y; __device__ float sum() const { return x + y; } };
extern "C" __global__ void kept(const float* in, float* out) {
  __shared__ float s[32];
  const int tid = threadIdx.x;
  float a[3] = {in[tid], 2, 3};
  Point p{in[tid], 4.0f};
  const Point q = {1, 2};
  double wide(in[tid]);
  auto product = a[0] * 2;
  const float* where = &in[tid];
  float& mine = s[tid];
  int matrix[2][2];
  for (int i = 0; i < 4; ++i) matrix[i / 2][i % 2] = i + tid;
  float* inner = a;
  auto scaled = [&](float f) { return f * a[1] + tid; };
  unsigned char small = tid, flag = tid % 2;
  long long big = 1ll << 40;
  mine = in[tid];
  __syncthreads();
  inner[2] += 1;
  p.x += s[31 - tid];
  matrix[1][0] *= 2;
  mine += 0;
  __syncthreads();
  out[tid] = a[0] + a[2] + p.sum() + q.sum() + (float)wide + product + *where + mine + matrix[1][0] + matrix[0][1] + scaled(3) + small + flag +
             (float)(big >> 40);
}

// A name that hides another; one that is used again side by side.
extern "C" __global__ void hidden_names(int* out) {
  __shared__ int s[16];
  int i = threadIdx.x, sum = 0;
  s[i] = i;
  {
    int i = 100 + threadIdx.x;
    __syncthreads();
    sum += i;
    {
      int i = s[(threadIdx.x + 1) % 16];
      __syncthreads();
      sum += 1000 * i;
    }
    sum += i;
  }
  for (int i = 0; i < 2; ++i) { __syncthreads(); sum += i; }
  for (int i = 0; i < 3; ++i) { __syncthreads(); sum += i; }
  out[i] = sum + i;
}

// Returns of all threads, of some, in a loop, before and after barriers; a division that only those may reach who stayed.
extern "C" __global__ void returns(const int* in, int* out, int n, int k) {
  __shared__ int s[64];
  if (n == 0) return;
  out[threadIdx.x] = 0;
  if (k == 0) { out[threadIdx.x] = 7; return; }
  const int q = n / k;
  for (int i = 0; i < q; ++i) {
    if (in[threadIdx.x] == i) return;
    out[threadIdx.x] += 1;
  }
  s[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x % 2) return;
  out[threadIdx.x] += 100;
  __syncthreads();
  out[threadIdx.x] += 100;
}

// Loops of the three kinds around barriers, nested, with steps of all sorts.
extern "C" __global__ void loops(int* out, int n) {
  __shared__ int s[32];
  int v = threadIdx.x, count = 0;
  int i = 0;
  while (i < n) {
    int j = 0;
    do {
      s[threadIdx.x] = v;
      __syncthreads();
      v = s[(threadIdx.x + 1 + j) % 32];
      __syncthreads();
      if (++j == 2) continue;
      ++count;
    } while (j < 3);
    i += 2;
  }
  for (int a = 0, b = n; a < b; ++a, b -= 1) {
    s[threadIdx.x] = v + a;
    __syncthreads();
    v = s[31 - threadIdx.x] - b;
    __syncthreads();
  }
  for (int mine = threadIdx.x; mine < 32; mine += 32) {
    s[mine] = v;
    __syncthreads();
    v = s[mine ^ 1];
  }
  out[threadIdx.x] = v + 100000 * count;
}

// threadIdx in functions, in a lambda that captures by a list, in a class.
__device__ int index_in_block() { return threadIdx.x + blockDim.x * threadIdx.y; }
extern "C" __global__ void indices(int* out) {
  __shared__ int s[32];
  struct Reader { __device__ int operator()() const { return threadIdx.y; } };
  s[index_in_block()] = index_in_block() * 10;
  int base = 5;
  __syncthreads();
  auto f = [base](int v) { return base + v + (int)threadIdx.x; };
  out[index_in_block()] = f(s[31 - index_in_block()]) + Reader()();
}
extern "C" __global__ void indices_by_functions(int* out) {
  __shared__ int s[32];
  s[index_in_block()] = index_in_block() * 10;
  __syncthreads();
  if (index_in_block() < 16) { __syncwarp(0xffffull); s[index_in_block()] += 1; }
  __syncthreads();
  out[index_in_block()] = s[31 - index_in_block()];
}

// Shared memory that is declared outside of all functions.
extern __shared__ int outside[];
__shared__ int one_outside;
extern "C" __global__ void declared_outside(int* out) {
  outside[threadIdx.x] = threadIdx.x;
  if (threadIdx.x == 0) one_outside = blockIdx.x;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = outside[blockDim.x - 1 - threadIdx.x] + 100 * one_outside;
}
