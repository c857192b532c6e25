// SPDX-License-Identifier: Apache-2.0
// Kernels in the style of the CUDA samples and of SHOC.

#define KERNEL_RADIUS 8
#define KERNEL_LENGTH (2 * KERNEL_RADIUS + 1)
__constant__ float c_Kernel[KERNEL_LENGTH];

#define ROWS_BLOCKDIM_X 16
#define ROWS_BLOCKDIM_Y 4
#define ROWS_RESULT_STEPS 4
#define ROWS_HALO_STEPS 1
extern "C" __global__ void convolutionRowsKernel(float* d_Dst, float* d_Src, int imageW, int imageH, int pitch) {
  __shared__ float s_Data[ROWS_BLOCKDIM_Y][(ROWS_RESULT_STEPS + 2 * ROWS_HALO_STEPS) * ROWS_BLOCKDIM_X];
  const int baseX = (blockIdx.x * ROWS_RESULT_STEPS - ROWS_HALO_STEPS) * ROWS_BLOCKDIM_X + threadIdx.x;
  const int baseY = blockIdx.y * ROWS_BLOCKDIM_Y + threadIdx.y;
  d_Src += baseY * pitch + baseX;
  d_Dst += baseY * pitch + baseX;
#pragma unroll
  for (int i = ROWS_HALO_STEPS; i < ROWS_HALO_STEPS + ROWS_RESULT_STEPS; i++) {
    s_Data[threadIdx.y][threadIdx.x + i * ROWS_BLOCKDIM_X] = d_Src[i * ROWS_BLOCKDIM_X];
  }
#pragma unroll
  for (int i = 0; i < ROWS_HALO_STEPS; i++) {
    s_Data[threadIdx.y][threadIdx.x + i * ROWS_BLOCKDIM_X] = (baseX >= -i * ROWS_BLOCKDIM_X) ? d_Src[i * ROWS_BLOCKDIM_X] : 0;
  }
#pragma unroll
  for (int i = ROWS_HALO_STEPS + ROWS_RESULT_STEPS; i < ROWS_HALO_STEPS + ROWS_RESULT_STEPS + ROWS_HALO_STEPS; i++) {
    s_Data[threadIdx.y][threadIdx.x + i * ROWS_BLOCKDIM_X] = (imageW - baseX > i * ROWS_BLOCKDIM_X) ? d_Src[i * ROWS_BLOCKDIM_X] : 0;
  }
  __syncthreads();
#pragma unroll
  for (int i = ROWS_HALO_STEPS; i < ROWS_HALO_STEPS + ROWS_RESULT_STEPS; i++) {
    float sum = 0;
#pragma unroll
    for (int j = -KERNEL_RADIUS; j <= KERNEL_RADIUS; j++) {
      sum += c_Kernel[KERNEL_RADIUS - j] * s_Data[threadIdx.y][threadIdx.x + i * ROWS_BLOCKDIM_X + j];
    }
    d_Dst[i * ROWS_BLOCKDIM_X] = sum;
  }
}

typedef unsigned int uint;
typedef unsigned char uchar;
#define UMUL(a, b) ((a) * (b))
#define HISTOGRAM64_THREADBLOCK_SIZE 64
#define HISTOGRAM64_BIN_COUNT 64
inline __device__ void addByte(uchar* s_ThreadBase, uint data) { s_ThreadBase[UMUL(data, HISTOGRAM64_THREADBLOCK_SIZE)]++; }
inline __device__ void addWord(uchar* s_ThreadBase, uint data) {
  addByte(s_ThreadBase, (data >> 2) & 0x3FU);
  addByte(s_ThreadBase, (data >> 10) & 0x3FU);
  addByte(s_ThreadBase, (data >> 18) & 0x3FU);
  addByte(s_ThreadBase, (data >> 26) & 0x3FU);
}
// Counters of bytes in shared memory, each thread its own, in a permuted place.
extern "C" __global__ void histogram64Kernel(uint* d_PartialHistograms, uint4* d_Data, uint dataCount) {
  const uint threadPos = ((threadIdx.x & ~(HISTOGRAM64_BIN_COUNT - 1)) << 0) | ((threadIdx.x & (16 - 1)) << 2) | ((threadIdx.x & (16 * 3)) >> 4);
  __shared__ uchar s_Hist[HISTOGRAM64_THREADBLOCK_SIZE * HISTOGRAM64_BIN_COUNT];
  uchar* s_ThreadBase = s_Hist + threadPos;
#pragma unroll
  for (uint i = 0; i < (HISTOGRAM64_BIN_COUNT / 4); i++) {
    ((uint*)s_Hist)[threadIdx.x + i * HISTOGRAM64_THREADBLOCK_SIZE] = 0;
  }
  __syncthreads();
  for (uint pos = UMUL(blockIdx.x, blockDim.x) + threadIdx.x; pos < dataCount; pos += UMUL(blockDim.x, gridDim.x)) {
    uint4 data = d_Data[pos];
    addWord(s_ThreadBase, data.x);
    addWord(s_ThreadBase, data.y);
    addWord(s_ThreadBase, data.z);
    addWord(s_ThreadBase, data.w);
  }
  __syncthreads();
  if (threadIdx.x < HISTOGRAM64_BIN_COUNT) {
    uchar* s_HistBase = s_Hist + UMUL(threadIdx.x, HISTOGRAM64_THREADBLOCK_SIZE);
    uint sum = 0;
    uint pos = 4 * (threadIdx.x & (16 - 1));
#pragma unroll
    for (uint i = 0; i < (HISTOGRAM64_THREADBLOCK_SIZE / 4); i++) {
      sum += s_HistBase[pos + 0] + s_HistBase[pos + 1] + s_HistBase[pos + 2] + s_HistBase[pos + 3];
      pos = (pos + 4) & (HISTOGRAM64_THREADBLOCK_SIZE - 1);
    }
    d_PartialHistograms[blockIdx.x * HISTOGRAM64_BIN_COUNT + threadIdx.x] = sum;
  }
}

