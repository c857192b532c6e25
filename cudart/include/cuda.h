/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA's driver interface, as far as programs load kernels with it: C++ functions over the runtime's calls. cuCtxCreate
   selects a device: there are no other contexts. */
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
typedef struct CUlib_st* CUmodule;     /* cudaLibrary_t */
typedef struct CUkern_st* CUfunction;  /* cudaKernel_t */
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
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701, CUDA_ERROR_ASSERT = 710, CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_NOT_PERMITTED = 800, CUDA_ERROR_NOT_SUPPORTED = 801, CUDA_ERROR_UNKNOWN = 999
} CUresult;
/* clang-format on */

#if __cplusplus >= 201103L
#include <cuda_runtime.h>
#define CU_LAUNCH_PARAM_END ((void*)0)
#define CU_LAUNCH_PARAM_BUFFER_POINTER ((void*)1)
#define CU_LAUNCH_PARAM_BUFFER_SIZE ((void*)2)
/* clang-format off */
typedef enum {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1, CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10, CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16, CU_DEVICE_ATTRIBUTE_INTEGRATED = 18, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
} CUdevice_attribute;
typedef enum { CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1 } CUstream_flags;
typedef enum { CU_COMPUTEMODE_DEFAULT = 0, CU_COMPUTEMODE_PROHIBITED = 2 } CUcomputemode;
struct CUctxCreateParams { void* execAffinityParams; int numExecAffinityParams; void* cigParams; };
enum CUjit_option : int;
typedef size_t (*CUoccupancyB2DSize)(int blockSize);
#define WEIR_CU(name, parameters, ...) static inline CUresult name parameters { return (CUresult)(__VA_ARGS__); }
WEIR_CU(cuInit, (unsigned int), ::cudaFree(0))
WEIR_CU(cuDeviceGetCount, (int* count), ::cudaGetDeviceCount(count))
WEIR_CU(cuDeviceGet, (CUdevice* device, int n), ::cudaDeviceGetAttribute(device, cudaDevAttrWarpSize, n) ?: (*device = n, 0))
WEIR_CU(cuDeviceGetAttribute, (int* value, CUdevice_attribute attribute, CUdevice device),
        ::cudaDeviceGetAttribute(value, (enum cudaDeviceAttr)attribute, device))
WEIR_CU(cuDeviceGetName, (char* name, int size, CUdevice device), [&](struct cudaDeviceProp p, cudaError_t error) {
  error = ::cudaGetDeviceProperties(&p, device);
  for (int i = 0; !error && i < size; ++i) name[i] = i + 1 < size && i < 256 ? p.name[i] : 0;
  return error; }({}, cudaSuccess))
WEIR_CU(cuDeviceTotalMem, (size_t* bytes, CUdevice device), [&](struct cudaDeviceProp p, cudaError_t error) {
  return error = ::cudaGetDeviceProperties(&p, device), *bytes = p.totalGlobalMem, error; }({}, cudaSuccess))
WEIR_CU(cuCtxCreate, (CUcontext* to, unsigned int, CUdevice device),
        (*to = (CUcontext)((size_t)device + 1), ::cudaSetDevice(device)))
WEIR_CU(cuCtxCreate, (CUcontext* to, CUctxCreateParams*, unsigned int, CUdevice device), cuCtxCreate(to, 0, device))
WEIR_CU(cuCtxDestroy, (CUcontext), ::cudaDeviceSynchronize())
WEIR_CU(cuCtxSetCurrent, (CUcontext context), ::cudaSetDevice((int)(size_t)context - 1))
WEIR_CU(cuDevicePrimaryCtxRetain, (CUcontext* to, CUdevice device), cuCtxCreate(to, 0, device))
WEIR_CU(cuDevicePrimaryCtxRelease, (CUdevice), ::cudaDeviceSynchronize())
WEIR_CU(cuDriverGetVersion, (int* version), ::cudaDriverGetVersion(version))
WEIR_CU(cuCtxSynchronize, (), ::cudaDeviceSynchronize())
WEIR_CU(cuModuleLoadData, (CUmodule* m, const void* code), ::cudaLibraryLoadData(m, code, 0, 0, 0, 0, 0, 0))
WEIR_CU(cuModuleLoadDataEx, (CUmodule* m, const void* code, unsigned int, CUjit_option*, void**), cuModuleLoadData(m, code))
WEIR_CU(cuModuleUnload, (CUmodule m), ::cudaLibraryUnload(m))
WEIR_CU(cuModuleGetFunction, (CUfunction* f, CUmodule m, const char* name), [](cudaError_t error) {
  return error == cudaErrorInvalidDeviceFunction ? cudaErrorSymbolNotFound : error; }(::cudaLibraryGetKernel(f, m, name)))
