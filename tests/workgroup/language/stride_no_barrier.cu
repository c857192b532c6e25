// SPDX-License-Identifier: Apache-2.0
enum class Axis { row, column };
__device__ int column() { return threadIdx.x; }
extern "C" __global__ void k(int* out) { int c = column(); for (int i = threadIdx.x; i < 64; i += blockDim.x) out[i] = c; }
