// SPDX-License-Identifier: Apache-2.0
#pragma once

// The C functions alone, without the C++ overloads that headers put over some of them.
#define __HIP_DISABLE_CPP_FUNCTIONS__
#include <hip/hip_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>


/// The runtime's functions that this backend calls: its whole surface, as one list.
///
///   X(field, function, since, need)
///
/// `field`: the name that the shared code knows it by, which is the name without the vendor's prefix where the vendors
/// agree. `since`: the first release whose library exports it (602: 6.2); that is often later than the header's declaration.
/// `need`: `required`, without which little works, or `optional` where a feature depends on it. ROCm's own libraries have
/// all whose release is theirs or earlier; other implementations of HIP may not. That a symbol is there says nothing about
/// what it does: see quirks.cpp, and Api::try_out.
///
/// Default arguments of the headers do not exist here: each call passes every argument.
#define WEIR_HIP_SYMBOLS(X)                                                                                     \
  X(Init, hipInit, 500, required)                                                                               \
  X(RuntimeGetVersion, hipRuntimeGetVersion, 500, required)                                                     \
  X(GetErrorName, hipGetErrorName, 500, required)                                                               \
  X(GetErrorString, hipGetErrorString, 500, required)                                                           \
  X(GetDeviceCount, hipGetDeviceCount, 500, required)                                                           \
  X(GetDevice, hipGetDevice, 500, required)                                                                     \
  X(SetDevice, hipSetDevice, 500, required)                                                                     \
  X(DeviceGetName, hipDeviceGetName, 500, required)                                                             \
  X(DeviceGetUuid, hipDeviceGetUuid, 502, optional)                                                             \
  X(DeviceGetPCIBusId, hipDeviceGetPCIBusId, 500, required)                                                     \
  X(DeviceTotalMem, hipDeviceTotalMem, 500, required)                                                           \
  X(DeviceGetAttribute, hipDeviceGetAttribute, 500, required)                                                   \
  X(DeviceSynchronize, hipDeviceSynchronize, 500, required)                                                     \
  X(DeviceCanAccessPeer, hipDeviceCanAccessPeer, 500, required)                                                 \
  X(DeviceEnablePeerAccess, hipDeviceEnablePeerAccess, 500, required)                                           \
  X(DeviceDisablePeerAccess, hipDeviceDisablePeerAccess, 500, required)                                         \
  X(GetStreamPriorityRange, hipDeviceGetStreamPriorityRange, 500, required)                                     \
  X(StreamCreateWithPriority, hipStreamCreateWithPriority, 500, required)                                       \
  X(StreamDestroy, hipStreamDestroy, 500, required)                                                             \
  X(StreamQuery, hipStreamQuery, 500, required)                                                                 \
  X(StreamSynchronize, hipStreamSynchronize, 500, required)                                                     \
  X(StreamWaitEvent, hipStreamWaitEvent, 500, required)                                                         \
  X(StreamGetFlags, hipStreamGetFlags, 500, required)                                                           \
  X(StreamGetPriority, hipStreamGetPriority, 500, required)                                                     \
  X(GetStreamDeviceId, hipGetStreamDeviceId, 500, optional)                                                     \
  X(StreamAddCallback, hipStreamAddCallback, 500, required)                                                     \
  X(LaunchHostFunc, hipLaunchHostFunc, 504, optional)                                                           \
  X(StreamAttachMemAsync, hipStreamAttachMemAsync, 500, optional)                                               \
  X(StreamWaitValue32, hipStreamWaitValue32, 500, optional)                                                     \
  X(StreamWaitValue64, hipStreamWaitValue64, 500, optional)                                                     \
  X(StreamWriteValue32, hipStreamWriteValue32, 500, optional)                                                   \
  X(StreamWriteValue64, hipStreamWriteValue64, 500, optional)                                                   \
  X(EventCreate, hipEventCreateWithFlags, 500, required)                                                        \
  X(EventDestroy, hipEventDestroy, 500, required)                                                               \
  X(EventRecord, hipEventRecord, 500, required)                                                                 \
  X(EventQuery, hipEventQuery, 500, required)                                                                   \
  X(EventSynchronize, hipEventSynchronize, 500, required)                                                       \
  X(EventElapsedTime, hipEventElapsedTime, 500, required)                                                       \
  X(IpcGetEventHandle, hipIpcGetEventHandle, 500, optional)                                                     \
  X(IpcOpenEventHandle, hipIpcOpenEventHandle, 500, optional)                                                   \
  X(IpcGetMemHandle, hipIpcGetMemHandle, 500, optional)                                                         \
  X(IpcOpenMemHandle, hipIpcOpenMemHandle, 500, optional)                                                       \
  X(IpcCloseMemHandle, hipIpcCloseMemHandle, 500, optional)                                                     \
  X(MemGetInfo, hipMemGetInfo, 500, required)                                                                   \
  X(Malloc, hipMalloc, 500, required)                                                                           \
  X(Free, hipFree, 500, required)                                                                               \
  X(HostMalloc, hipHostMalloc, 500, required)                                                                   \
  X(HostFree, hipHostFree, 500, required)                                                                       \
  X(MallocManaged, hipMallocManaged, 500, optional)                                                             \
  X(HostRegister, hipHostRegister, 500, optional)                                                               \
  X(MemHostUnregister, hipHostUnregister, 500, optional)                                                        \
  X(HostGetDevicePointer, hipHostGetDevicePointer, 500, optional)                                               \
  X(MemPrefetchAsync, hipMemPrefetchAsync, 500, optional)                                                       \
  X(MemcpyAsync, hipMemcpyAsync, 500, required)                                                                 \
  X(Memcpy2DAsync, hipMemcpy2DAsync, 500, required)                                                             \
  X(Memcpy3DAsync, hipMemcpy3DAsync, 500, required)                                                             \
  X(MemsetD8Async, hipMemsetD8Async, 500, required)                                                             \
  X(MemsetD16Async, hipMemsetD16Async, 500, required)                                                           \
  X(MemsetD32Async, hipMemsetD32Async, 500, required)                                                           \
  X(Memset2DAsync, hipMemset2DAsync, 500, required)                                                             \
  X(FreeAsync, hipFreeAsync, 502, optional)                                                                     \
  X(MemPoolCreate, hipMemPoolCreate, 502, optional)                                                             \
  X(MemPoolDestroy, hipMemPoolDestroy, 502, optional)                                                           \
  X(MemPoolTrimTo, hipMemPoolTrimTo, 502, optional)                                                             \
  X(MemPoolGetAttribute, hipMemPoolGetAttribute, 502, optional)                                                 \
  X(MemPoolSetAttribute, hipMemPoolSetAttribute, 502, optional)                                                 \
  X(MemPoolSetAccess, hipMemPoolSetAccess, 502, optional)                                                       \
  X(DeviceGetDefaultMemPool, hipDeviceGetDefaultMemPool, 502, optional)                                         \
  X(ModuleLoadData, hipModuleLoadData, 500, required)                                                           \
  X(ModuleUnload, hipModuleUnload, 500, required)                                                               \
  X(ModuleGetFunction, hipModuleGetFunction, 500, required)                                                     \
  X(ModuleGetGlobal, hipModuleGetGlobal, 500, required)                                                         \
  X(FuncGetAttribute, hipFuncGetAttribute, 500, required)                                                       \
  X(ModuleOccupancyMaxActiveBlocksPerMultiprocessor, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, 500, required) \
  X(ModuleOccupancyMaxPotentialBlockSize, hipModuleOccupancyMaxPotentialBlockSize, 500, required)               \
  X(LaunchKernel, hipModuleLaunchKernel, 500, required)                                                         \
  X(StreamBeginCapture, hipStreamBeginCapture, 500, optional)                                                   \
  X(StreamEndCapture, hipStreamEndCapture, 500, optional)                                                       \
  X(StreamIsCapturing, hipStreamIsCapturing, 500, optional)                                                     \
  X(StreamGetCaptureInfo, hipStreamGetCaptureInfo_v2, 501, optional)                                            \
  X(StreamUpdateCaptureDependencies, hipStreamUpdateCaptureDependencies, 500, optional)                         \
  X(ThreadExchangeStreamCaptureMode, hipThreadExchangeStreamCaptureMode, 502, optional)                         \
  X(GraphCreate, hipGraphCreate, 500, optional)                                                                 \
  X(GraphDestroy, hipGraphDestroy, 500, optional)                                                               \
  X(GraphClone, hipGraphClone, 500, optional)                                                                   \
  X(GraphGetNodes, hipGraphGetNodes, 500, optional)                                                             \
  X(GraphGetEdges, hipGraphGetEdges, 500, optional)                                                             \
  X(GraphNodeGetType, hipGraphNodeGetType, 500, optional)                                                       \
  X(GraphAddChildGraphNode, hipGraphAddChildGraphNode, 500, optional)                                           \
  X(GraphChildGraphNodeGetGraph, hipGraphChildGraphNodeGetGraph, 500, optional)                                 \
  X(GraphHostNodeGetParams, hipGraphHostNodeGetParams, 500, optional)                                           \
  X(GraphInstantiateWithFlags, hipGraphInstantiateWithFlags, 500, optional)                                     \
  X(GraphLaunch, hipGraphLaunch, 500, optional)                                                                 \
  X(GraphExecDestroy, hipGraphExecDestroy, 500, optional)

