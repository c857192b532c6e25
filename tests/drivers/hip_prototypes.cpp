// SPDX-License-Identifier: Apache-2.0

// Compiling this file is the test: it compares the HIP plugin's hand-written declarations with the headers of the release in
// this build. WEIR_TEST_HIP_HEADERS names further folders with headers.

#include "backends/hip/numbers.hpp"
#include "backends/hip/symbols.hpp"
#include "prototypes.hpp"

#if __has_include(<hip/hip_version.h>)
#include <hip/hip_version.h>
#endif
#define WEIR_HIP_HEADERS (HIP_VERSION_MAJOR * 100 + HIP_VERSION_MINOR)

namespace {

using namespace weir::hip;
using weir::test::called_alike;

// --- Functions --------------------------------------------------------------------------------------------------------

struct ByHand {
#define WEIR_HIP_PROTOTYPE(field, function, since, parameters) using function = hipError_t(*) parameters;
  WEIR_HIP_NEWER_SYMBOLS(WEIR_HIP_PROTOTYPE)
#undef WEIR_HIP_PROTOTYPE
};
// Which headers declare a function, in the order of releases: some do before the library has it, others later.
#define CHECK_FUNCTION(function) static_assert(called_alike<ByHand::function, decltype(&::function)>)
// Of overloads, one must have the very types.
#define CHECK_OVERLOAD(function) static_assert(static_cast<ByHand::function>(&::function) != nullptr)

CHECK_OVERLOAD(hipMallocAsync);
CHECK_OVERLOAD(hipMallocFromPoolAsync);
#if WEIR_HIP_HEADERS >= 600
CHECK_FUNCTION(hipGetDevicePropertiesR0600);
#endif
#if WEIR_HIP_HEADERS >= 503
CHECK_FUNCTION(hipUserObjectCreate);
CHECK_FUNCTION(hipUserObjectRelease);
CHECK_FUNCTION(hipGraphRetainUserObject);
#endif
#if WEIR_HIP_HEADERS >= 505
CHECK_FUNCTION(hipModuleLaunchCooperativeKernel);
CHECK_FUNCTION(hipGraphUpload);
CHECK_FUNCTION(hipGraphDebugDotPrint);
#endif
#if WEIR_HIP_HEADERS >= 506
CHECK_FUNCTION(hipStreamGetDevice);
#endif
#if WEIR_HIP_HEADERS >= 602
CHECK_FUNCTION(hipStreamBeginCaptureToGraph);
#endif
#if WEIR_HIP_HEADERS >= 603
CHECK_FUNCTION(hipStreamBatchMemOp);
#endif
#if WEIR_HIP_HEADERS >= 604
CHECK_FUNCTION(hipEventRecordWithFlags);
#endif
#if WEIR_HIP_HEADERS >= 701
CHECK_FUNCTION(hipStreamGetId);
CHECK_FUNCTION(hipStreamGetAttribute);
CHECK_FUNCTION(hipStreamSetAttribute);
#endif

#if WEIR_HIP_HEADERS >= 700
CHECK_FUNCTION(hipDrvLaunchKernelEx);
#endif

#if WEIR_HIP_HEADERS >= 714
CHECK_FUNCTION(hipDeviceGetDevResource);
CHECK_FUNCTION(hipDevSmResourceSplitByCount);
CHECK_FUNCTION(hipDevResourceGenerateDesc);
CHECK_FUNCTION(hipGreenCtxCreate);
CHECK_FUNCTION(hipExecutionCtxDestroy);
CHECK_FUNCTION(hipExecutionCtxStreamCreate);
static_assert(sizeof(DeviceResource) == sizeof(hipDevResource) &&
              offsetof(DeviceResource, count) == offsetof(hipDevResource, sm.smCount));
#endif

// --- Structures ---------------------------------------------------------------------------------------------------------

#if WEIR_HIP_HEADERS >= 600
static_assert(offsetof(hipDeviceProp_tR0600, clusterLaunch) == cluster_launch_in_r0600);
static_assert(offsetof(hipDeviceProp_tR0600, gcnArchName) == architecture_in_r0600 &&
              sizeof(hipDeviceProp_tR0600::gcnArchName) == longest_architecture && sizeof(hipDeviceProp_tR0600) <= 8192);
#endif

// The largest size of a pool stands where 5.2 begins what is reserved.
constexpr std::size_t place_of_max_size = offsetof(hipMemPoolProps, win32SecurityAttributes) + sizeof(void*);
#if WEIR_HIP_HEADERS >= 602
static_assert(offsetof(hipMemPoolProps, maxSize) == place_of_max_size &&
              sizeof(hipMemPoolProps::maxSize) == sizeof(std::size_t));
#else
static_assert(offsetof(hipMemPoolProps, reserved) == place_of_max_size &&
              sizeof(hipMemPoolProps::reserved) >= sizeof(std::size_t));
#endif

#if WEIR_HIP_HEADERS >= 603
static_assert(sizeof(BatchOperation) == sizeof(hipStreamBatchMemOpParams));
static_assert(offsetof(BatchOperation, operation) == offsetof(hipStreamBatchMemOpParams, waitValue.operation));
static_assert(offsetof(BatchOperation, address) == offsetof(hipStreamBatchMemOpParams, waitValue.address));
static_assert(offsetof(BatchOperation, value) == offsetof(hipStreamBatchMemOpParams, waitValue.value64));
static_assert(offsetof(BatchOperation, flags) == offsetof(hipStreamBatchMemOpParams, waitValue.flags));
static_assert(wait_32 == hipStreamMemOpWaitValue32 && write_32 == hipStreamMemOpWriteValue32 &&
              wait_64 == hipStreamMemOpWaitValue64 && write_64 == hipStreamMemOpWriteValue64);
#endif
#if WEIR_HIP_HEADERS >= 700
static_assert(sizeof(NativeLaunch) == sizeof(HIP_LAUNCH_CONFIG) &&
              offsetof(NativeLaunch, block) == offsetof(HIP_LAUNCH_CONFIG, blockDimX) &&
              offsetof(NativeLaunch, shared_memory_bytes) == offsetof(HIP_LAUNCH_CONFIG, sharedMemBytes) &&
              offsetof(NativeLaunch, stream) == offsetof(HIP_LAUNCH_CONFIG, hStream) &&
              offsetof(NativeLaunch, attributes) == offsetof(HIP_LAUNCH_CONFIG, attrs) &&
              offsetof(NativeLaunch, attribute_count) == offsetof(HIP_LAUNCH_CONFIG, numAttrs));
static_assert(sizeof(LaunchAttribute) == sizeof(hipLaunchAttribute) &&
              offsetof(LaunchAttribute, value) == offsetof(hipLaunchAttribute, value));
static_assert(attribute_cooperative == hipLaunchAttributeCooperative);
#endif
#if WEIR_HIP_HEADERS >= 1000
static_assert(attribute_cluster_dimension == hipLaunchAttributeClusterDimension &&
              offsetof(AttributeValue, cluster) == offsetof(hipLaunchAttributeValue, clusterDim));
#endif
#if WEIR_HIP_HEADERS >= 701
static_assert(sizeof(AttributeValue) >= sizeof(hipLaunchAttributeValue));
static_assert(attribute_synchronization_policy == hipLaunchAttributeSynchronizationPolicy);
static_assert(policy_automatic == hipSyncPolicyAuto && policy_spin == hipSyncPolicySpin &&
              policy_yield == hipSyncPolicyYield && policy_blocking == hipSyncPolicyBlockingSync);
#endif

// --- Numbers --------------------------------------------------------------------------------------------------------------

#define CHECK_ATTRIBUTE(number, name) static_assert((number) == hipDeviceAttribute##name)
CHECK_ATTRIBUTE(attribute_async_engine_count, AsyncEngineCount);
CHECK_ATTRIBUTE(attribute_clock_rate, ClockRate);
CHECK_ATTRIBUTE(attribute_concurrent_managed_access, ConcurrentManagedAccess);
CHECK_ATTRIBUTE(attribute_cooperative_launch, CooperativeLaunch);
CHECK_ATTRIBUTE(attribute_ecc_enabled, EccEnabled);
CHECK_ATTRIBUTE(attribute_integrated, Integrated);
CHECK_ATTRIBUTE(attribute_l2_cache_size, L2CacheSize);
CHECK_ATTRIBUTE(attribute_capability_major, ComputeCapabilityMajor);
CHECK_ATTRIBUTE(attribute_managed_memory, ManagedMemory);
CHECK_ATTRIBUTE(attribute_max_block_x, MaxBlockDimX);
CHECK_ATTRIBUTE(attribute_max_block_x + 1, MaxBlockDimY);
CHECK_ATTRIBUTE(attribute_max_block_x + 2, MaxBlockDimZ);
CHECK_ATTRIBUTE(attribute_max_grid_x, MaxGridDimX);
CHECK_ATTRIBUTE(attribute_max_grid_x + 1, MaxGridDimY);
CHECK_ATTRIBUTE(attribute_max_grid_x + 2, MaxGridDimZ);
CHECK_ATTRIBUTE(attribute_max_threads_per_block, MaxThreadsPerBlock);
CHECK_ATTRIBUTE(attribute_max_threads_per_multiprocessor, MaxThreadsPerMultiProcessor);
CHECK_ATTRIBUTE(attribute_memory_bus_width, MemoryBusWidth);
CHECK_ATTRIBUTE(attribute_memory_clock_rate, MemoryClockRate);
CHECK_ATTRIBUTE(attribute_capability_minor, ComputeCapabilityMinor);
CHECK_ATTRIBUTE(attribute_multiprocessor_count, MultiprocessorCount);
CHECK_ATTRIBUTE(attribute_registers_per_block, MaxRegistersPerBlock);
CHECK_ATTRIBUTE(attribute_shared_per_block, MaxSharedMemoryPerBlock);
CHECK_ATTRIBUTE(attribute_shared_per_block_optin, SharedMemPerBlockOptin);
CHECK_ATTRIBUTE(attribute_stream_priorities, StreamPrioritiesSupported);
CHECK_ATTRIBUTE(attribute_unified_addressing, UnifiedAddressing);
CHECK_ATTRIBUTE(attribute_warp_size, WarpSize);
CHECK_ATTRIBUTE(attribute_memory_pools, MemoryPoolsSupported);
CHECK_ATTRIBUTE(attribute_shared_per_multiprocessor, MaxSharedMemoryPerMultiprocessor);
CHECK_ATTRIBUTE(attribute_stream_wait_value, CanUseStreamWaitValue);
#if WEIR_HIP_HEADERS >= 600
CHECK_ATTRIBUTE(attribute_host_register, HostRegisterSupported);
static_assert(ipc_lazy_enable_peer_access == hipIpcMemLazyEnablePeerAccess);
#endif

static_assert(add_dependencies == hipStreamAddCaptureDependencies && set_dependencies == hipStreamSetCaptureDependencies);
static_assert(auto_free_on_launch == hipGraphInstantiateFlagAutoFreeOnLaunch);
#if WEIR_HIP_HEADERS >= 503
static_assert(no_destructor_sync == hipUserObjectNoDestructorSync && graph_user_object_move == hipGraphUserObjectMove);
static_assert(node_kernel == hipGraphNodeTypeKernel && node_copy == hipGraphNodeTypeMemcpy &&
              node_fill == hipGraphNodeTypeMemset && node_host == hipGraphNodeTypeHost &&
              node_graph == hipGraphNodeTypeGraph && node_empty == hipGraphNodeTypeEmpty &&
              node_event_wait == hipGraphNodeTypeWaitEvent && node_event_record == hipGraphNodeTypeEventRecord);
#endif
#if WEIR_HIP_HEADERS >= 505
static_assert(node_allocate == hipGraphNodeTypeMemAlloc && node_free == hipGraphNodeTypeMemFree &&
              node_copy_from_symbol == hipGraphNodeTypeMemcpyFromSymbol &&
              node_copy_to_symbol == hipGraphNodeTypeMemcpyToSymbol);
#endif

}  // namespace
