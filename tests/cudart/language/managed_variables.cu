// SPDX-License-Identifier: Apache-2.0
// __managed__ variables: host and device code use the same memory. The program reads them before its first call of CUDA's.
#include "check.h"

__managed__ int counter;
__device__ __managed__ float values[1024] = {1, 2};
static __managed__ int hidden = 7;
static __managed__ int hidden_of_device = 100;
namespace inner {
__managed__ double number = 0.5;
}
struct Pair {
  int first, second;
  __host__ __device__ int sum() const { return first + second; }
};
__managed__ Pair pair = {3, 4};
__managed__ int of_host = 20;
__managed__ int of_device = 30;
__managed__ int* pointer;
__managed__ int forty = 40;

__host__ __device__ int bump() { return ++hidden; }

__global__ void use(int* out) {
  atomicAdd(&counter, 1);
  __syncthreads();
  values[threadIdx.x + 2] = values[threadIdx.x] + 10;
  if (threadIdx.x != 0) return;
  inner::number *= 3;
  bump();
  of_device += forty + pair.sum();
  pair.second = of_device;
  *pointer = counter + ++hidden_of_device;
  out[0] = of_device;
}

struct Places {
  int* first;
  float* second;
  int count;
};
__attribute__((noinline)) int read(const Places& places) { return *places.first + int(*places.second) + places.count; }
__attribute__((noinline)) int* one_of(bool second) { return second ? &counter : &hidden; }
int twice(int n) { return 2 * n; }

int main() {
  CHECK(counter == 0 && values[0] == 1 && values[1] == 2 && values[2] == 0 && values[1023] == 0);
  CHECK(hidden == 7 && inner::number == 0.5 && of_host == 20);
  CHECK(pair.sum() == 7 && forty == 40);
  counter = 5;
  pointer = &of_host;
  values[0] = 3;
  const int before = counter;
  Numbers<int, 1> out;
  use<<<1, 2>>>(out.device);
  CHECK_KERNEL();
  CHECK(before == 5 && counter == 7 && values[2] == 13 && values[3] == 12 && inner::number == 1.5);
  CHECK(hidden == 8 && out.read()[0] == 77 && pair.second == 77 && pair.sum() == 80 && of_host == 7 + 101);

  // Addresses, alone and in the initial values of local variables.
  int* const both[] = {&counter, &hidden};
  const Places places = {&pair.second, &values[3], 5};
  CHECK(*both[0] == 7 && *both[1] == 8 && read(places) == 77 + 12 + 5 && one_of(false) == &hidden);
  int sum = 0;
  for (int* const each : {&counter, &hidden, &of_host}) sum += *each;
  CHECK(sum == 7 + 8 + 108);
  *one_of(true) = 1;
  CHECK(counter == 1 && bump() == 9 && twice(hidden) == 18);

  // The calls for variables of the device.
  const int six = 6;
  CHECK_CALL(cudaMemcpyToSymbol(counter, &six, sizeof(six)));
  CHECK(counter == 6);
  int copied = 0;
  CHECK_CALL(cudaMemcpyFromSymbol(&copied, hidden, sizeof(copied)));
  CHECK(copied == 9);
  void* address = nullptr;
  size_t size = 0;
  CHECK_CALL(cudaGetSymbolAddress(&address, values));
  CHECK_CALL(cudaGetSymbolSize(&size, values));
  CHECK(address == values && size == sizeof(values));
  CHECK_CALL(cudaMemset(values, 0, sizeof(values)));
  CHECK(values[0] == 0 && values[3] == 0);
  cudaPointerAttributes attributes;
  CHECK_CALL(cudaPointerGetAttributes(&attributes, &counter));
  CHECK(attributes.type == cudaMemoryTypeManaged && attributes.devicePointer == &counter);
  int device = 0;
  CHECK_CALL(cudaGetDevice(&device));
#if CUDART_VERSION < 13000
  CHECK_CALL(cudaMemPrefetchAsync(values, sizeof(values), device));
  CHECK_CALL(cudaDeviceSynchronize());
#endif
  CHECK(cudaFree(&counter) == cudaErrorInvalidValue && counter == 6);
  return 0;
}