namespace weir::hip {

/// An operation of a batch, as hipStreamBatchMemOpParams (6.4) has it: six words, laid out as CUDA's.
struct BatchOperation {
  std::uint32_t operation;
  std::uint64_t address;
  std::uint64_t value;
  std::uint32_t flags;
  std::uint64_t unused[2];
};
static_assert(sizeof(BatchOperation) == 6 * sizeof(std::uint64_t) && offsetof(BatchOperation, address) == 8 &&
              offsetof(BatchOperation, value) == 16 && offsetof(BatchOperation, flags) == 24);

/// The value of a stream's attribute. hipLaunchAttributeValue has had 32 bytes and has 64 since 7.x: the larger form is
/// passed.
union AttributeValue {
  char bytes[64];
  int synchronization_policy;
};

struct UserObjectTag;

}  // namespace weir::hip

/// Functions that are newer than the oldest headers that this builds with (5.2), that headers overload in C++, or whose name
/// later headers give to another function (hipGetDeviceProperties), with their signatures:
///
///   Y(field, function, since, (parameters))    all are optional, and return hipError_t
///
/// Types that those headers lack stand as pointers and numbers of the same size.
#define WEIR_HIP_NEWER_SYMBOLS(Y)                                                                                        \
  Y(MallocAsync, hipMallocAsync, 502, (void**, size_t, hipStream_t))                                                     \
  Y(MallocFromPoolAsync, hipMallocFromPoolAsync, 502, (void**, size_t, hipMemPool_t, hipStream_t))                       \
  Y(GetDeviceProperties, hipGetDeviceProperties, 500, (void*, int))                                                      \
  Y(GetDevicePropertiesR0000, hipGetDevicePropertiesR0000, 600, (void*, int))                                            \
  Y(GetDevicePropertiesR0600, hipGetDevicePropertiesR0600, 600, (void*, int))                                            \
  Y(StreamGetDevice, hipStreamGetDevice, 506, (hipStream_t, hipDevice_t*))                                               \
  Y(StreamGetId, hipStreamGetId, 701, (hipStream_t, unsigned long long*))                                                \
  Y(StreamGetAttribute, hipStreamGetAttribute, 701, (hipStream_t, int, weir::hip::AttributeValue*))                      \
  Y(StreamSetAttribute, hipStreamSetAttribute, 701, (hipStream_t, int, const weir::hip::AttributeValue*))                \
  Y(StreamBatchMemOp, hipStreamBatchMemOp, 604, (hipStream_t, unsigned, weir::hip::BatchOperation*, unsigned))           \
  Y(EventRecordWithFlags, hipEventRecordWithFlags, 604, (hipEvent_t, hipStream_t, unsigned))                             \
  Y(LaunchCooperativeKernel, hipModuleLaunchCooperativeKernel, 505,                                                      \
    (hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, hipStream_t, void**))          \
  Y(StreamBeginCaptureToGraph, hipStreamBeginCaptureToGraph, 601,                                                        \
    (hipStream_t, hipGraph_t, const hipGraphNode_t*, const void*, size_t, hipStreamCaptureMode))                         \
  Y(GraphUpload, hipGraphUpload, 505, (hipGraphExec_t, hipStream_t))                                                     \
  Y(GraphDebugDotPrint, hipGraphDebugDotPrint, 505, (hipGraph_t, const char*, unsigned))                                 \
  Y(UserObjectCreate, hipUserObjectCreate, 503, (weir::hip::UserObjectTag**, void*, hipHostFn_t, unsigned, unsigned))    \
  Y(UserObjectRelease, hipUserObjectRelease, 503, (weir::hip::UserObjectTag*, unsigned))                                 \
  Y(GraphRetainUserObject, hipGraphRetainUserObject, 503, (hipGraph_t, weir::hip::UserObjectTag*, unsigned, unsigned))

