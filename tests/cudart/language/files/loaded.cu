// SPDX-License-Identifier: Apache-2.0
// The kernels of load_kernels.cu's kernels.fatbin.
__device__ int offset = 20;

extern "C" __global__ void add_offset(int* data) { data[threadIdx.x] += offset; }
