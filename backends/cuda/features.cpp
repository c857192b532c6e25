// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "backends/cuda/api.hpp"

/// Queries the properties and features of a device.
namespace weir::cuda {

int Api::attribute(CUdevice_attribute attribute, CUdevice device) const {
  int value = 0;
  const CUresult result = DeviceGetAttribute(&value, attribute, device);
  if (result == CUDA_SUCCESS) return value;
  // An attribute that this driver does not have counts as 0.
  if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_SUPPORTED) return 0;
  gpu::fail(*this, result, "cuDeviceGetAttribute", "cuda:" + std::to_string(device));
}

namespace {

std::string uuid_text(const CUuuid& uuid, std::string text) {
  static constexpr char digits[] = "0123456789abcdef";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

// CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED; the first headers of 12.0 lack it.
constexpr auto attribute_ipc_event = static_cast<CUdevice_attribute>(125);
// CU_DEVICE_ATTRIBUTE_MPS_ENABLED; headers before 12.5 lack it.
constexpr auto attribute_mps_enabled = static_cast<CUdevice_attribute>(133);

/// Marks a feature as present if the driver has its functions, the device has its attribute, and no known fault of the
/// driver forbids it.
class Rules {
 public:
  Rules(FeatureTable& features, int driver_version) : features_(features), driver_version_(driver_version) {}

  static std::string text(int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); }

  struct Symbol {
    bool found;
    const char* name;
    int version;
  };

  struct Attribute {
    bool set;
    const char* name;
  };

  void decide(Feature feature, std::initializer_list<Symbol> symbols, Attribute attribute = Attribute{true, nullptr}) {
    for (const Symbol& symbol : symbols) {
      if (!symbol.found) {
        features_.absent(feature, std::string(symbol.name) + " is not in the driver (CUDA " + text(driver_version_) +
                                      "); CUDA " + text(symbol.version) + " has it");
        return;
      }
    }
    if (!attribute.set) {
      features_.absent(feature, std::string("this device lacks it: ") + attribute.name + " is 0");
      return;
    }
    features_.native(feature);
  }

 private:
  FeatureTable& features_;
  int driver_version_;
};

}  // namespace