// SHOC's: an FFT of 512 points by a block of 64, eight a thread.
#define M_SQRT1_2F 0.70710678118654752440f
typedef float2 T2;
inline __device__ T2 cmul(T2 a, T2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
inline __device__ T2 cadd(T2 a, T2 b) { return make_float2(a.x + b.x, a.y + b.y); }
inline __device__ T2 csub(T2 a, T2 b) { return make_float2(a.x - b.x, a.y - b.y); }
inline __device__ T2 exp_i(float phi) { return make_float2(cosf(phi), sinf(phi)); }
#define exp_1_8 make_float2(1, -1)
#define exp_1_4 make_float2(0, -1)
#define exp_3_8 make_float2(-1, -1)
__device__ inline void FFT2(T2* v) { T2 v0 = v[0]; v[0] = cadd(v0, v[1]); v[1] = csub(v0, v[1]); }
__device__ inline void swap2(T2* a, T2* b) { T2 t = *a; *a = *b; *b = t; }
__device__ inline void FFT4(T2* v0, T2* v1, T2* v2, T2* v3) {
  T2 t[2];
  t[0] = *v0; t[1] = *v2; FFT2(t); *v0 = t[0]; *v2 = t[1];
  t[0] = *v1; t[1] = *v3; FFT2(t); *v1 = t[0]; *v3 = t[1];
  *v3 = cmul(*v3, exp_1_4);
  t[0] = *v0; t[1] = *v1; FFT2(t); *v0 = t[0]; *v1 = t[1];
  t[0] = *v2; t[1] = *v3; FFT2(t); *v2 = t[0]; *v3 = t[1];
}
__device__ inline void FFT8(T2* v) {
  T2 t[2];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    t[0] = v[i]; t[1] = v[i + 4]; FFT2(t); v[i] = t[0]; v[i + 4] = t[1];
  }
  v[5] = cmul(v[5], exp_1_8);
  v[5].x *= M_SQRT1_2F; v[5].y *= M_SQRT1_2F;
  v[6] = cmul(v[6], exp_1_4);
  v[7] = cmul(v[7], exp_3_8);
  v[7].x *= M_SQRT1_2F; v[7].y *= M_SQRT1_2F;
  FFT4(&v[0], &v[1], &v[2], &v[3]);
  FFT4(&v[4], &v[5], &v[6], &v[7]);
}
__device__ inline int rev8(int i) { return ((i & 1) << 2) | (i & 2) | ((i & 4) >> 2); }
__device__ inline void twiddle8(T2* v, int i, int n) {
#pragma unroll
  for (int j = 1; j < 8; j++) v[j] = cmul(v[j], exp_i((-2.0f * 3.14159265f * rev8(j) / n) * i));
}
__device__ inline void transpose(T2* x, float* s, int ds, float* l, int dl, int sync = 0xf) {
#pragma unroll
  for (int i = 0; i < 8; i++) s[rev8(i) * ds] = x[i].x;
  if (sync & 8) __syncthreads();
#pragma unroll
  for (int i = 0; i < 8; i++) x[i].x = l[i * dl];
  if (sync & 4) __syncthreads();
#pragma unroll
  for (int i = 0; i < 8; i++) s[rev8(i) * ds] = x[i].y;
  if (sync & 2) __syncthreads();
#pragma unroll
  for (int i = 0; i < 8; i++) x[i].y = l[i * dl];
  if (sync & 1) __syncthreads();
}
extern "C" __global__ void FFT512_device(T2* work) {
  int tid = threadIdx.x;
  work += (blockIdx.y * gridDim.x + blockIdx.x) * 512 + tid;
  int hi = tid >> 3;
  int lo = tid & 7;
  T2 data[8];
  __shared__ float smem[8 * 8 * 9];
#pragma unroll
  for (int i = 0; i < 8; i++) data[i] = work[i * 64];
  FFT8(data);
  twiddle8(data, tid, 512);
  transpose(data, &smem[hi * 8 + lo], 66, &smem[lo * 66 + hi], 8);
  FFT8(data);
  twiddle8(data, hi, 64);
  transpose(data, &smem[hi * 8 + lo], 8 * 9, &smem[hi * 8 * 9 + lo], 8, 0xE);
  FFT8(data);
#pragma unroll
  for (int i = 0; i < 8; i++) work[rev8(i) * 64] = data[i];
}
