// SPDX-License-Identifier: Apache-2.0
// The headers that NVIDIA's samples share, the driver's types and CUDA's complex numbers.
#include <cuComplex.h>
#include <cuda.h>
#include <device_launch_parameters.h>
#include <helper_cuda.h>
#include <helper_functions.h>
#include <math_functions.h>

__global__ void multiply(cuFloatComplex* x, cuDoubleComplex y) {
  x[threadIdx.x] = cuCmulf(x[threadIdx.x], cuComplexDoubleToFloat(y));
  if (cuCabs(y) > 100) x[threadIdx.x] = cuCdivf(x[threadIdx.x], make_cuComplex(1, 1));
}

int main() {
  const char* arguments[] = {"program", "--n=12", "-fast", "--rate=0.5", "--name=text"};
  char* text = nullptr;
  if (getCmdLineArgumentInt(5, arguments, "n") != 12 || !checkCmdLineFlag(5, arguments, "fast")) return 1;
  if (checkCmdLineFlag(5, arguments, "fas") || getCmdLineArgumentFloat(5, arguments, "rate") != 0.5f) return 1;
  if (!getCmdLineArgumentString(5, arguments, "name", &text) || std::string(text) != "text") return 1;
  findCudaDevice(1, arguments);
  StopWatchInterface* timer = nullptr;
  sdkCreateTimer(&timer);
  sdkStartTimer(&timer);
  cuFloatComplex host[4] = {{1, 0}, {0, 1}, {2, 2}, {3, -1}}, *data;
  checkCudaErrors(cudaMalloc((void**)&data, sizeof(host)));
  checkCudaErrors(cudaMemcpy(data, host, sizeof(host), cudaMemcpyHostToDevice));
  multiply<<<1, 4>>>(data, make_cuDoubleComplex(0, 2));
  getLastCudaError("multiply");
  checkCudaErrors(cudaMemcpy(host, data, sizeof(host), cudaMemcpyDeviceToHost));
  sdkStopTimer(&timer);
  if (sdkGetTimerValue(&timer) < 0 || host[1].x != -2 || host[3].x != 2 || host[3].y != 6) return 1;
  sdkDeleteTimer(&timer);
  const CUdeviceptr address = (CUdeviceptr)(uintptr_t)data;
  const CUresult result = address != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  if (result != CUDA_SUCCESS) return 1;
  checkCudaErrors(cudaFree(data));
  return 0;
}
