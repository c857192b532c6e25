// SPDX-License-Identifier: Apache-2.0
// y = a x + y, timed with events.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                       \
  do {                                                                                    \
    const cudaError_t error = (call);                                                     \
    if (error != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

__global__ void saxpy(int n, float a, const float* __restrict__ x, float* __restrict__ y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

int main() {
  const int n = 1 << 20, launches = 10;
  const size_t bytes = n * sizeof(float);
  const std::vector<float> x(n, 2.0f);
  std::vector<float> y(n, 1.0f);

  float *device_x, *device_y;
  CHECK(cudaMalloc(&device_x, bytes));
  CHECK(cudaMalloc(&device_y, bytes));
  CHECK(cudaMemcpy(device_x, x.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(device_y, y.data(), bytes, cudaMemcpyHostToDevice));

  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  CHECK(cudaEventRecord(start));
  for (int i = 0; i < launches; ++i) saxpy<<<(n + 255) / 256, 256>>>(n, 3.0f, device_x, device_y);
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventSynchronize(stop));
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, start, stop));

  CHECK(cudaMemcpy(y.data(), device_y, bytes, cudaMemcpyDeviceToHost));
  int wrong = 0;
  for (float value : y) wrong += value != 1.0f + launches * 6.0f;

  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  std::printf("%s: %d launches, %.1f GB/s\n", properties.name, launches, 3e-6 * bytes * launches / milliseconds);
  std::printf("%d of %d elements are wrong\n", wrong, n);

  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(stop));
  CHECK(cudaFree(device_x));
  CHECK(cudaFree(device_y));
  return wrong != 0;
}
