/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEIR_CUDA_TEMPLATES_H
#define WEIR_CUDA_TEMPLATES_H

/* The part of CUDA's runtime that is for C++ only: overloads that take typed pointers, kernels and variables, and the forms
   of calls that CUDA 11 and 13 have. */

#include "cuda_runtime_api.h"

#ifdef __cplusplus
#if __cplusplus >= 201103L
#include <utility>
#endif

/* clang-format off */
#define WEIR_CUDA_OVERLOAD_OF(call, name, parameters, arguments) \
  template <class weir_T> static inline cudaError_t name parameters { return ::call arguments; }
#define WEIR_CUDA_OVERLOAD(name, parameters, arguments) WEIR_CUDA_OVERLOAD_OF(name, name, parameters, arguments)

/* --- Memory */

WEIR_CUDA_OVERLOAD(cudaMalloc, (weir_T** pointer, size_t bytes), ((void**)(void*)pointer, bytes))
WEIR_CUDA_OVERLOAD_OF(cudaHostAlloc, cudaMallocHost, (weir_T** pointer, size_t bytes, unsigned int flags = 0),
                      ((void**)(void*)pointer, bytes, flags))
WEIR_CUDA_OVERLOAD(cudaHostAlloc, (weir_T** pointer, size_t bytes, unsigned flags), ((void**)(void*)pointer, bytes, flags))
WEIR_CUDA_OVERLOAD(cudaHostGetDevicePointer, (weir_T** device, void* host, unsigned int flags),
                   ((void**)(void*)device, host, flags))
WEIR_CUDA_OVERLOAD(cudaMallocManaged, (weir_T** pointer, size_t bytes, unsigned int flags = cudaMemAttachGlobal),
                   ((void**)(void*)pointer, bytes, flags))
WEIR_CUDA_OVERLOAD(cudaMallocPitch, (weir_T** pointer, size_t* pitch, size_t width, size_t height),
                   ((void**)(void*)pointer, pitch, width, height))
WEIR_CUDA_OVERLOAD(cudaMallocAsync, (weir_T** pointer, size_t bytes, cudaStream_t stream),
                   ((void**)(void*)pointer, bytes, stream))
WEIR_CUDA_OVERLOAD_OF(cudaMallocFromPoolAsync, cudaMallocAsync,
                      (weir_T** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
                      ((void**)(void*)pointer, bytes, pool, stream))
WEIR_CUDA_OVERLOAD(cudaMallocFromPoolAsync, (weir_T** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),
                   ((void**)(void*)pointer, bytes, pool, stream))
WEIR_CUDA_OVERLOAD(cudaStreamAttachMemAsync, (cudaStream_t stream, weir_T* pointer, size_t bytes = 0,
                    unsigned int flags = cudaMemAttachSingle),
                   (stream, (void*)pointer, bytes, flags))
static inline int weir_cuda_device(cudaMemLocation location) {
  return location.type == cudaMemLocationTypeDevice ? location.id : cudaCpuDeviceId;
}
static inline cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation location, unsigned int,
                                               cudaStream_t stream = 0) {
  return ::cudaMemPrefetchAsync(pointer, bytes, weir_cuda_device(location), stream);
}
static inline cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                                        cudaMemLocation location) {
  return ::cudaMemAdvise(pointer, bytes, advice, weir_cuda_device(location));
}

static inline cudaPitchedPtr make_cudaPitchedPtr(void* pointer, size_t pitch, size_t xsize, size_t ysize) {
  cudaPitchedPtr made = {pointer, pitch, xsize, ysize};
  return made;
}
static inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) { cudaPos made = {x, y, z}; return made; }
static inline cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) {
  cudaExtent made = {width, height, depth};
  return made;
}

/* --- Variables of the device. A variable's address identifies it. */

