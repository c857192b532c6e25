// SPDX-License-Identifier: Apache-2.0
// Programs define macros of one letter and of common words on the command line, or before they include headers. This one is
// compiled with macros A to Z (tests/cudart/CMakeLists.txt). Each macro would be an error in any code that it reaches.
#define BLOCK @
#define BLOCK_DIM @
#define BLOCK_SIZE @
#define COLS @
#define DIM @
#define EPS @
#define EPSILON @
#define HEIGHT @
#define LEN @
#define MAX @
#define MIN @
#define NUM @
#define NX @
#define PI @
#define ROWS @
#define SIZE @
#define THREADS @
#define TILE @
#define TILE_SIZE @
#define TILE_WIDTH @
#define WARP_SIZE @
#define WIDTH @
#define block_size @
#define tile_size @
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuComplex.h>
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <curand_kernel.h>
#include <helper_cuda.h>
#include <helper_functions.h>
#include <math_constants.h>

#include <cub/cub.cuh>
#include <cuda/barrier>
#undef T
#include "check.h"

template <class Number>
__global__ void use(Number* out, cudaTextureObject_t texture) {
  using Reduce = cub::BlockReduce<Number, 32>;
  __shared__ typename Reduce::TempStorage storage;
  const Number sum = Reduce(storage).Sum(Number(threadIdx.x));
  const auto warp = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
  const Number most = cooperative_groups::reduce(warp, Number(threadIdx.x), cooperative_groups::greater<Number>());
  if (threadIdx.x != 0) return;
  out[0] = sum + most + Number(__vcmpeq4(1, 1) == 0xffffffffu) + Number(__half2float(__float2half(2.0f)));
  out[1] = atomicAdd(out, Number(1)) + max(Number(1), Number(2));
  if (texture != 0) out[2] = tex1Dfetch<Number>(texture, 0);
}

int main() {
  Numbers<float, 4> out;
  use<<<1, 32>>>(out.device, 0);
  CHECK_KERNEL();
  CHECK(out.read()[0] == 496 + 31 + 1 + 2 + 1 && out.host[1] == 496 + 31 + 1 + 2 + 2);
  int least = 0, block = 0;
  CHECK_CALL(cudaOccupancyMaxPotentialBlockSize(&least, &block, use<float>));
  CHECK(block >= 32);
  return 0;
}