namespace weir::hip {

/// A line of the table.
struct Symbol {
  const char* name = nullptr;
  int since = 0;
  void* address = nullptr;  ///< null where the library has no such function
};

/// Set when the process ends, before the runtime's own static objects are destroyed. From 6.2 on the runtime shuts down with
/// them: a call after that crashes, and hipErrorDeinitialized is returned by no release. The program's static objects may go
/// later still, since they are older than the runtime in the process.
inline std::atomic<bool> runtime_is_ending{false};

/// A function of the runtime; one that the runtime does not have returns hipErrorNotSupported. When the process ends the
/// runtime is not called, and the result is hipErrorDeinitialized, as CUDA's driver has it.
///
/// The runtime remembers each result, "not ready" included, as the thread's last error: of the last call up to 6.4, of the
/// last failed call from 7.0 on. The application's hipGetLastError would report it as the application's own error, so it is
/// cleared after each failed call.
template <class Pointer>
class Function;

template <class Result, class... Arguments>
class Function<Result (*)(Arguments...)> : public Symbol {
 public:
  Result operator()(Arguments... arguments) const {
    const auto call = reinterpret_cast<Result (*)(Arguments...)>(address);
    const bool ends = runtime_is_ending.load(std::memory_order_relaxed);
    if constexpr (std::is_same_v<Result, hipError_t>) {
      if (call == nullptr) [[unlikely]] return hipErrorNotSupported;
      if (ends) [[unlikely]] return hipErrorDeinitialized;
      const Result result = call(arguments...);
      if (result != hipSuccess) [[unlikely]] forget_last_error();
      return result;
    } else {
      return ends ? Result{} : call(arguments...);
    }
  }
  explicit operator bool() const noexcept { return address != nullptr; }

 private:
  static void forget_last_error() noexcept;
};

/// hipGetLastError, or null. It is not in the table, because every call of the table uses it.
inline hipError_t (*last_error)() = nullptr;

template <class Result, class... Arguments>
void Function<Result (*)(Arguments...)>::forget_last_error() noexcept {
  if (last_error != nullptr) (void)last_error();
}

/// The table; a function is false where an optional one is not there.
struct Symbols {
#define WEIR_HIP_MEMBER(field, function, since, need) Function<decltype(&::function)> field{{#function, since, nullptr}};
  WEIR_HIP_SYMBOLS(WEIR_HIP_MEMBER)
#undef WEIR_HIP_MEMBER
#define WEIR_HIP_MEMBER(field, function, since, parameters) \
  Function<hipError_t(*) parameters> field{{#function, since, nullptr}};
  WEIR_HIP_NEWER_SYMBOLS(WEIR_HIP_MEMBER)
#undef WEIR_HIP_MEMBER
};

}  // namespace weir::hip