template <class weir_T>
static inline const void* weir_cuda_symbol(const weir_T& symbol) {
  return (const void*)&reinterpret_cast<const volatile char&>(symbol);
}
WEIR_CUDA_OVERLOAD(cudaGetSymbolAddress, (void** pointer, const weir_T& symbol), (pointer, weir_cuda_symbol(symbol)))
template <class weir_U, class weir_T>
static inline cudaError_t cudaGetSymbolAddress(weir_U** pointer, const weir_T& symbol) {
  return ::cudaGetSymbolAddress((void**)(void*)pointer, weir_cuda_symbol(symbol));
}
WEIR_CUDA_OVERLOAD(cudaGetSymbolSize, (size_t* bytes, const weir_T& symbol), (bytes, weir_cuda_symbol(symbol)))
WEIR_CUDA_OVERLOAD(cudaMemcpyToSymbol, (const weir_T& symbol, const void* from, size_t bytes, size_t offset = 0,
                    cudaMemcpyKind kind = cudaMemcpyHostToDevice),
                   (weir_cuda_symbol(symbol), from, bytes, offset, kind))
WEIR_CUDA_OVERLOAD(cudaMemcpyFromSymbol, (void* to, const weir_T& symbol, size_t bytes, size_t offset = 0,
                    cudaMemcpyKind kind = cudaMemcpyDeviceToHost),
                   (to, weir_cuda_symbol(symbol), bytes, offset, kind))
WEIR_CUDA_OVERLOAD(cudaMemcpyToSymbolAsync, (const weir_T& symbol, const void* from, size_t bytes, size_t offset = 0,
                    cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = 0),
                   (weir_cuda_symbol(symbol), from, bytes, offset, kind, stream))
WEIR_CUDA_OVERLOAD(cudaMemcpyFromSymbolAsync, (void* to, const weir_T& symbol, size_t bytes, size_t offset = 0,
                    cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = 0),
                   (to, weir_cuda_symbol(symbol), bytes, offset, kind, stream))

/* --- Streams, events and graphs */

static inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int flags) {
  return ::cudaEventCreateWithFlags(event, flags);
}
static inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, cudaGraphNode_t* node,
                                               char* log, size_t size) {
  if (node) *node = 0;
  if (log && size) *log = 0;
  return ::cudaGraphInstantiate(executable, graph, 0);
}
static inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphNode_t* node,
                                              cudaGraphExecUpdateResult* result) {
  cudaGraphExecUpdateResultInfo info;
  const cudaError_t error = ::cudaGraphExecUpdate(executable, graph, &info);
  if (node) *node = info.errorNode;
  if (result) *result = info.result;
  return error;
}

/* --- Kernels */

WEIR_CUDA_OVERLOAD(cudaLaunchKernel, (weir_T* function, dim3 grid, dim3 block, void** arguments, size_t sharedBytes = 0,
                    cudaStream_t stream = 0),
                   ((const void*)function, grid, block, arguments, sharedBytes, stream))
WEIR_CUDA_OVERLOAD(cudaLaunchCooperativeKernel, (weir_T* function, dim3 grid, dim3 block, void** arguments,
                    size_t sharedBytes = 0, cudaStream_t stream = 0),
                   ((const void*)function, grid, block, arguments, sharedBytes, stream))
WEIR_CUDA_OVERLOAD(cudaFuncGetAttributes, (cudaFuncAttributes* to, weir_T* function), (to, (const void*)function))
WEIR_CUDA_OVERLOAD(cudaFuncSetAttribute, (weir_T* function, cudaFuncAttribute attribute, int value),
                   ((const void*)function, attribute, value))
WEIR_CUDA_OVERLOAD(cudaFuncSetCacheConfig, (weir_T* function, cudaFuncCache config), ((const void*)function, config))
WEIR_CUDA_OVERLOAD(cudaOccupancyMaxActiveBlocksPerMultiprocessor, (int* blocks, weir_T function, int blockSize,
                    size_t sharedBytes),
                   (blocks, (const void*)function, blockSize, sharedBytes))
