/* SPDX-License-Identifier: Apache-2.0 */
/* Types of CUDA's driver interface, as far as programs use them beside the runtime. Weir has the runtime's calls only; using
   one that programs begin with is an error that says so. */
#ifndef __cuda_cuda_h__
#define __cuda_cuda_h__
#include <stddef.h>
#include <stdint.h>

#define CUDA_VERSION 12080

typedef unsigned long long CUdeviceptr_v2;
typedef CUdeviceptr_v2 CUdeviceptr;
typedef int CUdevice_v1;
typedef CUdevice_v1 CUdevice;
typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUarray_st* CUarray;
typedef struct CUevent_st* CUevent;
typedef struct CUstream_st* CUstream;
typedef unsigned long long CUtexObject;
typedef unsigned long long CUmemGenericAllocationHandle;

/* clang-format off */
typedef enum cudaError_enum {
  CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_OUT_OF_MEMORY = 2, CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_DEINITIALIZED = 4, CUDA_ERROR_NO_DEVICE = 100, CUDA_ERROR_INVALID_DEVICE = 101, CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201, CUDA_ERROR_NO_BINARY_FOR_GPU = 209, CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_INVALID_SOURCE = 300, CUDA_ERROR_FILE_NOT_FOUND = 301, CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500, CUDA_ERROR_NOT_READY = 600, CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701, CUDA_ERROR_LAUNCH_FAILED = 719, CUDA_ERROR_NOT_PERMITTED = 800,
  CUDA_ERROR_NOT_SUPPORTED = 801, CUDA_ERROR_UNKNOWN = 999
} CUresult;
/* clang-format on */

#if defined(__has_attribute)
#if __has_attribute(unavailable)
#define WEIR_CU_UNAVAILABLE(text) __attribute__((unavailable(text)))
#endif
#endif
#ifndef WEIR_CU_UNAVAILABLE
#define WEIR_CU_UNAVAILABLE(text) __attribute__((error(text)))
#endif
#ifdef __cplusplus
#define WEIR_CU_ANYTHING ...
extern "C" {
#else
#define WEIR_CU_ANYTHING
#endif
#define WEIR_CU(name)                                                                                              \
  extern CUresult name(WEIR_CU_ANYTHING) WEIR_CU_UNAVAILABLE(                                                      \
      #name " belongs to CUDA's driver interface, which Weir's CUDA runtime does not have; see docs/cuda-programs.md");
WEIR_CU(cuInit) WEIR_CU(cuDriverGetVersion) WEIR_CU(cuDeviceGet) WEIR_CU(cuDeviceGetCount) WEIR_CU(cuDeviceGetName)
WEIR_CU(cuDeviceGetAttribute) WEIR_CU(cuDevicePrimaryCtxRetain) WEIR_CU(cuCtxCreate) WEIR_CU(cuCtxSetCurrent)
WEIR_CU(cuCtxGetCurrent) WEIR_CU(cuCtxSynchronize) WEIR_CU(cuModuleLoad) WEIR_CU(cuModuleLoadData)
WEIR_CU(cuModuleLoadDataEx) WEIR_CU(cuModuleGetFunction) WEIR_CU(cuLinkCreate) WEIR_CU(cuMemAlloc) WEIR_CU(cuMemFree)
WEIR_CU(cuMemcpyHtoD) WEIR_CU(cuMemcpyDtoH) WEIR_CU(cuMemcpyHtoDAsync) WEIR_CU(cuMemcpyDtoHAsync) WEIR_CU(cuMemCreate)
WEIR_CU(cuMemAddressReserve) WEIR_CU(cuPointerGetAttribute) WEIR_CU(cuLaunchKernel) WEIR_CU(cuFuncSetAttribute)
WEIR_CU(cuStreamCreate) WEIR_CU(cuStreamWaitValue32) WEIR_CU(cuStreamWriteValue32) WEIR_CU(cuEventCreate)
WEIR_CU(cuGetErrorName) WEIR_CU(cuGetErrorString) WEIR_CU(cuGetProcAddress) WEIR_CU(cuTensorMapEncodeTiled)
#undef WEIR_CU
#undef WEIR_CU_ANYTHING
#undef WEIR_CU_UNAVAILABLE
#ifdef __cplusplus
}
#endif

#endif
