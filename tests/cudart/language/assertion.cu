// SPDX-License-Identifier: Apache-2.0
// A failed assertion of a kernel makes later calls fail; one that holds does nothing; host code asserts, too.
#include <unistd.h>

#include <cassert>
#include <string>

#include "check.h"

__host__ __device__ int checked(int x) {
  assert(x >= 0);
  return x + 1;
}
__global__ void hold(int* out) { out[threadIdx.x] = checked(int(threadIdx.x)); }
__global__ void fail(int limit) { assert(int(threadIdx.x) < limit && "too many"); }

int main() {
  Numbers<int, 4> out;
  hold<<<1, 4>>>(out.device);
  CHECK_KERNEL();
  CHECK(out.read()[3] == checked(3));
  // The text on standard error.
  std::FILE* const text = std::tmpfile();
  const int before = dup(2);
  dup2(fileno(text), 2);
  fail<<<1, 32>>>(8);
  const cudaError_t error = cudaDeviceSynchronize();
  dup2(before, 2);
  CHECK(error == cudaErrorAssert);
  CHECK(cudaDeviceSynchronize() == cudaErrorAssert);
  std::rewind(text);
  std::string line(1000, '\0');
  line.resize(std::fread(&line[0], 1, line.size(), text));
  CHECK(line.find("assertion.cu:15: ") != std::string::npos);
  CHECK(line.find("Assertion `int(threadIdx.x) < limit && \"too many\"` failed.\n") != std::string::npos);
  return 0;
}
