/* SPDX-License-Identifier: Apache-2.0 */
/* Functions and macros of the same names as in the helper headers of NVIDIA's samples: errors, the choice of a device. */
#ifndef COMMON_HELPER_CUDA_H_
#define COMMON_HELPER_CUDA_H_
#include <cuda_runtime.h>
#include <helper_string.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef MAX
#define MAX(a, b) (a > b ? a : b)
#endif
#ifndef MIN
#define MIN(a, b) (a < b ? a : b)
#endif

inline const char* _cudaGetErrorEnum(cudaError_t error) { return cudaGetErrorName(error); }
inline const char* _cudaGetErrorEnum(...) { return "an error"; }

template <class weir_T>
void check(weir_T result, const char* call, const char* file, int line) {
  if (result == (weir_T)0) return;
  fprintf(stderr, "CUDA error at %s:%d code=%d(%s) \"%s\" \n", file, line, (int)result, _cudaGetErrorEnum(result), call);
  exit(EXIT_FAILURE);
}
#define checkCudaErrors(value) check((value), #value, __FILE__, __LINE__)

inline bool __printLastCudaError(const char* message, const char* file, int line) {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return false;
  fprintf(stderr, "%s(%i) : getLastCudaError() CUDA error : %s : (%d) %s.\n", file, line, message, (int)error,
          cudaGetErrorString(error));
  return true;
}
#define printLastCudaError(message) __printLastCudaError(message, __FILE__, __LINE__)
inline void __getLastCudaError(const char* message, const char* file, int line) {
  if (__printLastCudaError(message, file, line)) exit(EXIT_FAILURE);
}
#define getLastCudaError(message) __getLastCudaError(message, __FILE__, __LINE__)

inline int ftoi(float value) { return value >= 0 ? (int)(value + 0.5f) : (int)(value - 0.5f); }

inline int _ConvertSMVer2Cores(int major, int minor) {
  if (major == 3) return 192;
  if (major == 6 && minor == 0) return 64;
  return major == 7 || (major == 8 && minor == 0) ? 64 : 128;
}
inline const char* _ConvertSMVer2ArchName(int major, int minor) {
  switch (major) {
    case 3: return "Kepler";
    case 5: return "Maxwell";
    case 6: return "Pascal";
    case 7: return minor >= 5 ? "Turing" : "Volta";
    case 8: return minor == 9 ? "Ada" : "Ampere";
    case 9: return "Hopper";
    default: return major >= 10 ? "Blackwell" : "Graphics Device";
  }
}

inline int weir_attribute(cudaDeviceAttr attribute, int device) {
  int value = 0;
  checkCudaErrors(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}
inline int weir_device_count() {
  int count = 0;
  checkCudaErrors(cudaGetDeviceCount(&count));
  if (count == 0) {
    fprintf(stderr, "CUDA error: no devices supporting CUDA.\n");
    exit(EXIT_FAILURE);
  }
  return count;
}
inline int gpuDeviceInit(int device) {
  const int count = weir_device_count();
  if (device < 0) device = 0;
  if (device >= count) {
    fprintf(stderr, "%d CUDA capable GPU device(s) detected; device %d is not one of them.\n", count, device);
    return -device;
  }
  checkCudaErrors(cudaSetDevice(device));
  return device;
}
/* The device with the most multiprocessors times their clock. */
inline int gpuGetMaxGflopsDeviceId() {
  int best = 0;
  double most = -1;
  const int count = weir_device_count();
  for (int device = 0; device < count; ++device) {
    const double speed =
        (double)weir_attribute(cudaDevAttrMultiProcessorCount, device) * weir_attribute(cudaDevAttrClockRate, device);
    if (speed > most) most = speed, best = device;
  }
  return best;
}
inline int findCudaDevice(int argc, const char** argv) {
  int device;
  if (checkCmdLineFlag(argc, argv, "device")) {
    device = gpuDeviceInit(getCmdLineArgumentInt(argc, argv, "device"));
    if (device < 0) exit(EXIT_FAILURE);
  } else {
    device = gpuGetMaxGflopsDeviceId();
    checkCudaErrors(cudaSetDevice(device));
  }
  const int major = weir_attribute(cudaDevAttrComputeCapabilityMajor, device);
  const int minor = weir_attribute(cudaDevAttrComputeCapabilityMinor, device);
  printf("GPU Device %d: \"%s\" with compute capability %d.%d\n\n", device, _ConvertSMVer2ArchName(major, minor), major,
         minor);
  return device;
}
inline int findIntegratedGPU() {
  const int count = weir_device_count();
  for (int device = 0; device < count; ++device) {
    if (weir_attribute(cudaDevAttrIntegrated, device) == 0) continue;
    checkCudaErrors(cudaSetDevice(device));
    return device;
  }
  fprintf(stderr, "CUDA error: no integrated GPU.\n");
  exit(EXIT_FAILURE);
}
inline bool checkCudaCapabilities(int major_version, int minor_version) {
  int device = 0;
  checkCudaErrors(cudaGetDevice(&device));
  const int major = weir_attribute(cudaDevAttrComputeCapabilityMajor, device);
  return major > major_version ||
         (major == major_version && weir_attribute(cudaDevAttrComputeCapabilityMinor, device) >= minor_version);
}

#endif