WEIR_CU(cuModuleGetGlobal, (CUdeviceptr* to, size_t* bytes, CUmodule m, const char* name),
        ::cudaLibraryGetGlobal((void**)to, bytes, m, name))
WEIR_CU(cuMemAlloc, (CUdeviceptr* to, size_t bytes), ::cudaMalloc((void**)to, bytes))
WEIR_CU(cuMemFree, (CUdeviceptr memory), ::cudaFree((void*)memory))
WEIR_CU(cuMemcpyHtoD, (CUdeviceptr to, const void* from, size_t n), ::cudaMemcpy((void*)to, from, n, cudaMemcpyHostToDevice))
WEIR_CU(cuMemcpyDtoH, (void* to, CUdeviceptr from, size_t n), ::cudaMemcpy(to, (void*)from, n, cudaMemcpyDeviceToHost))
WEIR_CU(cuMemcpyDtoD, (CUdeviceptr to, CUdeviceptr p, size_t n), ::cudaMemcpy((void*)to, (void*)p, n, cudaMemcpyDefault))
WEIR_CU(cuMemcpyHtoDAsync, (CUdeviceptr to, const void* from, size_t n, CUstream stream),
        ::cudaMemcpyAsync((void*)to, from, n, cudaMemcpyHostToDevice, stream))
WEIR_CU(cuMemcpyDtoHAsync, (void* to, CUdeviceptr from, size_t n, CUstream stream),
        ::cudaMemcpyAsync(to, (void*)from, n, cudaMemcpyDeviceToHost, stream))
WEIR_CU(cuMemsetD8, (CUdeviceptr to, unsigned char value, size_t n), ::cudaMemset((void*)to, value, n))
WEIR_CU(cuStreamCreate, (CUstream* stream, unsigned int flags), ::cudaStreamCreateWithFlags(stream, flags))
WEIR_CU(cuStreamSynchronize, (CUstream stream), ::cudaStreamSynchronize(stream))
WEIR_CU(cuStreamDestroy, (CUstream stream), ::cudaStreamDestroy(stream))
WEIR_CU(cuLaunchKernel,
        (CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by, unsigned int bz,
         unsigned int shared, CUstream stream, void** arguments, void** extra),
        extra ? cudaErrorNotSupported : ::cudaLaunchKernel(f, {gx, gy, gz}, {bx, by, bz}, arguments, shared, stream))
WEIR_CU(cuOccupancyMaxPotentialBlockSize,
        (int* grid, int* block, CUfunction f, CUoccupancyB2DSize bytes_of, size_t bytes, int limit),
        bytes_of ? ::cudaOccupancyMaxPotentialBlockSizeVariableSMem(grid, block, f, bytes_of, limit)
                 : ::cudaOccupancyMaxPotentialBlockSize(grid, block, f, bytes, limit))
WEIR_CU(cuGetErrorName, (CUresult error, const char** text), (*text = ::cudaGetErrorName((cudaError_t)error), 0))
WEIR_CU(cuGetErrorString, (CUresult error, const char** text), (*text = ::cudaGetErrorString((cudaError_t)error), 0))
/* clang-format on */
#undef WEIR_CU
#endif

#endif
