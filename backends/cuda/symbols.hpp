// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>

#include <cstddef>
#include <cstdint>

#include "backends/gpu/device_resource.hpp"

/// The list of all driver functions that this backend calls.
///
///   X(field, function, version, need)
///
/// `field`: the name in the code that CUDA and HIP share. If both vendors use the same name, it is that name without the
/// vendor's prefix. `version`: the CUDA version of the function's signature, as in cudaTypedefs.h. Exactly this version is
/// requested from the driver, because the version of the headers could have another signature. `need`: `required`, or
/// `optional` if only a feature needs the function.
#define WEIR_CUDA_SYMBOLS(X)                                                                                    \
  X(GetErrorName, cuGetErrorName, 6000, required)                                                               \
  X(GetErrorString, cuGetErrorString, 6000, required)                                                           \
  X(DeviceGetCount, cuDeviceGetCount, 2000, required)                                                           \
  X(PointerGetAttribute, cuPointerGetAttribute, 4000, required)                                                 \
  X(GraphKernelNodeGetAttribute, cuGraphKernelNodeGetAttribute, 11000, required)                                \
  X(DeviceGet, cuDeviceGet, 2000, required)                                                                     \
  X(DeviceGetName, cuDeviceGetName, 2000, required)                                                             \
  X(DeviceGetUuid, cuDeviceGetUuid, 11040, required)                                                            \
  X(DeviceGetUuidOfGpu, cuDeviceGetUuid, 9020, optional)                                                        \
  X(DeviceGetPCIBusId, cuDeviceGetPCIBusId, 4010, required)                                                     \
  X(DeviceTotalMem, cuDeviceTotalMem, 3020, required)                                                           \
  X(DeviceGetAttribute, cuDeviceGetAttribute, 2000, required)                                                   \
  X(DeviceCanAccessPeer, cuDeviceCanAccessPeer, 4000, required)                                                 \
  X(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, required)                                           \
  X(DevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, 7000, required)                                       \
  X(CtxGetCurrent, cuCtxGetCurrent, 4000, required)                                                             \
  X(CtxPushCurrent, cuCtxPushCurrent, 4000, required)                                                           \
  X(CtxPopCurrent, cuCtxPopCurrent, 4000, required)                                                             \
  X(CtxGetDevice, cuCtxGetDevice, 2000, required)                                                               \
  X(DeviceSynchronize, cuCtxSynchronize, 2000, required)                                                        \
  X(GetStreamPriorityRange, cuCtxGetStreamPriorityRange, 5050, required)                                        \
  X(CtxEnablePeerAccess, cuCtxEnablePeerAccess, 4000, required)                                                 \
  X(CtxDisablePeerAccess, cuCtxDisablePeerAccess, 4000, required)                                               \
  X(StreamCreateWithPriority, cuStreamCreateWithPriority, 5050, required)                                       \
  X(StreamDestroy, cuStreamDestroy, 4000, required)                                                             \
  X(StreamQuery, cuStreamQuery, 2000, required)                                                                 \
  X(StreamSynchronize, cuStreamSynchronize, 2000, required)                                                     \
  X(StreamWaitEvent, cuStreamWaitEvent, 3020, required)                                                         \
  X(StreamGetFlags, cuStreamGetFlags, 5050, required)                                                           \
  X(StreamGetPriority, cuStreamGetPriority, 5050, required)                                                     \
  X(StreamGetCtx, cuStreamGetCtx, 9020, required)                                                               \
  X(StreamGetId, cuStreamGetId, 12000, optional)                                                                \
  X(StreamGetAttribute, cuStreamGetAttribute, 11000, optional)                                                  \
  X(StreamSetAttribute, cuStreamSetAttribute, 11000, optional)                                                  \
  X(StreamAddCallback, cuStreamAddCallback, 5000, required)                                                     \
  X(LaunchHostFunc, cuLaunchHostFunc, 10000, required)                                                          \
  X(StreamAttachMemAsync, cuStreamAttachMemAsync, 6000, required)                                               \
  X(StreamWaitValue32, cuStreamWaitValue32, 11070, optional)                                                    \
  X(StreamWaitValue64, cuStreamWaitValue64, 11070, optional)                                                    \
  X(StreamWriteValue32, cuStreamWriteValue32, 11070, optional)                                                  \
  X(StreamWriteValue64, cuStreamWriteValue64, 11070, optional)                                                  \
  X(StreamBatchMemOp, cuStreamBatchMemOp, 11070, optional)                                                      \
  X(EventCreate, cuEventCreate, 2000, required)                                                                 \
  X(EventDestroy, cuEventDestroy, 4000, required)                                                               \
  X(EventRecord, cuEventRecord, 2000, required)                                                                 \
  X(EventRecordWithFlags, cuEventRecordWithFlags, 11010, optional)                                              \
  X(EventQuery, cuEventQuery, 2000, required)                                                                   \
  X(EventSynchronize, cuEventSynchronize, 2000, required)                                                       \
  X(EventElapsedTime, cuEventElapsedTime, 2000, required)                                                       \
  X(IpcGetEventHandle, cuIpcGetEventHandle, 4010, optional)                                                     \
  X(IpcOpenEventHandle, cuIpcOpenEventHandle, 4010, optional)                                                   \
  X(IpcGetMemHandle, cuIpcGetMemHandle, 4010, optional)                                                         \
  X(IpcOpenMemHandle, cuIpcOpenMemHandle, 11000, optional)                                                      \
  X(IpcCloseMemHandle, cuIpcCloseMemHandle, 4010, optional)                                                     \
  X(MemGetInfo, cuMemGetInfo, 3020, required)                                                                   \
  X(MemAlloc, cuMemAlloc, 3020, required)                                                                       \
  X(MemFree, cuMemFree, 3020, required)                                                                         \
  X(MemHostAlloc, cuMemHostAlloc, 2020, required)                                                               \
  X(MemFreeHost, cuMemFreeHost, 2000, required)                                                                 \
  X(MemAllocManaged, cuMemAllocManaged, 6000, required)                                                         \
  X(MemHostRegister, cuMemHostRegister, 6050, optional)                                                         \
  X(MemHostUnregister, cuMemHostUnregister, 4000, optional)                                                     \
  X(MemHostGetDevicePointer, cuMemHostGetDevicePointer, 3020, required)                                         \
  X(MemPrefetchAsync, cuMemPrefetchAsync, 8000, optional)                                                       \
  X(MemcpyAsync, cuMemcpyAsync, 4000, required)                                                                 \
  X(Memcpy2DAsync, cuMemcpy2DAsync, 3020, required)                                                             \
  X(Memcpy3DAsync, cuMemcpy3DAsync, 3020, required)                                                             \
  X(MemcpyPeerAsync, cuMemcpyPeerAsync, 4000, required)                                                         \
  X(MemsetD8Async, cuMemsetD8Async, 3020, required)                                                             \
  X(MemsetD16Async, cuMemsetD16Async, 3020, required)                                                           \
  X(MemsetD32Async, cuMemsetD32Async, 3020, required)                                                           \
  X(MemsetD2D8Async, cuMemsetD2D8Async, 3020, required)                                                         \
  X(MemsetD2D16Async, cuMemsetD2D16Async, 3020, required)                                                       \
  X(MemsetD2D32Async, cuMemsetD2D32Async, 3020, required)                                                       \
  X(MemAllocAsync, cuMemAllocAsync, 11020, optional)                                                            \
  X(MemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020, optional)                                            \
  X(MemFreeAsync, cuMemFreeAsync, 11020, optional)                                                              \
  X(MemPoolCreate, cuMemPoolCreate, 11020, optional)                                                            \
  X(MemPoolDestroy, cuMemPoolDestroy, 11020, optional)                                                          \
  X(MemPoolTrimTo, cuMemPoolTrimTo, 11020, optional)                                                            \
  X(MemPoolGetAttribute, cuMemPoolGetAttribute, 11020, optional)                                                \
  X(MemPoolSetAttribute, cuMemPoolSetAttribute, 11020, optional)                                                \
  X(MemPoolSetAccess, cuMemPoolSetAccess, 11020, optional)                                                      \
  X(DeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, 11020, optional)                                        \
  X(ModuleLoadDataEx, cuModuleLoadDataEx, 2010, required)                                                       \
  X(ModuleUnload, cuModuleUnload, 2000, required)                                                               \
  X(ModuleGetFunction, cuModuleGetFunction, 2000, required)                                                     \
  X(ModuleGetGlobal, cuModuleGetGlobal, 3020, required)                                                         \
  X(FuncGetAttribute, cuFuncGetAttribute, 2020, required)                                                       \
  X(FuncSetAttribute, cuFuncSetAttribute, 9000, required)                                                       \
  X(OccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, required)     \
  X(OccupancyMaxPotentialBlockSize, cuOccupancyMaxPotentialBlockSize, 6050, required)                           \
  X(LaunchKernel, cuLaunchKernel, 4000, required)                                                               \
  X(LaunchCooperativeKernel, cuLaunchCooperativeKernel, 9000, optional)                                         \
  X(LaunchKernelEx, cuLaunchKernelEx, 11060, optional)                                                          \
  X(StreamBeginCapture, cuStreamBeginCapture, 10010, required)                                                  \
  X(StreamEndCapture, cuStreamEndCapture, 10000, required)                                                      \
  X(StreamIsCapturing, cuStreamIsCapturing, 10000, required)                                                    \
  X(StreamGetCaptureInfo, cuStreamGetCaptureInfo, 11030, required)                                              \
  X(StreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies, 11030, required)                        \
  X(ThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, 10010, required)                        \
  X(UserObjectCreate, cuUserObjectCreate, 11030, required)                                                      \
  X(UserObjectRelease, cuUserObjectRelease, 11030, required)                                                    \
  X(GraphRetainUserObject, cuGraphRetainUserObject, 11030, required)                                            \
  X(GraphCreate, cuGraphCreate, 10000, required)                                                                \
  X(GraphDestroy, cuGraphDestroy, 10000, required)                                                              \
  X(GraphClone, cuGraphClone, 10000, required)                                                                  \
  X(GraphGetNodes, cuGraphGetNodes, 10000, required)                                                            \
  X(GraphGetEdges, cuGraphGetEdges, 10000, required)                                                            \
  X(GraphNodeGetType, cuGraphNodeGetType, 10000, required)                                                      \
  X(GraphDebugDotPrint, cuGraphDebugDotPrint, 11030, optional)                                                  \
  X(GraphAddChildGraphNode, cuGraphAddChildGraphNode, 10000, required)                                          \
  X(GraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph, 10000, required)                                \
  X(GraphHostNodeGetParams, cuGraphHostNodeGetParams, 10000, required)                                          \
  X(GraphMemAllocNodeGetParams, cuGraphMemAllocNodeGetParams, 11040, optional)                                  \
  X(GraphMemFreeNodeGetParams, cuGraphMemFreeNodeGetParams, 11040, optional)                                    \
  X(GraphAddBatchMemOpNode, cuGraphAddBatchMemOpNode, 11070, optional)                                          \
  X(GraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040, required)                                    \
  X(GraphUpload, cuGraphUpload, 11010, optional)                                                                \
  X(GraphLaunch, cuGraphLaunch, 10000, required)                                                                \
  X(GraphExecUpdate, cuGraphExecUpdate, 12000, required)                                                        \
  X(GraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams, 12000, optional)                              \
  X(GraphExecMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams, 10020, optional)                              \
  X(GraphExecMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams, 10020, optional)                              \
  X(GraphNodeSetEnabled, cuGraphNodeSetEnabled, 11060, optional)                                                \
  X(GraphExecDestroy, cuGraphExecDestroy, 10000, required)

