// SPDX-License-Identifier: Apache-2.0
// __device__ and __constant__ variables: initial values, arrays, structs, symbols by reference and by address.
#include "check.h"

struct Point {
  float x, y;
  int tag[3];
};
__device__ int table[4] = {1, 2, 3, 4};
__constant__ float weights[8];
__constant__ Point origin = {0.5f, 1.5f, {7, 8, 9}};
__device__ Point moved;
__device__ float* buffer;
constexpr int size = 6;
const int other_size = 4;

__global__ void use(float* out) {
  const int i = threadIdx.x;
  out[i] = weights[i] + table[i & 3] + origin.x + origin.tag[2] + size + other_size;
  if (i == 0) moved = origin, moved.tag[0] = 70;
  buffer[i] = float(i);
}

int main() {
  float host[8];
  for (int i = 0; i < 8; ++i) host[i] = i * 0.25f;
  CHECK_CALL(cudaMemcpyToSymbol(weights, host, sizeof(host)));
  const int fifty = 50;
  CHECK_CALL(cudaMemcpyToSymbol(table, &fifty, sizeof(int), 2 * sizeof(int)));
  Numbers<float, 8> out, memory;
  CHECK_CALL(cudaMemcpyToSymbol(buffer, &memory.device, sizeof(float*)));
  use<<<1, 8>>>(out.device);
  CHECK_KERNEL();
  const int expected[] = {1, 2, 50, 4};
  for (int i = 0; i < 8; ++i) CHECK(out.read()[i] == i * 0.25f + expected[i & 3] + 0.5f + 9 + 10);
  Point point;
  CHECK_CALL(cudaMemcpyFromSymbol(&point, moved, sizeof(point)));
  CHECK(point.tag[0] == 70 && point.tag[2] == 9 && point.y == 1.5f);
  void* address = nullptr;
  CHECK_CALL(cudaGetSymbolAddress(&address, table));
  int third = 0;
  CHECK_CALL(cudaMemcpy(&third, (int*)address + 2, sizeof(int), cudaMemcpyDeviceToHost));
  CHECK(third == 50);
  CHECK(memory.read()[5] == 5.0f);
  return 0;
}
