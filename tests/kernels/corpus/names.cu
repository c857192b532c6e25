// Macros of a program do not change the headers that it includes after them. (x, y, z, w and value are members of types of CUDA.)
#define A 256
#define B 256
#define C 256
#define D 256
#define E 256
#define F 256
#define G 256
#define H 256
#define I 256
#define J 256
#define K 256
#define L 256
#define M 256
#define N 256
#define O 256
#define P 256
#define Q 256
#define R 256
#define S 256
#define T float
#define U 256
#define V 256
#define W 256
#define X 256
#define Y 256
#define Z 256
#define a 256
#define b 256
#define c 256
#define d 256
#define e 256
#define f 256
#define g 256
#define h 256
#define i 256
#define j 256
#define k 256
#define l 256
#define m 256
#define n 256
#define o 256
#define p 256
#define q 256
#define r 256
#define s 256
#define t 256
#define u 256
#define v 256
#define BLOCK 256
#define TILE 256
#define SIZE 256
#define WARP 256
#define op 256
#define rank 256
#define lane 256
#define lanes 256
#define mask 256
#define values 256
#define count 256
#define index 256
#define result 256
#define first 256
#define last 256
#define left 256
#define right 256
#define sum 256
#define tile 256
#define group 256
#define parent 256
#define width 256
#define delta 256
#define block 256
#define grid 256
#define thread 256
#define step 256
#define bits 256
#define other 256
#define same 256
#define number 256
#define named 256
#define predicate 256
#define label 256
#define item 256
#define items 256
#define input 256
#define output 256
#define in 256
#define out 256
#define data 256
#define head 256
#define tail 256
#define valid 256
#define length 256
#if (defined(__CUDACC_RTC__) && !defined(__WEIR_HOST__) && !defined(__clang__)) || defined(__HIPCC_RTC__)
#include <stddef.h>
#include <stdint.h>
#include <limits.h>
#include <float.h>
#include <math.h>
#include <algorithm>
#endif
#include <math_constants.h>
#include <cub/cub.cuh>
#if !defined(__CUDACC_RTC__) || defined(__WEIR_HOST__)  // NVRTC reads NVIDIA's, which have such names
#if !defined(__HIP__) || defined(__HIPCC_RTC__)  // hipcc reads AMD's, which have such names
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#endif
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#endif
#ifdef __WEIR_HOST__
#include <cuda_fp8.h>
#endif
#undef A
#undef B
#undef C
#undef D
#undef E
#undef F
#undef G
#undef H
#undef I
#undef J
#undef K
#undef L
#undef M
#undef N
#undef O
#undef P
#undef Q
#undef R
#undef S
#undef T
#undef U
#undef V
#undef W
#undef X
#undef Y
#undef Z
#undef a
#undef b
#undef c
#undef d
#undef e
#undef f
#undef g
#undef h
#undef i
#undef j
#undef k
#undef l
#undef m
#undef n
#undef o
#undef p
#undef q
#undef r
#undef s
#undef t
#undef u
#undef v
#undef BLOCK
#undef TILE
#undef SIZE
#undef WARP
#undef op
#undef rank
#undef lane
#undef lanes
#undef mask
#undef values
#undef count
#undef index
#undef result
#undef first
#undef last
#undef left
#undef right
#undef sum
#undef tile
#undef group
#undef parent
#undef width
#undef delta
#undef block
#undef grid
#undef thread
#undef step
#undef bits
#undef other
#undef same
#undef number
#undef named
#undef predicate
#undef label
#undef item
#undef items
#undef input
#undef output
#undef in
#undef out
#undef data
#undef head
#undef tail
#undef valid
#undef length
#include <cooperative_groups.h>
#include <cuda_fp16.h>

// A program's own function may have the name of one in a namespace.
__device__ int coalesced_threads() { return 3; }

extern "C" __global__ void named(const int* in, int* out) {
  using Reduce = cub::BlockReduce<int, 64>;
  __shared__ Reduce::TempStorage memory;
  const int sum = Reduce(memory).Sum(in[threadIdx.x]);
  const cooperative_groups::coalesced_group together = cooperative_groups::coalesced_threads();
  const half two = __float2half(2.0f);
  if (threadIdx.x == 0) out[0] = sum, out[1] = (int)together.size(), out[2] = (int)__half2float(two * two) + coalesced_threads();
}