namespace weir::cuda {

struct GreenContext;

/// CUgraphEdgeData, added in 12.3; older headers lack it.
struct EdgeData {
  unsigned char from_port, to_port, type, reserved[5];
};

/// CUgraphNodeParams, added in 12.3, with its member `conditional`.
struct ConditionalNodeParams {
  int type;  // CU_GRAPH_NODE_TYPE_CONDITIONAL, 13
  int reserved0[3];
  std::uint64_t handle;
  int condition_type;  // CU_GRAPH_COND_TYPE_IF 0, WHILE 1
  unsigned size;
  CUgraph* bodies;
  CUcontext context;
  long long reserved1[25];
  long long reserved2;
};

using gpu::DeviceResource;

/// CUmemcpyAttributes.
struct CopyAttributes {
  int source_access = 0;
  int source_type = 0, source_id = 0;
  int destination_type = 0, destination_id = 0;
  unsigned flags = 0;
};

}  // namespace weir::cuda

/// Functions that the oldest supported headers (12.0) lack, with their signatures. All are optional:
///
///   Y(field, function, version, (parameters))
#define WEIR_CUDA_NEWER_SYMBOLS(Y)                                                                                          \
  Y(StreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, 12030,                                                          \
    (CUstream, CUgraph, const CUgraphNode*, const weir::cuda::EdgeData*, size_t, CUstreamCaptureMode))                      \
  Y(StreamGetCaptureInfoAndEdges, cuStreamGetCaptureInfo, 12030,                                                            \
    (CUstream, CUstreamCaptureStatus*, cuuint64_t*, CUgraph*, const CUgraphNode**, const weir::cuda::EdgeData**, size_t*))  \
  Y(GraphGetEdgesAndData, cuGraphGetEdges, 12030, (CUgraph, CUgraphNode*, CUgraphNode*, weir::cuda::EdgeData*, size_t*))    \
  Y(GraphConditionalHandleCreate, cuGraphConditionalHandleCreate, 12030,                                                    \
    (std::uint64_t*, CUgraph, CUcontext, unsigned, unsigned))                                                               \
  Y(GraphAddNode, cuGraphAddNode, 12030,                                                                                    \
    (CUgraphNode*, CUgraph, const CUgraphNode*, const weir::cuda::EdgeData*, size_t, weir::cuda::ConditionalNodeParams*))   \
  Y(CtxRecordEvent, cuCtxRecordEvent, 12050, (CUcontext, CUevent))                                                          \
  Y(MemcpyBatchAsync, cuMemcpyBatchAsync, 12080,                                                                            \
    (CUdeviceptr*, CUdeviceptr*, size_t*, size_t, weir::cuda::CopyAttributes*, size_t*, size_t, size_t*, CUstream))         \
  Y(DeviceGetDevResource, cuDeviceGetDevResource, 12040, (CUdevice, weir::cuda::DeviceResource*, int))                     \
  Y(DevSmResourceSplitByCount, cuDevSmResourceSplitByCount, 12040,                                                          \
    (weir::cuda::DeviceResource*, unsigned*, const weir::cuda::DeviceResource*, weir::cuda::DeviceResource*, unsigned,      \
     unsigned))                                                                                                             \
  Y(DevResourceGenerateDesc, cuDevResourceGenerateDesc, 12040, (void**, weir::cuda::DeviceResource*, unsigned))             \
  Y(GreenCtxCreate, cuGreenCtxCreate, 12040, (weir::cuda::GreenContext**, void*, CUdevice, unsigned))                       \
  Y(GreenCtxDestroy, cuGreenCtxDestroy, 12040, (weir::cuda::GreenContext*))                                                 \
  Y(GreenCtxStreamCreate, cuGreenCtxStreamCreate, 12050, (CUstream*, weir::cuda::GreenContext*, unsigned, int))             \
  Y(StreamGetGreenCtx, cuStreamGetGreenCtx, 12040, (CUstream, weir::cuda::GreenContext**))                                  \
  Y(FuncGetName, cuFuncGetName, 12030, (const char**, CUfunction))                                                          \
  Y(FuncGetParamInfo, cuFuncGetParamInfo, 12040, (CUfunction, size_t, size_t*, size_t*))                                    \
  Y(FuncLoad, cuFuncLoad, 12040, (CUfunction))                                                                              \
  Y(ModuleGetFunctionCount, cuModuleGetFunctionCount, 12040, (unsigned*, CUmodule))                                         \
  Y(ModuleEnumerateFunctions, cuModuleEnumerateFunctions, 12040, (CUfunction*, unsigned, CUmodule))

namespace weir::cuda {

/// The table: a pointer to each function, null if the driver lacks an optional one.
struct Symbols {
#define WEIR_CUDA_MEMBER(field, function, version, need) PFN_##function##_v##version field = nullptr;
  WEIR_CUDA_SYMBOLS(WEIR_CUDA_MEMBER)
#undef WEIR_CUDA_MEMBER
#define WEIR_CUDA_MEMBER(field, function, version, parameters) CUresult(CUDAAPI* field) parameters = nullptr;
  WEIR_CUDA_NEWER_SYMBOLS(WEIR_CUDA_MEMBER)
#undef WEIR_CUDA_MEMBER
};

}  // namespace weir::cuda
