// SPDX-License-Identifier: Apache-2.0
#pragma once

// Leaves out the C++ overloads that the headers add to some C functions.
#define __HIP_DISABLE_CPP_FUNCTIONS__
#include <hip/hip_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "backends/gpu/device_resource.hpp"

/// The list of all runtime functions that this backend calls.
///
///   X(field, function)
///
/// `field`: the name in the code that CUDA and HIP share. If both vendors use the same name, it is that name without the
/// vendor's prefix. Every supported release has these functions. Whether a function works correctly is another question: see
/// quirks.cpp.
///
/// The headers' default arguments do not apply here, so pass every argument.
#define WEIR_HIP_SYMBOLS(X)                                                                              \
  X(Init, hipInit)                                                                                       \
  X(RuntimeGetVersion, hipRuntimeGetVersion)                                                             \
  X(GetErrorName, hipGetErrorName)                                                                       \
  X(GetErrorString, hipGetErrorString)                                                                   \
  X(GetDeviceCount, hipGetDeviceCount)                                                                   \
  X(GetDevice, hipGetDevice)                                                                             \
  X(SetDevice, hipSetDevice)                                                                             \
  X(DeviceGetName, hipDeviceGetName)                                                                     \
  X(DeviceGetUuid, hipDeviceGetUuid)                                                                     \
  X(DeviceGetPCIBusId, hipDeviceGetPCIBusId)                                                             \
  X(DeviceTotalMem, hipDeviceTotalMem)                                                                   \
  X(DeviceGetAttribute, hipDeviceGetAttribute)                                                           \
  X(DeviceSynchronize, hipDeviceSynchronize)                                                             \
  X(DeviceCanAccessPeer, hipDeviceCanAccessPeer)                                                         \
  X(DeviceEnablePeerAccess, hipDeviceEnablePeerAccess)                                                   \
  X(DeviceDisablePeerAccess, hipDeviceDisablePeerAccess)                                                 \
  X(GetStreamPriorityRange, hipDeviceGetStreamPriorityRange)                                             \
  X(StreamCreateWithPriority, hipStreamCreateWithPriority)                                               \
  X(StreamDestroy, hipStreamDestroy)                                                                     \
  X(StreamQuery, hipStreamQuery)                                                                         \
  X(StreamSynchronize, hipStreamSynchronize)                                                             \
  X(StreamWaitEvent, hipStreamWaitEvent)                                                                 \
  X(StreamGetFlags, hipStreamGetFlags)                                                                   \
  X(StreamGetPriority, hipStreamGetPriority)                                                             \
  X(StreamAddCallback, hipStreamAddCallback)                                                             \
  X(LaunchHostFunc, hipLaunchHostFunc)                                                                   \
  X(StreamAttachMemAsync, hipStreamAttachMemAsync)                                                       \
  X(StreamWaitValue32, hipStreamWaitValue32)                                                             \
  X(StreamWaitValue64, hipStreamWaitValue64)                                                             \
  X(StreamWriteValue32, hipStreamWriteValue32)                                                           \
  X(StreamWriteValue64, hipStreamWriteValue64)                                                           \
  X(EventCreate, hipEventCreateWithFlags)                                                                \
  X(EventDestroy, hipEventDestroy)                                                                       \
  X(EventRecord, hipEventRecord)                                                                         \
  X(EventQuery, hipEventQuery)                                                                           \
  X(EventSynchronize, hipEventSynchronize)                                                               \
  X(EventElapsedTime, hipEventElapsedTime)                                                               \
  X(IpcGetEventHandle, hipIpcGetEventHandle)                                                             \
  X(IpcOpenEventHandle, hipIpcOpenEventHandle)                                                           \
  X(IpcGetMemHandle, hipIpcGetMemHandle)                                                                 \
  X(IpcOpenMemHandle, hipIpcOpenMemHandle)                                                               \
  X(IpcCloseMemHandle, hipIpcCloseMemHandle)                                                             \
  X(MemGetInfo, hipMemGetInfo)                                                                           \
  X(Malloc, hipMalloc)                                                                                   \
  X(Free, hipFree)                                                                                       \
  X(HostMalloc, hipHostMalloc)                                                                           \
  X(HostFree, hipHostFree)                                                                               \
  X(MallocManaged, hipMallocManaged)                                                                     \
  X(HostRegister, hipHostRegister)                                                                       \
  X(MemHostUnregister, hipHostUnregister)                                                                \
  X(HostGetDevicePointer, hipHostGetDevicePointer)                                                       \
  X(MemPrefetchAsync, hipMemPrefetchAsync)                                                               \
  X(MemcpyAsync, hipMemcpyAsync)                                                                         \
  X(Memcpy2DAsync, hipMemcpy2DAsync)                                                                     \
  X(Memcpy3DAsync, hipMemcpy3DAsync)                                                                     \
  X(MemsetD8Async, hipMemsetD8Async)                                                                     \
  X(MemsetD16Async, hipMemsetD16Async)                                                                   \
  X(MemsetD32Async, hipMemsetD32Async)                                                                   \
  X(Memset2DAsync, hipMemset2DAsync)                                                                     \
  X(FreeAsync, hipFreeAsync)                                                                             \
  X(MemPoolCreate, hipMemPoolCreate)                                                                     \
  X(MemPoolDestroy, hipMemPoolDestroy)                                                                   \
  X(MemPoolTrimTo, hipMemPoolTrimTo)                                                                     \
  X(MemPoolGetAttribute, hipMemPoolGetAttribute)                                                         \
  X(MemPoolSetAttribute, hipMemPoolSetAttribute)                                                         \
  X(MemPoolSetAccess, hipMemPoolSetAccess)                                                               \
  X(DeviceGetDefaultMemPool, hipDeviceGetDefaultMemPool)                                                 \
  X(ModuleLoadData, hipModuleLoadData)                                                                   \
  X(ModuleUnload, hipModuleUnload)                                                                       \
  X(ModuleGetFunction, hipModuleGetFunction)                                                             \
  X(ModuleGetGlobal, hipModuleGetGlobal)                                                                 \
  X(FuncGetAttribute, hipFuncGetAttribute)                                                               \
  X(ModuleOccupancyMaxActiveBlocksPerMultiprocessor, hipModuleOccupancyMaxActiveBlocksPerMultiprocessor) \
  X(ModuleOccupancyMaxPotentialBlockSize, hipModuleOccupancyMaxPotentialBlockSize)                       \
  X(LaunchKernel, hipModuleLaunchKernel)                                                                 \
  X(StreamBeginCapture, hipStreamBeginCapture)                                                           \
  X(StreamEndCapture, hipStreamEndCapture)                                                               \
  X(StreamIsCapturing, hipStreamIsCapturing)                                                             \
  X(StreamGetCaptureInfo, hipStreamGetCaptureInfo_v2)                                                    \
  X(StreamUpdateCaptureDependencies, hipStreamUpdateCaptureDependencies)                                 \
  X(ThreadExchangeStreamCaptureMode, hipThreadExchangeStreamCaptureMode)                                 \
  X(GraphCreate, hipGraphCreate)                                                                         \
  X(GraphDestroy, hipGraphDestroy)                                                                       \
  X(GraphClone, hipGraphClone)                                                                           \
  X(GraphGetNodes, hipGraphGetNodes)                                                                     \
  X(GraphGetEdges, hipGraphGetEdges)                                                                     \
  X(GraphNodeGetType, hipGraphNodeGetType)                                                               \
  X(GraphAddChildGraphNode, hipGraphAddChildGraphNode)                                                   \
  X(GraphChildGraphNodeGetGraph, hipGraphChildGraphNodeGetGraph)                                         \
  X(GraphHostNodeGetParams, hipGraphHostNodeGetParams)                                                   \
  X(GraphInstantiateWithFlags, hipGraphInstantiateWithFlags)                                             \
  X(GraphLaunch, hipGraphLaunch)                                                                         \
  X(GraphExecDestroy, hipGraphExecDestroy)

