// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>

/// The CUDA driver that the bridge uses, opened at run time.
namespace bridge {

/// X(function without its prefix, CUDA version of its signature)
#define BRIDGE_CUDA_SYMBOLS(X)                                                                                             \
  X(Init, 2000) X(DeviceGetCount, 2000) X(DeviceGet, 2000) X(DeviceGetName, 2000) X(DeviceGetUuid, 11040)                  \
  X(DeviceTotalMem, 3020) X(DeviceGetAttribute, 2000) X(DeviceCanAccessPeer, 4000) X(DevicePrimaryCtxRetain, 7000)         \
  X(CtxPushCurrent, 4000) X(CtxPopCurrent, 4000) X(CtxGetStreamPriorityRange, 5050) X(CtxSynchronize, 2000)                \
  X(CtxEnablePeerAccess, 4000) X(CtxDisablePeerAccess, 4000) X(StreamCreateWithPriority, 5050) X(StreamDestroy, 4000)      \
  X(StreamQuery, 2000) X(StreamSynchronize, 2000) X(StreamWaitEvent, 3020) X(StreamGetAttribute, 11000)                    \
  X(StreamSetAttribute, 11000) X(StreamAddCallback, 5000) X(LaunchHostFunc, 10000) X(StreamAttachMemAsync, 6000)           \
  X(StreamWaitValue32, 11070) X(StreamWaitValue64, 11070) X(StreamWriteValue32, 11070) X(StreamWriteValue64, 11070)        \
  X(StreamBatchMemOp, 11070) X(EventCreate, 2000) X(EventRecord, 2000) X(EventRecordWithFlags, 11010) X(EventQuery, 2000)  \
  X(EventSynchronize, 2000) X(EventDestroy, 4000) X(EventElapsedTime, 2000) X(IpcGetMemHandle, 4010)                       \
  X(IpcOpenMemHandle, 11000) X(IpcCloseMemHandle, 4010) X(IpcGetEventHandle, 4010) X(IpcOpenEventHandle, 4010)             \
  X(MemAlloc, 3020) X(MemFree, 3020) X(MemHostAlloc, 2020) X(MemFreeHost, 2000) X(MemHostRegister, 6050)                   \
  X(MemHostUnregister, 4000) X(MemHostGetDevicePointer, 3020) X(MemAllocManaged, 6000) X(MemPrefetchAsync, 8000)           \
  X(MemGetInfo, 3020) X(PointerGetAttribute, 4000) X(MemcpyAsync, 4000) X(Memcpy2DAsync, 3020) X(Memcpy3DAsync, 3020)      \
  X(MemsetD8Async, 3020) X(MemsetD16Async, 3020) X(MemsetD32Async, 3020) X(MemsetD2D8Async, 3020) X(MemAllocAsync, 11020)  \
  X(MemFreeAsync, 11020) X(MemAllocFromPoolAsync, 11020) X(MemPoolCreate, 11020) X(MemPoolDestroy, 11020)                  \
  X(MemPoolTrimTo, 11020) X(MemPoolSetAttribute, 11020) X(MemPoolGetAttribute, 11020) X(MemPoolSetAccess, 11020)           \
  X(DeviceGetDefaultMemPool, 11020) X(StreamBeginCapture, 10010) X(StreamBeginCaptureToGraph, 12030)                       \
  X(StreamEndCapture, 10000) X(StreamIsCapturing, 10000) X(StreamGetCaptureInfo, 11030)                                    \
  X(StreamUpdateCaptureDependencies, 11030) X(ThreadExchangeStreamCaptureMode, 10010) X(GraphCreate, 10000)                \
  X(GraphDestroy, 10000) X(GraphClone, 10000) X(GraphInstantiateWithFlags, 11040) X(GraphLaunch, 10000)                    \
  X(GraphExecDestroy, 10000) X(GraphGetNodes, 10000) X(GraphGetEdges, 10000) X(GraphNodeGetType, 10000)                    \
  X(GraphAddChildGraphNode, 10000) X(GraphChildGraphNodeGetGraph, 10000) X(GraphHostNodeGetParams, 10000)                  \
  X(GraphKernelNodeGetParams, 12000) X(GraphDebugDotPrint, 11030) X(UserObjectCreate, 11030) X(UserObjectRelease, 11030)   \
  X(GraphRetainUserObject, 11030) X(ModuleLoadData, 2000) X(ModuleUnload, 2000) X(ModuleGetFunction, 2000)                 \
  X(ModuleGetGlobal, 3020) X(LaunchKernel, 4000) X(LaunchCooperativeKernel, 9000)                                          \
  X(OccupancyMaxActiveBlocksPerMultiprocessor, 6050) X(FuncGetAttribute, 2020) X(FuncSetAttribute, 9000)                   \
  X(OccupancyMaxPotentialBlockSize, 6050)

/// Functions that drivers before 12.5 lack, and the stand-in on the CPU: X(function, CUDA version, parameters)
#define BRIDGE_NEWER_CUDA_SYMBOLS(X)                                                                   \
  X(LaunchKernelEx, 11060, (const CUlaunchConfig*, CUfunction, void** parameters, void** extra))       \
  X(DeviceGetDevResource, 12040, (CUdevice, void* resource, int type))                                 \
  X(DevSmResourceSplitByCount, 12040, (void*, unsigned*, const void*, void*, unsigned, unsigned))      \
  X(DevResourceGenerateDesc, 12040, (void** description, void* resources, unsigned count))             \
  X(GreenCtxCreate, 12040, (void** context, void* description, CUdevice, unsigned flags))              \
  X(GreenCtxDestroy, 12040, (void* context))                                                           \
  X(GreenCtxStreamCreate, 12050, (CUstream * stream, void* context, unsigned flags, int priority))

struct Cuda {
#define BRIDGE_CUDA_MEMBER(name, version) PFN_cu##name##_v##version name = nullptr;
  BRIDGE_CUDA_SYMBOLS(BRIDGE_CUDA_MEMBER)
#undef BRIDGE_CUDA_MEMBER
#define BRIDGE_CUDA_MEMBER(name, version, parameters) CUresult(*name) parameters = nullptr;
  BRIDGE_NEWER_CUDA_SYMBOLS(BRIDGE_CUDA_MEMBER)
#undef BRIDGE_CUDA_MEMBER
  int device_count = 0;
};

/// The driver; null where there is none, or it lacks a function, or it shows no device.
const Cuda* cuda() noexcept;

}  // namespace bridge
