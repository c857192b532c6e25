// SPDX-License-Identifier: Apache-2.0
// Copies and kernels overlap: each piece of the data goes to the device, through a kernel and back on one of several
// streams.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                       \
  do {                                                                                    \
    const cudaError_t error = (call);                                                     \
    if (error != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

// The number of steps until n reaches 1: halve it if it is even, else take 3 n + 1.
__host__ __device__ int collatz(unsigned long long n) {
  int steps = 0;
  for (; n != 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
  return steps;
}

__global__ void count_steps(const unsigned* numbers, int* steps, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) steps[i] = collatz(numbers[i]);
}

int main() {
  constexpr int n = 1 << 18, pieces = 16, piece = n / pieces, streams = 4;
  unsigned *numbers, *device_numbers[streams];
  int *steps, *device_steps[streams];
  CHECK(cudaMallocHost(&numbers, n * sizeof(unsigned)));  // pinned: only such copies overlap
  CHECK(cudaMallocHost(&steps, n * sizeof(int)));
  for (int i = 0; i < n; ++i) numbers[i] = i + 1;

  cudaStream_t stream[streams];
  for (int s = 0; s < streams; ++s) {
    CHECK(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
    CHECK(cudaMalloc(&device_numbers[s], piece * sizeof(unsigned)));
    CHECK(cudaMalloc(&device_steps[s], piece * sizeof(int)));
  }
  for (int p = 0; p < pieces; ++p) {
    const int s = p % streams, first = p * piece;
    CHECK(cudaMemcpyAsync(device_numbers[s], numbers + first, piece * sizeof(unsigned), cudaMemcpyHostToDevice, stream[s]));
    count_steps<<<(piece + 255) / 256, 256, 0, stream[s]>>>(device_numbers[s], device_steps[s], piece);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(steps + first, device_steps[s], piece * sizeof(int), cudaMemcpyDeviceToHost, stream[s]));
  }
  for (int s = 0; s < streams; ++s) CHECK(cudaStreamSynchronize(stream[s]));

  int longest = 0, wrong = 0;
  for (int i = 0; i < n; ++i) {
    wrong += steps[i] != collatz(numbers[i]);
    if (steps[i] > steps[longest]) longest = i;
  }
  std::printf("%u takes %d steps, more than any other number up to %d; %d are wrong\n", numbers[longest], steps[longest], n,
              wrong);

  for (int s = 0; s < streams; ++s) {
    CHECK(cudaStreamDestroy(stream[s]));
    CHECK(cudaFree(device_numbers[s]));
    CHECK(cudaFree(device_steps[s]));
  }
  CHECK(cudaFreeHost(numbers));
  CHECK(cudaFreeHost(steps));
  return wrong != 0;
}
