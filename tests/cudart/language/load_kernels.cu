// SPDX-License-Identifier: Apache-2.0
// Kernels that a program compiles when it runs, and kernels of the file kernels.fatbin (files/loaded.cu): NVRTC, the
// driver's calls that load and launch, and the runtime's libraries.
#include <cuda.h>
#include <nvrtc.h>

#include <fstream>
#include <iterator>
#include <string>

#include "check.h"

#define CHECK_COMPILER(call) CHECK((call) == NVRTC_SUCCESS)
#define CHECK_DRIVER(call) CHECK((call) == CUDA_SUCCESS)

int main() {
  const char* const source =
      "#include \"scale.h\"\n__constant__ int base = 3;\nextern \"C\" __global__ void scaled(int* out, int n) {\n"
      "  if (threadIdx.x < n) out[threadIdx.x] = scale(threadIdx.x) + base + OFFSET;\n}\n";
  const char *const header = "__device__ inline int scale(int x) { return 10 * x; }\n", *const name = "scale.h";
  nvrtcProgram program;
  CHECK_COMPILER(nvrtcCreateProgram(&program, source, "scaled.cu", 1, &header, &name));
  const char* const options[] = {"-DOFFSET=1000", "-std=c++17"};
  CHECK_COMPILER(nvrtcCompileProgram(program, 2, options));
  std::size_t bytes;
  CHECK_COMPILER(nvrtcGetPTXSize(program, &bytes));
  std::string image(bytes, ' ');
  CHECK_COMPILER(nvrtcGetPTX(program, image.data()));
  CHECK_COMPILER(nvrtcDestroyProgram(&program));
  CHECK(program == nullptr);

  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction function;
  CUdeviceptr out, base;
  CHECK_DRIVER(cuInit(0));
  CHECK_DRIVER(cuDeviceGet(&device, 0));
  CHECK(cuDeviceGet(&device, 1000) == CUDA_ERROR_INVALID_DEVICE);
  char device_name[100];
  CHECK_DRIVER(cuDeviceGetName(device_name, sizeof device_name, 0));
  CHECK(device_name[0] != 0);
  CHECK_DRIVER(cuCtxCreate(&context, 0, 0));
  CHECK_DRIVER(cuModuleLoadData(&module, image.c_str()));
  CHECK_DRIVER(cuModuleGetFunction(&function, module, "scaled"));
  CHECK(cuModuleGetFunction(&function, module, "absent") == CUDA_ERROR_NOT_FOUND);
  CHECK_DRIVER(cuModuleGetFunction(&function, module, "scaled"));
  CHECK_DRIVER(cuMemAlloc(&out, 40));
  // A second module has its own variables.
  CUmodule second;
  CUfunction function_of_second;
  CUdeviceptr base_of_second;
  CHECK_DRIVER(cuModuleLoadDataEx(&second, image.c_str(), 0, nullptr, nullptr));
  CHECK_DRIVER(cuModuleGetFunction(&function_of_second, second, "scaled"));
  CHECK(function_of_second != function);
  CHECK_DRIVER(cuModuleGetGlobal(&base_of_second, nullptr, second, "base"));
  for (const int constant : {3, 5}) {
    CHECK_DRIVER(cuModuleGetGlobal(&base, &bytes, module, "base"));
    CHECK(bytes == sizeof constant);
    CHECK(base != base_of_second);
    CHECK_DRIVER(cuMemcpyHtoD(base, &constant, sizeof constant));
    int n = 10, numbers[10] = {};
    void* arguments[] = {&out, &n};
    CHECK_DRIVER(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
    CHECK_DRIVER(cuCtxSynchronize());
    CHECK_DRIVER(cuMemcpyDtoH(numbers, out, sizeof numbers));
    for (int i = 0; i < 10; ++i) CHECK(numbers[i] == 10 * i + constant + 1000);
  }
  // On a stream, with copies in its order.
  CUstream stream;
  CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  {
    int count = 10, numbers[10] = {}, zero = 0;
    void* all[] = {&out, &count};
    CHECK_DRIVER(cuMemcpyHtoDAsync(base, &zero, sizeof zero, stream));
    CHECK_DRIVER(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, all, nullptr));
    CHECK_DRIVER(cuMemcpyDtoHAsync(numbers, out, sizeof numbers, stream));
    CHECK_DRIVER(cuStreamSynchronize(stream));
    CHECK(numbers[9] == 1090);
    CHECK_DRIVER(cuMemsetD8(out, 1, 4));
    CHECK_DRIVER(cuMemcpyDtoD(out + 4, out, 4));
    CHECK_DRIVER(cuMemcpyDtoH(numbers, out, 8));
    CHECK(numbers[1] == 0x01010101);
  }
  CHECK_DRIVER(cuStreamDestroy(stream));
  CHECK_DRIVER(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK_DRIVER(cuCtxSetCurrent(context));
  CHECK_DRIVER(cuDevicePrimaryCtxRelease(0));
  CHECK_DRIVER(cuDriverGetVersion(&device));
  CHECK(device >= 12000);
  CHECK_DRIVER(cuDeviceTotalMem(&bytes, 0));
  CHECK(bytes > 0);
  CHECK_DRIVER(cuModuleUnload(module));
  CHECK(cuModuleUnload(module) == CUDA_ERROR_INVALID_HANDLE);
  int n = 1, number = 0;
  void* arguments[] = {&out, &n};
  CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr) != CUDA_SUCCESS);
  CHECK_DRIVER(cuLaunchKernel(function_of_second, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK_DRIVER(cuMemcpyDtoH(&number, out, sizeof number));
  CHECK(number == 1003);
  CHECK_DRIVER(cuModuleUnload(second));

  std::ifstream file("kernels.fatbin", std::ios::binary);
  const std::string kernels(std::istreambuf_iterator<char>(file), {});
  cudaLibrary_t library;
  cudaKernel_t add_offset;
  void* offset;
  CHECK_CALL(cudaLibraryLoadData(&library, kernels.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  CHECK_CALL(cudaLibraryGetKernel(&add_offset, library, "add_offset"));
  CHECK_CALL(cudaLaunchKernel((const void*)add_offset, 1, 1, arguments, 0, nullptr));
  const int million = 1000000;
  CHECK_CALL(cudaLibraryGetGlobal(&offset, &bytes, library, "offset"));
  CHECK_CALL(cudaMemcpy(offset, &million, sizeof million, cudaMemcpyHostToDevice));
  CHECK_CALL(cudaLaunchKernel((const void*)add_offset, 1, 1, arguments, 0, nullptr));
  CHECK_DRIVER(cuMemcpyDtoH(&number, out, sizeof number));
  CHECK(number == 1003 + 20 + million);
  CHECK_CALL(cudaLibraryUnload(library));
  CHECK_DRIVER(cuMemFree(out));
  CHECK(cuModuleLoadData(&module, "what no compiler made") != CUDA_SUCCESS);

  // Errors of the source and of the options have a log.
  CHECK_COMPILER(
      nvrtcCreateProgram(&program, "extern \"C\" __global__ void f() { nonsense; }", "f.cu", 0, nullptr, nullptr));
  CHECK(nvrtcCompileProgram(program, 0, nullptr) == NVRTC_ERROR_COMPILATION);
  CHECK_COMPILER(nvrtcGetProgramLogSize(program, &bytes));
  std::string log(bytes, ' ');
  CHECK_COMPILER(nvrtcGetProgramLog(program, log.data()));
  CHECK(log.find("nonsense") != std::string::npos);
  CHECK(nvrtcGetPTXSize(program, &bytes) != NVRTC_SUCCESS);
  const char* const unknown = "--no-such-option";
  CHECK(nvrtcCompileProgram(program, 1, &unknown) == NVRTC_ERROR_INVALID_OPTION);
  CHECK_COMPILER(nvrtcDestroyProgram(&program));
  return 0;
}