#define WEIR_HAS(field, function, version) \
  Rules::Symbol { field != nullptr, #function, version }

void Api::describe_device(int ordinal, DeviceProperties& properties, FeatureTable& features) const {
  const auto device = static_cast<CUdevice>(device_number(ordinal));
  const auto get = [&](CUdevice_attribute a) { return attribute(a, device); };
  const auto get_unsigned = [&](CUdevice_attribute a) { return static_cast<std::uint32_t>(get(a)); };

  char text[256] = "";
  const auto must = [&](CUresult result, const char* function) {
    if (result != CUDA_SUCCESS) gpu::fail(*this, result, function, "cuda:" + std::to_string(ordinal));
  };
  must(DeviceGetName(text, sizeof(text), device), "cuDeviceGetName");
  properties.name = text;
  properties.compute_capability_major = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  properties.compute_capability_minor = get(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  properties.architecture =
      "sm_" + std::to_string(properties.compute_capability_major) + std::to_string(properties.compute_capability_minor);
  if (CUuuid uuid; DeviceGetUuid(&uuid, device) == CUDA_SUCCESS) {
    // The first version of this function does not return the UUID of a MIG instance, so the second version is preferred.
    CUuuid whole;
    const bool is_instance = DeviceGetUuidOfGpu != nullptr && DeviceGetUuidOfGpu(&whole, device) == CUDA_SUCCESS &&
                             std::memcmp(&uuid, &whole, sizeof(uuid)) != 0;
    properties.uuid = uuid_text(uuid, is_instance ? "MIG-" : "GPU-");
  }
  if (DeviceGetPCIBusId(text, sizeof(text), device) == CUDA_SUCCESS) properties.pci_bus_id = text;
  must(DeviceTotalMem(&properties.total_memory, device), "cuDeviceTotalMem");
  properties.multiprocessor_count = get(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  properties.warp_size = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  properties.max_threads_per_block = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  properties.max_threads_per_multiprocessor = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  properties.max_block = {get_unsigned(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
                          get_unsigned(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                          get_unsigned(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)};
  properties.max_grid = {get_unsigned(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X), get_unsigned(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                         get_unsigned(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)};
  properties.shared_memory_per_block = get_unsigned(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  properties.shared_memory_per_block_optin = get_unsigned(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  properties.shared_memory_per_multiprocessor = get_unsigned(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  properties.registers_per_block = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  properties.l2_cache_size = get_unsigned(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  properties.clock_rate_khz = get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  properties.memory_clock_rate_khz = get(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
  properties.memory_bus_width_bits = get(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  properties.async_engine_count = get(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  properties.integrated = get(CU_DEVICE_ATTRIBUTE_INTEGRATED) != 0;
  properties.ecc_enabled = get(CU_DEVICE_ATTRIBUTE_ECC_ENABLED) != 0;
  properties.unified_addressing = get(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING) != 0;

  Rules rules(features, driver_version_);
  const auto when = [&](CUdevice_attribute a, const char* name) { return Rules::Attribute{get(a) != 0, name}; };
#define WEIR_WHEN(name) when(CU_DEVICE_ATTRIBUTE_##name, "CU_DEVICE_ATTRIBUTE_" #name)

  // These features are present with every driver that this backend supports.
  for (const Feature feature :
       {Feature::per_thread_default_stream, Feature::native_context, Feature::host_functions, Feature::stream_callbacks,
        Feature::event_timing, Feature::blocking_sync_events, Feature::graph_capture, Feature::host_functions_in_capture,
        Feature::graph_update, Feature::graph_clone, Feature::graph_child_nodes, Feature::cross_device_capture,
        Feature::modules, Feature::block_cooperation}) {
    features.native(feature);
  }
  rules.decide(Feature::stream_priorities, {}, WEIR_WHEN(STREAM_PRIORITIES_SUPPORTED));
  rules.decide(Feature::stream_id, {WEIR_HAS(StreamGetId, cuStreamGetId, 12000)});
  const auto attributes = {WEIR_HAS(StreamGetAttribute, cuStreamGetAttribute, 11000),
                           WEIR_HAS(StreamSetAttribute, cuStreamSetAttribute, 11000)};
  rules.decide(Feature::synchronization_policy, attributes);
  rules.decide(Feature::access_policy_window, attributes, WEIR_WHEN(MAX_ACCESS_POLICY_WINDOW_SIZE));
  rules.decide(
      Feature::interprocess_events,
      {WEIR_HAS(IpcGetEventHandle, cuIpcGetEventHandle, 4010), WEIR_HAS(IpcOpenEventHandle, cuIpcOpenEventHandle, 4010)},
      when(attribute_ipc_event, "CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED"));
  rules.decide(Feature::interprocess_memory,
               {WEIR_HAS(IpcGetMemHandle, cuIpcGetMemHandle, 4010), WEIR_HAS(IpcOpenMemHandle, cuIpcOpenMemHandle, 11000),
                WEIR_HAS(IpcCloseMemHandle, cuIpcCloseMemHandle, 4010)},
               WEIR_WHEN(UNIFIED_ADDRESSING));

  const auto to_graph = WEIR_HAS(StreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, 12030);
  rules.decide(Feature::capture_into_graph, {to_graph});
  rules.decide(Feature::graph_upload, {WEIR_HAS(GraphUpload, cuGraphUpload, 11010)});
  rules.decide(Feature::graph_debug_dot, {WEIR_HAS(GraphDebugDotPrint, cuGraphDebugDotPrint, 11030)});
  rules.decide(Feature::external_events, {WEIR_HAS(EventRecordWithFlags, cuEventRecordWithFlags, 11010)});
  // Drivers have the functions since 12.3, but loops and nested nodes work as documented only since 12.4.
  if (driver_version_ < 12040) {
    features.absent(Feature::graph_conditional_nodes, "the driver is for CUDA " + Rules::text(driver_version_) +
                                                          "; conditional nodes work only since CUDA 12.4");
  } else {
    rules.decide(Feature::graph_conditional_nodes,
                 {to_graph, WEIR_HAS(GraphConditionalHandleCreate, cuGraphConditionalHandleCreate, 12030),
                  WEIR_HAS(GraphAddNode, cuGraphAddNode, 12030)});
  }

  const auto write_32 = WEIR_HAS(StreamWriteValue32, cuStreamWriteValue32, 11070);
  const auto write_64 = WEIR_HAS(StreamWriteValue64, cuStreamWriteValue64, 11070);
  const auto wait_32 = WEIR_HAS(StreamWaitValue32, cuStreamWaitValue32, 11070);
  const auto wait_64 = WEIR_HAS(StreamWaitValue64, cuStreamWaitValue64, 11070);
  const auto batch = WEIR_HAS(StreamBatchMemOp, cuStreamBatchMemOp, 11070);
  rules.decide(Feature::write_value_32, {write_32});
  rules.decide(Feature::write_value_64, {write_64}, WEIR_WHEN(CAN_USE_64_BIT_STREAM_MEM_OPS));
  rules.decide(Feature::wait_value_32, {wait_32});
  rules.decide(Feature::wait_value_64, {wait_64}, WEIR_WHEN(CAN_USE_64_BIT_STREAM_MEM_OPS));
  rules.decide(Feature::wait_value_geq, {wait_32});
  rules.decide(Feature::wait_value_nor, {wait_32}, WEIR_WHEN(CAN_USE_STREAM_WAIT_VALUE_NOR));
  rules.decide(Feature::wait_value_flush, {wait_32, batch}, WEIR_WHEN(CAN_FLUSH_REMOTE_WRITES));
  rules.decide(Feature::batch_memory_operations, {batch});
  rules.decide(Feature::memory_operations_in_capture,
               {write_32, batch, WEIR_HAS(GraphAddBatchMemOpNode, cuGraphAddBatchMemOpNode, 11070)});

  if (MemcpyBatchAsync != nullptr) {
    features.native(Feature::batch_copies);
  } else {
    features.emulated(Feature::batch_copies,
                      "with one cuMemcpyAsync for each copy: cuMemcpyBatchAsync is not in the driver (CUDA " +
                          Rules::text(driver_version_) + "); CUDA 12.8 has it");
  }

  const auto pool_functions = {WEIR_HAS(MemPoolCreate, cuMemPoolCreate, 11020),
                               WEIR_HAS(MemPoolDestroy, cuMemPoolDestroy, 11020),
                               WEIR_HAS(MemPoolTrimTo, cuMemPoolTrimTo, 11020),
                               WEIR_HAS(MemPoolGetAttribute, cuMemPoolGetAttribute, 11020),
                               WEIR_HAS(MemPoolSetAttribute, cuMemPoolSetAttribute, 11020),
                               WEIR_HAS(MemPoolSetAccess, cuMemPoolSetAccess, 11020),
                               WEIR_HAS(MemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020),
                               WEIR_HAS(DeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, 11020)};
  const auto async_functions = {WEIR_HAS(MemAllocAsync, cuMemAllocAsync, 11020),
                                WEIR_HAS(MemFreeAsync, cuMemFreeAsync, 11020)};
  rules.decide(Feature::async_allocation, async_functions, WEIR_WHEN(MEMORY_POOLS_SUPPORTED));
  rules.decide(Feature::memory_pools, pool_functions, WEIR_WHEN(MEMORY_POOLS_SUPPORTED));
  if (driver_version_ < 12020) {  // these drivers require zeros where later ones have the limit
    features.absent(Feature::memory_pool_max_size, "the driver is for CUDA " + Rules::text(driver_version_) +
                                                       "; pools can have a maximum size only since CUDA 12.2");
  } else {
    rules.decide(Feature::memory_pool_max_size, pool_functions, WEIR_WHEN(MEMORY_POOLS_SUPPORTED));
  }
  rules.decide(Feature::graph_memory_nodes,
               {WEIR_HAS(MemAllocAsync, cuMemAllocAsync, 11020), WEIR_HAS(MemFreeAsync, cuMemFreeAsync, 11020),
                WEIR_HAS(GraphMemAllocNodeGetParams, cuGraphMemAllocNodeGetParams, 11040),
                WEIR_HAS(GraphMemFreeNodeGetParams, cuGraphMemFreeNodeGetParams, 11040)},
               WEIR_WHEN(MEMORY_POOLS_SUPPORTED));
  rules.decide(Feature::managed_memory, {}, WEIR_WHEN(MANAGED_MEMORY));
  rules.decide(Feature::managed_attach, {}, WEIR_WHEN(MANAGED_MEMORY));
  rules.decide(Feature::concurrent_managed_access, {}, WEIR_WHEN(CONCURRENT_MANAGED_ACCESS));
  rules.decide(Feature::managed_prefetch, {WEIR_HAS(MemPrefetchAsync, cuMemPrefetchAsync, 8000)},
               WEIR_WHEN(CONCURRENT_MANAGED_ACCESS));
  rules.decide(Feature::host_registration,
               {WEIR_HAS(MemHostRegister, cuMemHostRegister, 6050), WEIR_HAS(MemHostUnregister, cuMemHostUnregister, 4000)},
               WEIR_WHEN(HOST_REGISTER_SUPPORTED));
  rules.decide(Feature::cooperative_launch, {WEIR_HAS(LaunchCooperativeKernel, cuLaunchCooperativeKernel, 9000)},
               WEIR_WHEN(COOPERATIVE_LAUNCH));

  rules.decide(Feature::partitions, {WEIR_HAS(DeviceGetDevResource, cuDeviceGetDevResource, 12040),
                                     WEIR_HAS(DevSmResourceSplitByCount, cuDevSmResourceSplitByCount, 12040),
                                     WEIR_HAS(DevResourceGenerateDesc, cuDevResourceGenerateDesc, 12040),
                                     WEIR_HAS(GreenCtxCreate, cuGreenCtxCreate, 12040),
                                     WEIR_HAS(GreenCtxDestroy, cuGreenCtxDestroy, 12040),
                                     WEIR_HAS(GreenCtxStreamCreate, cuGreenCtxStreamCreate, 12050)});
  if (features.supports(Feature::partitions) && get(attribute_mps_enabled) != 0) {
    features.absent(Feature::partitions,
                    "under MPS the driver also runs a partition's kernels on multiprocessors of other partitions; end the "
                    "MPS server, or limit each process with CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  }
  const auto launch_ex = WEIR_HAS(LaunchKernelEx, cuLaunchKernelEx, 11060);
  rules.decide(Feature::launch_priority, {launch_ex});
  rules.decide(Feature::cluster_launch, {launch_ex}, WEIR_WHEN(CLUSTER_LAUNCH));
  rules.decide(Feature::programmatic_launch, {launch_ex});
  if (features.supports(Feature::programmatic_launch) && properties.compute_capability_major < 9) {
    features.emulated(
        Feature::programmatic_launch,
        "the kernel begins once the one before it has ended; GPUs from compute capability 9.0 on overlap them");
  }
  rules.decide(Feature::graph_node_changes,
               {WEIR_HAS(GraphExecKernelNodeSetParams, cuGraphExecKernelNodeSetParams, 12000),
                WEIR_HAS(GraphExecMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams, 10020),
                WEIR_HAS(GraphExecMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams, 10020),
                WEIR_HAS(GraphNodeSetEnabled, cuGraphNodeSetEnabled, 11060)});
  if (!features.supports(Feature::graph_conditional_nodes)) {
    features.absent(Feature::graph_switch_nodes, features.state(Feature::graph_conditional_nodes).reason);
  } else if (driver_version_ < 12080) {
    features.absent(Feature::graph_switch_nodes, "the driver is for CUDA " + Rules::text(driver_version_) +
                                                     "; conditional nodes with several bodies work only since CUDA 12.8");
  } else {
    features.native(Feature::graph_switch_nodes);
  }

  bool any_peer = false;
  for (int peer = 0; peer < device_count_ && !any_peer; ++peer) {
    if (peer != ordinal && can_access_peer(ordinal, peer, any_peer) != CUDA_SUCCESS) any_peer = false;
  }
  if (any_peer) {
    features.native(Feature::peer_access);
  } else {
    features.absent(Feature::peer_access, device_count_ < 2
                                              ? "there is no other CUDA device"
                                              : "this device cannot access the memory of any other device "
                                                "(cuDeviceCanAccessPeer); copies between devices work nevertheless");
  }
  describe_runtime_compilation(properties, features);
#undef WEIR_WHEN
}

#undef WEIR_HAS

}  // namespace weir::cuda
