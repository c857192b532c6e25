// SPDX-License-Identifier: Apache-2.0
// Kernels in the style of old CUDA samples: functions over a vector with a stride, tables in shared memory, loops that halve
// the number of threads.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
typedef unsigned int uint;

// ---------------------------------------------------------------- DCT 8x8
#define BLOCK_SIZE 8
#define KER2_BLOCK_WIDTH 32
#define KER2_BLOCK_HEIGHT 16
#define KER2_BW_LOG2 5
#define KER2_SMEMBLOCK_STRIDE (KER2_BLOCK_WIDTH + 1)
#define FMUL(x, y) ((x) * (y))
#define FIMUL(x, y) ((x) * (y))
#define IMAD(x, y, z) (__mul24((x), (y)) + (z))
#define C_a 1.387039845322148f  // a = (2^0.5) * cos(    pi / 16)
#define C_b 1.306562964876377f  // b = (2^0.5) * cos(    pi /  8)
#define C_c 1.175875602419359f  // c = (2^0.5) * cos(3 * pi / 16)
#define C_d 0.785694958387102f  // d = (2^0.5) * cos(5 * pi / 16)
#define C_e 0.541196100146197f  // e = (2^0.5) * cos(3 * pi /  8)
#define C_f 0.275899379282943f  // f = (2^0.5) * cos(7 * pi / 16)
#define C_norm 0.3535533905932737f  // 1 / (8^0.5)

__device__ void CUDAsubroutineInplaceDCTvector(float* Vect0, int Step) {
  float* Vect1 = Vect0 + Step;
  float* Vect2 = Vect1 + Step;
  float* Vect3 = Vect2 + Step;
  float* Vect4 = Vect3 + Step;
  float* Vect5 = Vect4 + Step;
  float* Vect6 = Vect5 + Step;
  float* Vect7 = Vect6 + Step;

  float X07P = (*Vect0) + (*Vect7);
  float X16P = (*Vect1) + (*Vect6);
  float X25P = (*Vect2) + (*Vect5);
  float X34P = (*Vect3) + (*Vect4);
  float X07M = (*Vect0) - (*Vect7);
  float X61M = (*Vect6) - (*Vect1);
  float X25M = (*Vect2) - (*Vect5);
  float X43M = (*Vect4) - (*Vect3);
  float X07P34PP = X07P + X34P;
  float X07P34PM = X07P - X34P;
  float X16P25PP = X16P + X25P;
  float X16P25PM = X16P - X25P;

  (*Vect0) = C_norm * (X07P34PP + X16P25PP);
  (*Vect2) = C_norm * (C_b * X07P34PM + C_e * X16P25PM);
  (*Vect4) = C_norm * (X07P34PP - X16P25PP);
  (*Vect6) = C_norm * (C_e * X07P34PM - C_b * X16P25PM);
  (*Vect1) = C_norm * (C_a * X07M - C_c * X61M + C_d * X25M - C_f * X43M);
  (*Vect3) = C_norm * (C_c * X07M + C_f * X61M - C_a * X25M + C_d * X43M);
  (*Vect5) = C_norm * (C_d * X07M + C_a * X61M + C_f * X25M - C_c * X43M);
  (*Vect7) = C_norm * (C_f * X07M + C_d * X61M + C_c * X25M + C_a * X43M);
}

extern "C" __global__ void CUDAkernel2DCT(float* dst, float* src, int ImgStride) {
  // Handle to thread block group
  cg::thread_block cta = cg::this_thread_block();
  __shared__ float block[KER2_BLOCK_HEIGHT * KER2_SMEMBLOCK_STRIDE];

  int OffsThreadInRow = threadIdx.y * BLOCK_SIZE + threadIdx.x;
  int OffsThreadInCol = threadIdx.z * BLOCK_SIZE;
  src += FMUL(blockIdx.y * KER2_BLOCK_HEIGHT + OffsThreadInCol, ImgStride) + blockIdx.x * KER2_BLOCK_WIDTH + OffsThreadInRow;
  dst += IMAD(IMAD(blockIdx.y, KER2_BLOCK_HEIGHT, OffsThreadInCol), ImgStride, IMAD(blockIdx.x, KER2_BLOCK_WIDTH, OffsThreadInRow));
  float* bl_ptr = block + OffsThreadInCol * KER2_SMEMBLOCK_STRIDE + OffsThreadInRow;

#pragma unroll
  for (unsigned int i = 0; i < BLOCK_SIZE; i++)
    bl_ptr[i * KER2_SMEMBLOCK_STRIDE] = src[i * ImgStride];

  cg::sync(cta);
  // process rows
  CUDAsubroutineInplaceDCTvector(block + (OffsThreadInCol + threadIdx.x) * KER2_SMEMBLOCK_STRIDE + OffsThreadInRow - threadIdx.x, 1);
  cg::sync(cta);
  // process columns
  CUDAsubroutineInplaceDCTvector(bl_ptr, KER2_SMEMBLOCK_STRIDE);
  cg::sync(cta);

  for (unsigned int i = 0; i < BLOCK_SIZE; i++)
    dst[i * ImgStride] = bl_ptr[i * KER2_SMEMBLOCK_STRIDE];
}

