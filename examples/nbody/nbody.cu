// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the simulation: each body attracts each other body. Plain CUDA C++, which nvcc also compiles. A body's w is
// its mass.
#include "gravity.cuh"

// One thread for each body, in blocks of TILE threads. Each block loads all bodies into shared memory, tile by tile.
extern "C" __global__ void accelerate(int n, const float4* bodies, float4* velocities, float softening, float dt) {
  __shared__ float4 tile[TILE];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = 0.0f, y = 0.0f, z = 0.0f;
  if (i < n) {
    x = bodies[i].x;
    y = bodies[i].y;
    z = bodies[i].z;
  }
  float ax = 0.0f, ay = 0.0f, az = 0.0f;
  for (int first = 0; first < n; first += TILE) {
    const int j = first + threadIdx.x;
    tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    __syncthreads();
    for (int k = 0; k < TILE; ++k) {
      const float dx = tile[k].x - x, dy = tile[k].y - y, dz = tile[k].z - z;
      const float p = pull(dx, dy, dz, tile[k].w, softening);
      ax += p * dx;
      ay += p * dy;
      az += p * dz;
    }
    __syncthreads();
  }
  if (i < n) {
    velocities[i].x += dt * ax;
    velocities[i].y += dt * ay;
    velocities[i].z += dt * az;
  }
}

extern "C" __global__ void move(int n, float4* bodies, const float4* velocities, float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  bodies[i].x += dt * velocities[i].x;
  bodies[i].y += dt * velocities[i].y;
  bodies[i].z += dt * velocities[i].z;
}

// Adds up the energy of all bodies, in blocks of TILE threads.
extern "C" __global__ void measure(int n, const float4* bodies, const float4* velocities, float softening, double* energy) {
  extern __shared__ double sums[];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  double sum = 0.0;
  if (i < n) {
    const float4 own = bodies[i], v = velocities[i];
    for (int j = 0; j < i; ++j) {
      const float4 other = bodies[j];
      sum += potential(other.x - own.x, other.y - own.y, other.z - own.z, own.w * other.w, softening);
    }
    sum += 0.5f * own.w * (v.x * v.x + v.y * v.y + v.z * v.z);
  }
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = TILE / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(energy, sums[0]);
}
