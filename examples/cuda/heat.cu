// SPDX-License-Identifier: Apache-2.0
// Heat spreads in a plate. Two steps are captured as a graph, which is launched again and again.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CHECK(call)                                                                       \
  do {                                                                                    \
    const cudaError_t error = (call);                                                     \
    if (error != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

constexpr int width = 128, height = 96, steps = 200;

// The rim keeps its temperature.
__host__ __device__ float next(const float* t, int x, int y) {
  const int i = y * width + x;
  if (x == 0 || y == 0 || x == width - 1 || y == height - 1) return t[i];
  return t[i] + 0.2f * (t[i - 1] + t[i + 1] + t[i - width] + t[i + width] - 4 * t[i]);
}

__global__ void step(const float* before, float* after) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) after[y * width + x] = next(before, x, y);
}

int main() {
  std::vector<float> plate(width * height, 20.0f);
  for (int x = 0; x < width; ++x) plate[x] = 100.0f;  // one side is hot
  const size_t bytes = plate.size() * sizeof(float);

  float *a, *b;
  CHECK(cudaMalloc(&a, bytes));
  CHECK(cudaMalloc(&b, bytes));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMemcpyAsync(a, plate.data(), bytes, cudaMemcpyHostToDevice, stream));

  const dim3 block(32, 8), grid((width + 31) / 32, (height + 7) / 8);
  cudaGraph_t graph;
  cudaGraphExec_t two_steps;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  step<<<grid, block, 0, stream>>>(a, b);
  step<<<grid, block, 0, stream>>>(b, a);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiateWithFlags(&two_steps, graph, 0));
  for (int i = 0; i < steps; i += 2) CHECK(cudaGraphLaunch(two_steps, stream));

  std::vector<float> result(plate.size());
  CHECK(cudaMemcpyAsync(result.data(), a, bytes, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));

  std::vector<float> after(plate.size());
  for (int i = 0; i < steps; ++i, std::swap(plate, after)) {
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) after[y * width + x] = next(plate.data(), x, y);
  }
  float error = 0;
  for (size_t i = 0; i < plate.size(); ++i) error = std::fmax(error, std::fabs(result[i] - plate[i]));
  for (int y = 0; y < 20; y += 4) std::printf("row %2d: %.2f degrees\n", y, result[y * width + width / 2]);
  std::printf("largest difference from the host: %g\n", error);

  CHECK(cudaGraphExecDestroy(two_steps));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
  return !(error < 1e-3f);
}