WEIR_CUDA_OVERLOAD(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, (int* blocks, weir_T function, int blockSize,
                    size_t sharedBytes, unsigned int flags),
                   (blocks, (const void*)function, blockSize, sharedBytes, flags))

/* clang-format on */
#undef WEIR_CUDA_OVERLOAD
#undef WEIR_CUDA_OVERLOAD_OF

/* Tries the multiples of the warp's size, and takes the largest of those with which most threads run at a time. */
template <class weir_F, class weir_T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(int* minGridSize, int* blockSize,
                                                                                  weir_T function, weir_F sharedBytesOfBlock,
                                                                                  int blockSizeLimit = 0,
                                                                                  unsigned int flags = 0) {
  if (!minGridSize || !blockSize || !function) return cudaErrorInvalidValue;
  int device = 0, processors = 0, warp = 0;
  cudaFuncAttributes attributes;
  cudaError_t error = ::cudaGetDevice(&device);
  if (!error) error = ::cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (!error) error = ::cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, device);
  if (!error) error = ::cudaFuncGetAttributes(&attributes, (const void*)function);
  if (error) return error;
  int limit = attributes.maxThreadsPerBlock;
  if (blockSizeLimit > 0 && blockSizeLimit < limit) limit = blockSizeLimit;
  int most = 0, bestSize = 0, bestBlocks = 0;
  for (int size = (limit + warp - 1) / warp * warp; size > 0; size -= warp) {
    const int tried = size < limit ? size : limit;
    int blocks = 0;
    error = ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, (const void*)function, tried,
                                                                     (size_t)sharedBytesOfBlock(tried), flags);
    if (error) return error;
    if (blocks * tried <= most) continue;
    most = blocks * tried;
    bestSize = tried;
    bestBlocks = blocks;
  }
  *minGridSize = bestBlocks * processors;
  *blockSize = bestSize;
  return cudaSuccess;
}
template <class weir_F, class weir_T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* minGridSize, int* blockSize, weir_T function,
                                                                         weir_F sharedBytesOfBlock, int blockSizeLimit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(minGridSize, blockSize, function, sharedBytesOfBlock,
                                                                 blockSizeLimit);
}
struct weir_cuda_fixed_bytes {
  size_t bytes;
  size_t operator()(int) const { return bytes; }
};
template <class weir_T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int* minGridSize, int* blockSize, weir_T function,
                                                                      size_t sharedBytes = 0, int blockSizeLimit = 0,
                                                                      unsigned int flags = 0) {
  weir_cuda_fixed_bytes fixed = {sharedBytes};
  return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(minGridSize, blockSize, function, fixed, blockSizeLimit,
                                                                 flags);
}
template <class weir_T>
static inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int* minGridSize, int* blockSize, weir_T function,
                                                             size_t sharedBytes = 0, int blockSizeLimit = 0) {
  return cudaOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, function, sharedBytes, blockSizeLimit);
}

#if __cplusplus >= 201103L
template <class weir_T>
struct weir_cuda_same {
  typedef weir_T type;
};
/* `cudaLaunchKernelEx(&config, kernel, arguments…)`: the arguments are converted to the kernel's parameters. */
template <class... weir_P, class... weir_A>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(weir_P...), weir_A&&... from) {
  return [&](typename weir_cuda_same<weir_P>::type... values) {
    void* addresses[sizeof...(weir_P) + 1] = {(void*)&reinterpret_cast<const volatile char&>(values)...};
    return ::cudaLaunchKernelExC(config, (const void*)kernel, addresses);
  }(std::forward<weir_A>(from)...);
}
#endif

/* --- What is missing */

template <class weir_T, int dimensions = 1, int mode = 0>
struct WEIR_CUDA_UNAVAILABLE_TYPE(texture, "Weir has texture objects only") texture {
  int missing;
};
template <class weir_T, int dimensions = 1>
struct WEIR_CUDA_UNAVAILABLE_TYPE(surface, "Weir has surface objects only") surface {
  int missing;
};

#endif
#endif
