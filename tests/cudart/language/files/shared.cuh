// SPDX-License-Identifier: Apache-2.0
// Device code in several files (nvcc -rdc=true): what files.cu and other.cu share.
#pragma once
#include "../check.h"

struct Body {
  float mass;
  int hits;
};
extern __device__ int total;
extern __constant__ float factors[4];
__device__ float from_other(float x, Body* body);
__global__ void kernel_of_other(float* data);
int launch_other(float* data);
inline __device__ float in_both(float x) { return x + 0.5f; }
static __device__ int own;  // one for each file
