// SPDX-License-Identifier: Apache-2.0
// What the programs in this folder share. Each is a whole CUDA program for one feature of the language or one trap: main
// returns 0 if all is right. nvcc compiles them, too.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>

#define CHECK(condition)                                                           \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      return 1;                                                                    \
    }                                                                              \
  } while (0)

#define CHECK_CALL(call)                                                                             \
  do {                                                                                               \
    const cudaError_t error = (call);                                                                \
    if (error != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error)); \
      return 1;                                                                                      \
    }                                                                                                \
  } while (0)

#define CHECK_KERNEL()                   \
  do {                                   \
    CHECK_CALL(cudaGetLastError());      \
    CHECK_CALL(cudaDeviceSynchronize()); \
  } while (0)

// Numbers on the device, with a copy for the host.
template <class T, int n>
struct Numbers {
  T host[n];
  T* device = nullptr;
  Numbers() {
    for (int i = 0; i < n; ++i) host[i] = T(i);
    if (cudaMalloc((void**)&device, sizeof(host)) != cudaSuccess) std::fputs("no memory on the device\n", stderr);
    cudaMemcpy(device, host, sizeof(host), cudaMemcpyHostToDevice);
  }
  ~Numbers() { cudaFree(device); }
  Numbers(const Numbers&) = delete;
  // Waits for the kernels before.
  T* read() {
    cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost);
    return host;
  }
};
