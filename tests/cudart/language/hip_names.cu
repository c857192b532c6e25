// SPDX-License-Identifier: Apache-2.0
// HIP's names for the runtime and the language, as `weir c++ -x hip` and HIP's headers give them.
#ifndef __HIPCC__
#error "no macro of hipcc"
#endif
#include <hip/hip_bf16.h>
#include <hip/hip_complex.h>
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>
#include <hiprand/hiprand_kernel.h>

#include <cstring>
#include <hipcub/hipcub.hpp>

#include "check.h"

#define CHECK_HIP(call) CHECK((call) == hipSuccess)

#if !defined(__HIP_PLATFORM_NVIDIA__) || defined(__HIP_PLATFORM_AMD__)
#error "not the platform whose warps have 32 lanes"
#endif

__constant__ int factor;
__device__ int calls;

__global__ void scale(int n, int* x) {
  HIP_DYNAMIC_SHARED(int, part)
  const int i = hipBlockIdx_x * hipBlockDim_x + hipThreadIdx_x;
  part[threadIdx.x] = i < n ? x[i] * factor : 0;
  __syncthreads();
  if (i < n) x[i] = part[threadIdx.x];
#ifdef __HIP_DEVICE_COMPILE__
  if (i == 0) atomicAdd(&calls, 1);
#endif
}

template <class T, int by>
__global__ void sum(const T* x, T* out) {
  T one = x[threadIdx.x] * T(by);
  for (int offset = warpSize / 2; offset > 0; offset /= 2) one += __shfl_down(one, offset);
  if (threadIdx.x == 0) unsafeAtomicAdd(out, one);
}

__global__ void types(float* out) {
  typedef hipcub::BlockReduce<int, 64> Reduce;
  __shared__ Reduce::TempStorage storage;
  const int threads = Reduce(storage).Sum(1);
  if (cooperative_groups::this_thread_block().thread_rank() != 0) return;
  out[0] = (float)threads;
  out[1] = __half2float(__float2half(1.5f)) + __bfloat162float(__hip_bfloat16(0.25f));
  const hipFloatComplex product = hipCmulf(make_hipFloatComplex(0, 1), make_hipFloatComplex(0, 1));
  out[2] = hipCrealf(product) + (float)hipCimag(make_hipDoubleComplex(1, 2));
  hiprandState_t state;
  hiprand_init(1, 0, 0, &state);
  out[3] = hiprand_uniform(&state);
}

int main() {
  hipDeviceProp_t properties;
  int device = -1, lanes = 0, processors = 0;
  CHECK_HIP(hipGetDevice(&device));
  CHECK_HIP(hipGetDeviceProperties(&properties, device));
  CHECK_HIP(hipDeviceGetAttribute(&lanes, hipDeviceAttributeWarpSize, device));
  CHECK_HIP(hipDeviceGetAttribute(&processors, hipDeviceAttributeMultiprocessorCount, device));
  CHECK(lanes == 32 && properties.warpSize == 32 && properties.multiProcessorCount == processors);

  const int n = 1000;
  int *host = nullptr, *mapped = nullptr, *x = nullptr;
  CHECK_HIP(hipHostMalloc(&host, n * sizeof(int)));
  CHECK_HIP(hipHostMalloc((void**)&mapped, sizeof(int), hipHostMallocMapped));
  CHECK_HIP(hipMalloc(&x, n * sizeof(int)));
  for (int i = 0; i < n; ++i) host[i] = i;
  const int three = 3;
  CHECK_HIP(hipMemcpyToSymbol(HIP_SYMBOL(factor), &three, sizeof(three)));
  hipStream_t stream;
  hipEvent_t begin, end;
  CHECK_HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  CHECK_HIP(hipEventCreate(&begin));
  CHECK_HIP(hipEventCreateWithFlags(&end, hipEventDefault));
  CHECK_HIP(hipEventRecord(begin, stream));
  CHECK_HIP(hipMemcpyAsync(x, host, n * sizeof(int), hipMemcpyHostToDevice, stream));
  hipLaunchKernelGGL(scale, dim3((n + 255) / 256), dim3(256), 256 * sizeof(int), stream, n, x);
  CHECK_HIP(hipGetLastError());
  CHECK_HIP(hipMemcpyAsync(host, x, n * sizeof(int), hipMemcpyDeviceToHost, stream));
  CHECK_HIP(hipEventRecord(end, stream));
  CHECK_HIP(hipEventSynchronize(end));
  float milliseconds = -1;
  CHECK_HIP(hipEventElapsedTime(&milliseconds, begin, end));
  int launches = 0;
  CHECK_HIP(hipMemcpyFromSymbol(&launches, HIP_SYMBOL(calls), sizeof(launches)));
  CHECK(host[n - 1] == 3 * (n - 1) && launches == 1 && milliseconds >= 0);

  CHECK_HIP(hipMemset(x, 0, sizeof(int)));
  hipLaunchKernelGGL(HIP_KERNEL_NAME(sum<int, 2>), 1, 32, 0, 0, x + 1, x);
  CHECK_HIP(hipMemcpy(mapped, x, sizeof(int), hipMemcpyDeviceToHost));
  CHECK(*mapped == 2 * 3 * (32 * 33 / 2));

  Numbers<float, 4> out;
  types<<<1, 64>>>(out.device);
  CHECK_HIP(hipDeviceSynchronize());
  const float* const made = out.read();
  CHECK(made[0] == 64 && made[1] == 1.75f && made[2] == 1 && made[3] > 0 && made[3] <= 1);

  CHECK(hipMemcpy(x, host, sizeof(int), (hipMemcpyKind)99) == hipErrorInvalidMemcpyDirection);
  CHECK(std::strcmp(hipGetErrorName(hipErrorOutOfMemory), "cudaErrorMemoryAllocation") == 0);
  CHECK_HIP(hipHostFree(host));
  CHECK_HIP(hipHostFree(mapped));
  CHECK_HIP(hipFree(x));
  CHECK_HIP(hipStreamDestroy(stream));
  return 0;
}
