// SPDX-License-Identifier: Apache-2.0
//
// Bodies that attract each other, each pair of them: CUDA C++ as it is, for nvcc as well as for Weir.
#include "gravity.cuh"

// One thread for each body. The block walks over all bodies in tiles of shared memory.
extern "C" __global__ void accelerate(int n, const float4* bodies, float4* velocities, float softening, float dt) {
  extern __shared__ float4 tile[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 own = i < n ? bodies[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  float3 acceleration = make_float3(0.0f, 0.0f, 0.0f);
  for (int first = 0; first < n; first += blockDim.x) {
    const int j = first + threadIdx.x;
    tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    __syncthreads();
    for (int k = 0; k < blockDim.x; ++k) acceleration = attract(acceleration, own, tile[k], softening);
    __syncthreads();
  }
  if (i < n) {
    velocities[i].x += dt * acceleration.x;
    velocities[i].y += dt * acceleration.y;
    velocities[i].z += dt * acceleration.z;
  }
}

extern "C" __global__ void move(int n, float4* bodies, const float4* velocities, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  bodies[i].x += dt * velocities[i].x;
  bodies[i].y += dt * velocities[i].y;
  bodies[i].z += dt * velocities[i].z;
}

// Adds up the energy of all bodies. Blocks have a power of two threads.
extern "C" __global__ void measure(int n, const float4* bodies, const float4* velocities, float softening, double* energy) {
  extern __shared__ double sums[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  double sum = 0.0;
  if (i < n) {
    const float4 own = bodies[i], v = velocities[i];
    for (int j = 0; j < n; ++j) {
      if (j != i) sum += potential(own, bodies[j], softening);
    }
    sum += 0.5 * own.w * (v.x * v.x + v.y * v.y + v.z * v.z);
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(energy, sums[0]);
}
