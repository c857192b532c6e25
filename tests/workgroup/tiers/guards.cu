// SPDX-License-Identifier: Apache-2.0
// Guards and loops that hold for all lanes of a warp, for some and for none, in kernels whose lanes work together.
//! copied 17 1 1 96 1 1 0 workgroup
//! copied 3 1 1 50 1 1 0 workgroup
//! wraps 4 1 1 128 1 1 0 workgroup
//! down 9 1 1 64 1 1 0 workgroup
//! other_side 9 1 1 64 1 1 0 workgroup
//! nested 5 1 1 96 1 1 0 workgroup
//! stepped 6 1 1 64 1 1 0 workgroup
//! stepped 6 1 1 40 1 1 0 workgroup
//! sides 4 1 1 64 1 1 0 workgroup
//! wide 4 1 1 64 1 1 0 workgroup
//! sums 8 1 1 96 1 1 0 workgroup
//! sums 8 1 1 71 1 1 0 workgroup
//! halves 8 1 1 64 1 1 0 workgroup
//! after_return 8 1 1 96 1 1 0 workgroup
__device__ int shifted(int value) { return __shfl_down_sync(~0u, value, 1); }
__device__ int sum_of_all(int value) {
  for (int offset = 16; offset > 0; offset >>= 1) value += __shfl_xor_sync(~0u, value, offset);
  return value;
}
extern "C" __global__ void copied(int* out, const int* in, int) {
  for (int n : {0, 1, 31, 32, 33, 63, 64, 95, 100, 1500, 5000}) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = -n;
    if (i < n) value = in[i] + 1;
    value = shifted(value);
    if (i <= n) out[i] += value;
    if (i >= n) out[i] ^= in[i];
    if (!(i < n)) out[i] += 7;
  }
}
extern "C" __global__ void wraps(int* out, const int* in, int) {
  const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned base : {0u, 0u - 8u, 0u - 32u, 0u - 40u, 0x7fffffe0u, 0x7ffffff0u, 0u - 512u}) {
    for (unsigned n : {32u, 300u, 0x80000000u, 0xfffffff0u, 0xffffffffu}) {
      unsigned value = 3;
      if (base + t < n) value = in[t] + n;
      if ((int)(base + t) < (int)n) value ^= in[t + 1];
      if (base + t > n) out[t] += 5 * in[t];
      out[t] = out[t] * 3 + shifted(value);
    }
  }
}
extern "C" __global__ void down(int* out, const int* in, int) {
  for (int n : {100, 319, 320, 321, 600}) {
    const int i = n - (int)(blockIdx.x * blockDim.x + threadIdx.x);
    int value = 1;
    if (i >= 0) value = in[i];
    out[blockIdx.x * blockDim.x + threadIdx.x] += n * shifted(value);
    for (int k = i; k > 300; k -= 64) out[blockIdx.x * blockDim.x + threadIdx.x] += in[k];
  }
}
extern "C" __global__ void other_side(int* out, const int* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, some = n / 51;
  int value = 0;
  if (some > i) value = in[i]; else value = in[i + 1] * 3;
  out[i] = shifted(value);
  if (2 * i + 1 < some) out[i] += in[2 * i + 1];
}
extern "C" __global__ void nested(int* out, const int* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, most = n / 50;
  int value = 2;
  if (in[i] % 3 != 0) {
    if (i < most) value = in[i] + in[i + 1];
    if (i < 300 && value > 4) out[i] += value;
  }
  for (int k = 0; k < 5; ++k) {
    if (i + 64 * k < most) value += in[i + 64 * k];
  }
  out[i] += shifted(value);
}
extern "C" __global__ void stepped(int* out, const int* in, int) {
  for (int n : {0, 1, 31, 32, 64, 65, 127, 128, 129, 191, 192, 600}) {
    int sum = n, last = -1;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += in[i], last = i;
    for (unsigned i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x) out[i] += in[i] + n;
    if (in[threadIdx.x] % 2 != 0)
      for (int i = threadIdx.x; i < n; i += blockDim.x) sum ^= in[i];
    out[1000 + blockIdx.x * blockDim.x + threadIdx.x] += shifted(sum) * 5 + last;
  }
}
extern "C" __global__ void sides(int* out, const int* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, most = n / 100;
  int sum = 0;
  if (i < most) {
    for (int k = i; k < most; k += 32) sum += in[k];
  } else {
    for (int k = i; k < 2 * most; k += 32) sum -= in[k];
  }
  out[i] = shifted(sum);
}
extern "C" __global__ void wide(int* out, const int* in, int n) {
  const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  int value = 0;
  if (i < (size_t)n / 77) value = in[i];
  for (size_t k = i; k < (size_t)n / 70; k += 64) value += in[k];
  for (long long k = (long long)i - 100; k < 90; k += 32) value += in[k + 200];
  out[i] = shifted(value);
}
extern "C" __global__ void sums(int* out, const int* in, int) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int sum = sum_of_all(in[i]);
  int product = in[i] % 7 + 1, mixed = in[i];
  for (int offset = 1; offset < 32; offset *= 2) product *= __shfl_xor_sync(~0u, product, offset);
  for (int offset : {8, 2, 16, 1, 4}) mixed ^= __shfl_xor_sync(~0u, mixed, offset);
  __shared__ int kept[32];
  if (threadIdx.x % 32 == 5) kept[threadIdx.x / 32] = sum / 3;
  __syncthreads();
  out[i] = sum + product + mixed * 31 + kept[0] + (sum > 60000 ? in[i] : 0);
  out[4000 + sum_of_all(in[i] % 50) % 100] = 1;
}
// Not all bits of the lane's number, one bit twice, several bits at once, and sums of lanes that others skip.
extern "C" __global__ void halves(int* out, const int* in, int) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int a = in[i], b = in[i], c = in[i], d = in[i], e = in[i], f = in[i], g = in[i];
  for (int offset = 8; offset > 0; offset >>= 1) a += __shfl_xor_sync(~0u, a, offset);
  for (int offset : {16, 8, 8, 4, 2}) b += __shfl_xor_sync(~0u, b, offset);
  for (int offset = 16; offset > 0; offset >>= 1) c -= __shfl_xor_sync(~0u, c, offset);
  if (threadIdx.x % 32 < 16)
    for (int offset = 8; offset > 0; offset >>= 1) d += __shfl_xor_sync(0xffffu, d, offset);
  e += __shfl_xor_sync(~0u, e, 31);
  for (int offset : {24, 7}) f += __shfl_xor_sync(~0u, f, offset);
  for (int offset : {3, 12, 16}) g += __shfl_xor_sync(~0u, g, offset);
  out[i] = a + 3 * b + 5 * c + 7 * d + 11 * e + 13 * f + 17 * g;
}
extern "C" __global__ void after_return(int* out, const int* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n / 40 / 32 * 32) return;
  int value = in[i];
  if (i < n / 60) value += in[i + 5];
  out[i] = sum_of_all(value) + threadIdx.x;
}