// ---------------------------------------------------------------- Sobol
#define n_directions 32
#define k_2powneg32 2.3283064E-10F
extern "C" __global__ void sobolGPU_kernel(unsigned n_vectors, unsigned n_dimensions, unsigned* d_directions, float* d_output) {
  cg::thread_block cta = cg::this_thread_block();
  __shared__ unsigned int v[n_directions];
  d_directions = d_directions + n_directions * blockIdx.y;
  d_output = d_output + n_vectors * blockIdx.y;

  // Copy the direction numbers for this dimension into shared memory - there are only 32 direction numbers so only the first 32 threads need participate.
  if (threadIdx.x < n_directions) {
    v[threadIdx.x] = d_directions[threadIdx.x];
  }
  cg::sync(cta);

  int i0 = threadIdx.x + blockIdx.x * blockDim.x;
  int stride = gridDim.x * blockDim.x;
  unsigned int g = i0 ^ (i0 >> 1);
  unsigned int X = 0;
  unsigned int mask;
  for (unsigned int k = 0; k < __ffs(stride) - 1; k++) {
    mask = -(g & 1);
    X ^= mask & v[k];
    g = g >> 1;
  }
  if (i0 < n_vectors) {
    d_output[i0] = (float)X * k_2powneg32;
  }
  unsigned int v_log2stridem1 = v[__ffs(stride) - 2];
  unsigned int v_stridemask = stride - 1;
  for (unsigned int i = i0 + stride; i < n_vectors; i += stride) {
    X ^= v_log2stridem1 ^ v[__ffs(~((i - stride) | v_stridemask)) - 1];
    d_output[i] = (float)X * k_2powneg32;
  }
}

// ---------------------------------------------------------------- Haar wavelets: early return in the middle
#define INV_SQRT_2 0.70710678118654752440f
#define LOG_NUM_BANKS 4
extern "C" __global__ void dwtHaar1D(float* id, float* od, float* approx_final, const unsigned int dlevels, const unsigned int slength_step_half, const int bdim) {
  cg::thread_block cta = cg::this_thread_block();
  extern __shared__ float shared[];
  // thread runtime environment, 1D parametrization
  const int gdim = gridDim.x;
  const int bid = blockIdx.x;
  const int tid = threadIdx.x;
  // global thread id (w.r.t. to total data set)
  const int tid_global = (bid * bdim) + tid;
  unsigned int idata = (bid * (2 * bdim)) + tid;
  // read data from global memory
  shared[tid] = id[idata];
  shared[tid + bdim] = id[idata + bdim];
  cg::sync(cta);
  // this operation has a two way bank conflicts for all threads, this are two additional cycles for each warp
  float data0 = shared[2 * tid];
  float data1 = shared[(2 * tid) + 1];
  cg::sync(cta);
  // detail coefficient, not further referenced so directly store in global memory
  od[tid_global + slength_step_half] = (data0 - data1) * INV_SQRT_2;
  // offset to avoid bank conflicts
  unsigned int atid = tid + (tid >> LOG_NUM_BANKS);
  // approximation coefficient
  shared[atid] = (data0 + data1) * INV_SQRT_2;
  // all threads have to write approximation coefficient to shared memory before next steps can take place
  cg::sync(cta);
  // early out if possible: the compiler removes this part from the source because dlevels is a constant shader input
  if (dlevels > 1) {
    // offset to second element in shared element which has to be used for the decomposition, effectively 2^(i - 1)
    unsigned int offset_neighbor = 1;
    // number of active threads per decomposition level: identiacal to the offset for the detail coefficients
    unsigned int num_threads = bdim >> 1;
    // index for the first element of the pair to process
    unsigned int idata0 = tid * 2;
    // offset levels to make the loop more efficient
    for (unsigned int i = 1; i < dlevels; ++i) {
      // Non-coalesced writes occur if the number of active threads becomes less than 16 for a block because the start address for the first block is not always aligned with 64 byte
      if (tid < num_threads) {
        // update stride, with each decomposition level the stride grows by a factor of 2
        unsigned int idata1 = idata0 + offset_neighbor;
        // position of write into global memory
        unsigned int g_wpos = (num_threads * gdim) + (bid * num_threads) + tid;
        // compute wavelet decomposition step: offset to avoid bank conflicts
        unsigned int c_idata0 = idata0 + (idata0 >> LOG_NUM_BANKS);
        unsigned int c_idata1 = idata1 + (idata1 >> LOG_NUM_BANKS);
        // detail coefficient, not further modified so directly store in global memory
        od[g_wpos] = (shared[c_idata0] - shared[c_idata1]) * INV_SQRT_2;
        // approximation coefficient: note that the representation of shared memory is rather sparse
        shared[c_idata0] = (shared[c_idata0] + shared[c_idata1]) * INV_SQRT_2;
        // update storage offset for details
        num_threads = num_threads >> 1;  // div 2
        offset_neighbor <<= 1;           // mul 2
        idata0 = idata0 << 1;            // mul 2
      }
      // sync after each decomposition step
      cg::sync(cta);
    }
    // write the top most level element for the next decomposition steps which are performed after an interrupt of the kernel
    if (0 == tid) {
      approx_final[bid] = shared[0];
    }
  }  // end early out if possible
}