namespace weir::hip {

/// One batch operation, as in hipStreamBatchMemOpParams (6.4): six words with the same layout as CUDA's.
struct BatchOperation {
  std::uint32_t operation;
  std::uint64_t address;
  std::uint64_t value;
  std::uint32_t flags;
  std::uint64_t unused[2];
};
static_assert(sizeof(BatchOperation) == 6 * sizeof(std::uint64_t) && offsetof(BatchOperation, address) == 8 &&
              offsetof(BatchOperation, value) == 16 && offsetof(BatchOperation, flags) == 24);

/// The value of a stream's or a launch's attribute. hipLaunchAttributeValue has 32 bytes, and 64 since 7.x, so this has 64.
union AttributeValue {
  char bytes[64];
  int synchronization_policy;
  int cooperative;
  std::uint32_t cluster[3];  // clusterDim, which headers before 10.0 lack
};

/// One attribute of a launch, as in hipLaunchAttribute (7.0).
struct LaunchAttribute {
  int id;
  alignas(8) AttributeValue value;
};

/// The configuration of a launch with attributes, as in HIP_LAUNCH_CONFIG (7.0).
struct NativeLaunch {
  unsigned grid[3], block[3];
  unsigned shared_memory_bytes;
  hipStream_t stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

struct UserObjectTag;
struct GreenContext;  // the type of hipExecutionCtx_t's target
using gpu::DeviceResource;

}  // namespace weir::hip

/// Functions with their signatures, for one of three reasons: the oldest supported headers (5.2) lack the function, headers
/// overload it in C++, or later headers give its name to another function. All return hipError_t:
///
///   Y(field, function, since, (parameters))
///
/// `since`: the first release whose library exports the function (604: 6.4). Headers often declare it earlier. Only features
/// depend on functions that are newer than the oldest supported release. Types that the headers of 5.2 lack are replaced by
/// pointers and numbers of the same size.
#define WEIR_HIP_NEWER_SYMBOLS(Y)                                                                                        \
  Y(MallocAsync, hipMallocAsync, 502, (void**, size_t, hipStream_t))                                                     \
  Y(MallocFromPoolAsync, hipMallocFromPoolAsync, 502, (void**, size_t, hipMemPool_t, hipStream_t))                       \
  Y(GetDevicePropertiesR0600, hipGetDevicePropertiesR0600, 600, (void*, int))                                            \
  Y(StreamGetDevice, hipStreamGetDevice, 506, (hipStream_t, hipDevice_t*))                                               \
  Y(StreamGetId, hipStreamGetId, 701, (hipStream_t, unsigned long long*))                                                \
  Y(StreamGetAttribute, hipStreamGetAttribute, 701, (hipStream_t, int, weir::hip::AttributeValue*))                      \
  Y(StreamSetAttribute, hipStreamSetAttribute, 701, (hipStream_t, int, const weir::hip::AttributeValue*))                \
  Y(StreamBatchMemOp, hipStreamBatchMemOp, 604, (hipStream_t, unsigned, weir::hip::BatchOperation*, unsigned))           \
  Y(EventRecordWithFlags, hipEventRecordWithFlags, 604, (hipEvent_t, hipStream_t, unsigned))                             \
  Y(LaunchCooperativeKernel, hipModuleLaunchCooperativeKernel, 505,                                                      \
    (hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, hipStream_t, void**))          \
  Y(LaunchKernelEx, hipDrvLaunchKernelEx, 700, (const weir::hip::NativeLaunch*, hipFunction_t, void**, void**))          \
  Y(StreamBeginCaptureToGraph, hipStreamBeginCaptureToGraph, 601,                                                        \
    (hipStream_t, hipGraph_t, const hipGraphNode_t*, const void*, size_t, hipStreamCaptureMode))                         \
  Y(GraphUpload, hipGraphUpload, 505, (hipGraphExec_t, hipStream_t))                                                     \
  Y(GraphDebugDotPrint, hipGraphDebugDotPrint, 505, (hipGraph_t, const char*, unsigned))                                 \
  Y(UserObjectCreate, hipUserObjectCreate, 503, (weir::hip::UserObjectTag**, void*, hipHostFn_t, unsigned, unsigned))    \
  Y(UserObjectRelease, hipUserObjectRelease, 503, (weir::hip::UserObjectTag*, unsigned))                                 \
  Y(GraphRetainUserObject, hipGraphRetainUserObject, 503, (hipGraph_t, weir::hip::UserObjectTag*, unsigned, unsigned))   \
  Y(DeviceGetDevResource, hipDeviceGetDevResource, 714, (int, weir::hip::DeviceResource*, int))                          \
  Y(DevSmResourceSplitByCount, hipDevSmResourceSplitByCount, 714,                                                        \
    (weir::hip::DeviceResource*, unsigned*, const weir::hip::DeviceResource*, weir::hip::DeviceResource*, unsigned,      \
     unsigned))                                                                                                          \
  Y(DevResourceGenerateDesc, hipDevResourceGenerateDesc, 714, (void**, weir::hip::DeviceResource*, unsigned))            \
  Y(GreenCtxCreate, hipGreenCtxCreate, 714, (weir::hip::GreenContext**, void*, int, unsigned))                           \
  Y(GreenCtxDestroy, hipExecutionCtxDestroy, 714, (weir::hip::GreenContext*))                                            \
  Y(GreenCtxStreamCreate, hipExecutionCtxStreamCreate, 714, (hipStream_t*, weir::hip::GreenContext*, unsigned, int))

namespace weir::hip {

/// The oldest release that this backend supports.
inline constexpr int oldest_release = 602;

/// One entry of the table: a function's name and address.
struct Symbol {
  const char* name = nullptr;
  int since = 0;
  void* address = nullptr;  ///< null if the library lacks the function
};

/// Set at process exit, before the runtime's static objects are destroyed, because the runtime shuts down with them. A call
/// after that crashes; no release returns hipErrorDeinitialized instead. The program's own static objects may be destroyed
/// still later, if they were created before the runtime was loaded.
inline std::atomic<bool> runtime_is_ending{false};

/// A callable function of the runtime. If the runtime lacks the function, a call returns hipErrorNotSupported. At process
/// exit the runtime is no longer called, and the result is hipErrorDeinitialized, as with CUDA's driver.
///
/// The runtime stores results, including "not ready", as the thread's last error: up to 6.4 the result of the last call,
/// from 7.0 on that of the last failed call. The application's own hipGetLastError would return it, so it is cleared after
/// each failed call.
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

/// hipGetLastError, or null. It is a variable outside the table, because every call through the table uses it.
inline hipError_t (*last_error)() = nullptr;

template <class Result, class... Arguments>
void Function<Result (*)(Arguments...)>::forget_last_error() noexcept {
  if (last_error != nullptr) (void)last_error();
}

/// The table. A function that is newer than the oldest supported release converts to false if the runtime lacks it.
struct Symbols {
#define WEIR_HIP_MEMBER(field, function) Function<decltype(&::function)> field{{#function, oldest_release, nullptr}};
  WEIR_HIP_SYMBOLS(WEIR_HIP_MEMBER)
#undef WEIR_HIP_MEMBER
#define WEIR_HIP_MEMBER(field, function, since, parameters) \
  Function<hipError_t(*) parameters> field{{#function, since, nullptr}};
  WEIR_HIP_NEWER_SYMBOLS(WEIR_HIP_MEMBER)
#undef WEIR_HIP_MEMBER
};

}  // namespace weir::hip
