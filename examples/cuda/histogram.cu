// SPDX-License-Identifier: Apache-2.0
// Counts letters: managed memory, a table in constant memory, atomics in shared and in global memory.
#include <cuda_runtime.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                                       \
  do {                                                                                    \
    const cudaError_t error = (call);                                                     \
    if (error != cudaSuccess) {                                                           \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

constexpr int bins = 27;  // the letters, and all other characters

__constant__ unsigned char bin_of[256];

__global__ void count(const unsigned char* text, int n, unsigned* counts) {
  __shared__ unsigned mine[bins];
  for (int i = threadIdx.x; i < bins; i += blockDim.x) mine[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&mine[bin_of[text[i]]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < bins; i += blockDim.x) atomicAdd(&counts[i], mine[i]);
}

int main() {
  const char sentence[] = "The quick brown fox jumps over the lazy dog. ";
  const int length = sizeof sentence - 1, n = 10000 * length;

  unsigned char table[256];
  for (int c = 0; c < 256; ++c) table[c] = c < 128 && std::isalpha(c) ? std::tolower(c) - 'a' : bins - 1;
  CHECK(cudaMemcpyToSymbol(bin_of, table, sizeof table));

  unsigned char* text;
  unsigned* counts;
  CHECK(cudaMallocManaged(&text, n));
  CHECK(cudaMallocManaged(&counts, bins * sizeof(unsigned)));
  for (int i = 0; i < n; ++i) text[i] = sentence[i % length];
  std::memset(counts, 0, bins * sizeof(unsigned));

  count<<<32, 256>>>(text, n, counts);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());

  unsigned expected[bins] = {};
  for (int i = 0; i < n; ++i) ++expected[table[text[i]]];
  for (int i = 0; i < bins - 1; ++i) std::printf("%c %u%s", 'a' + i, counts[i], i % 9 == 8 ? "\n" : "  ");
  std::printf("others %u\n", counts[bins - 1]);
  const bool right = std::memcmp(counts, expected, sizeof expected) == 0;

  CHECK(cudaFree(text));
  CHECK(cudaFree(counts));
  return !right;
}
