// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <cstring>
#include <initializer_list>

#include "backends/hip/api.hpp"
#include "backends/hip/numbers.hpp"

/// Queries the properties and features of a device.
namespace weir::hip {

// Queries one attribute; empty if this runtime does not have it. Query each attribute only once per device, because the
// runtime collects all properties on each call.
std::optional<int> Api::attribute(int number, int ordinal) const {
  int value = 0;
  const hipError_t result = DeviceGetAttribute(&value, static_cast<hipDeviceAttribute_t>(number), ordinal);
  if (result == hipSuccess) return value;
  // This runtime does not have the attribute.
  if (result == hipErrorInvalidValue || result == hipErrorNotSupported) return std::nullopt;
  gpu::fail(*this, result, "hipDeviceGetAttribute", "hip:" + std::to_string(ordinal));
}

// Queries the device's properties that have no attribute.
Api::WithoutAttribute Api::without_attribute(int ordinal) const {
  alignas(std::max_align_t) char properties[8192] = {};  // larger than the structure in any release
  const hipError_t result = GetDevicePropertiesR0600(properties, ordinal);
  if (result != hipSuccess)
    gpu::fail(*this, result, GetDevicePropertiesR0600.name, "hip:" + std::to_string(ordinal));
  const char* const name = properties + architecture_in_r0600;
  int cluster_launch = 0;
  std::memcpy(&cluster_launch, properties + cluster_launch_in_r0600, sizeof(cluster_launch));
  return {std::string(name, ::strnlen(name, longest_architecture)), cluster_launch != 0};
}

// The UUID is text of up to sixteen characters. Devices without a unique number all return one that begins with XX.
std::string Api::uuid(int ordinal) const {
  hipUUID native{};
  if (DeviceGetUuid(&native, ordinal) != hipSuccess) return {};
  std::string text;
  for (const char c : native.bytes) {
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0) break;
    text += c;
  }
  return text.size() == sizeof(native.bytes) ? "GPU-" + text : std::string();
}

void Api::describe_device(int ordinal, DeviceProperties& properties, FeatureTable& features) const {
  const auto get = [&](int number) { return attribute(number, ordinal).value_or(0); };
  const auto get_unsigned = [&](int number) { return static_cast<std::uint32_t>(get(number)); };

  char text[256] = "";
  const auto must = [&](hipError_t result, const char* function) {
    if (result != hipSuccess) gpu::fail(*this, result, function, "hip:" + std::to_string(ordinal));
  };
  must(DeviceGetName(text, sizeof(text), ordinal), "hipDeviceGetName");
  properties.name = text;
  const WithoutAttribute others = without_attribute(ordinal);
  properties.architecture = others.architecture;
  properties.uuid = uuid(ordinal);
  if (DeviceGetPCIBusId(text, sizeof(text), ordinal) == hipSuccess) properties.pci_bus_id = text;
  must(DeviceTotalMem(&properties.total_memory, ordinal), "hipDeviceTotalMem");
  properties.compute_capability_major = get(attribute_capability_major);
  properties.compute_capability_minor = get(attribute_capability_minor);
  properties.multiprocessor_count = get(attribute_multiprocessor_count);
  properties.warp_size = get(attribute_warp_size);
  properties.max_threads_per_block = get(attribute_max_threads_per_block);
  properties.max_threads_per_multiprocessor = get(attribute_max_threads_per_multiprocessor);
  properties.max_block = {get_unsigned(attribute_max_block_x), get_unsigned(attribute_max_block_x + 1),
                          get_unsigned(attribute_max_block_x + 2)};
  properties.max_grid = {get_unsigned(attribute_max_grid_x), get_unsigned(attribute_max_grid_x + 1),
                         get_unsigned(attribute_max_grid_x + 2)};
  properties.shared_memory_per_block = get_unsigned(attribute_shared_per_block);
  // In 6.2 the attribute is 0, so use the limit without opt-in as the least.
  properties.shared_memory_per_block_optin =
      std::max(get_unsigned(attribute_shared_per_block), get_unsigned(attribute_shared_per_block_optin));
  properties.shared_memory_per_multiprocessor = get_unsigned(attribute_shared_per_multiprocessor);
  properties.registers_per_block = get(attribute_registers_per_block);
  properties.l2_cache_size = get_unsigned(attribute_l2_cache_size);
  properties.clock_rate_khz = get(attribute_clock_rate);
  properties.memory_clock_rate_khz = get(attribute_memory_clock_rate);
  properties.memory_bus_width_bits = get(attribute_memory_bus_width);
  properties.async_engine_count = get(attribute_async_engine_count);
  properties.integrated = get(attribute_integrated) != 0;
  properties.ecc_enabled = get(attribute_ecc_enabled) != 0;
  properties.unified_addressing =
      // Without the attribute assume true, because every AMD device has the feature.
      attribute(attribute_unified_addressing, ordinal).value_or(1) != 0;

  decide(features, ordinal, others);
  if (const std::string refusal = compiler_->refusal(properties.architecture); !refusal.empty()) {
    features.absent(Feature::runtime_compilation, refusal);
  }
}

void Api::describe_features(FeatureTable& features) const {
  decide(features, std::nullopt, {});
  if (!compiler_->is_usable()) features.absent(Feature::runtime_compilation, compiler_->description());
}

void Api::decide(FeatureTable& features, std::optional<int> ordinal, const WithoutAttribute& others) const {
  const std::string& architecture = others.architecture;
  // Whether an attribute is known to be 0. A failed query means "unknown", and without a device every attribute is unknown.
  const auto is_off = [&](int number) { return ordinal && attribute(number, *ordinal) == 0; };

  struct Attribute {
    int number = -1;
    const char* name = nullptr;
  };
  // Sets one feature. It checks the symbols first, then the attribute, then the list of known faults.
  const auto rule = [&](Feature feature, std::initializer_list<const Symbol*> symbols, Attribute needed = {}) {
    for (const Symbol* const symbol : symbols) {
      if (symbol->address != nullptr) continue;
      // Otherwise the release should have the function, but this build of the runtime lacks it.
      const bool later = symbol->since > release_;
      int since = symbol->since;
      // Even a release that has the function may have a fault in this feature; the error then names that as well.
      const FeatureQuirk* const quirk = find_quirk(feature, since, architecture);
      if (later && quirk && quirk->effect == Effect::absent) {
        if (quirk->releases.until == 0) return features.absent(feature, std::string(quirk->reason));
        since = quirk->releases.until;
      }
      const char* const has = since == symbol->since ? " has it" : " has the feature";
      return features.absent(feature, std::string(symbol->name) + " is not in " +
                                          library_path_.substr(library_path_.rfind('/') + 1) + " (HIP " + version_text() +
                                          "); " + (later ? "ROCm " : "HIP has it since ") + release_text(since) +
                                          (later ? has : ", but this build of the runtime does not"));
    }
    if (needed.number >= 0 && is_off(needed.number)) {
      return features.absent(feature, std::string("this device lacks it: ") + needed.name + " is 0");
    }
    const FeatureQuirk* const quirk = find_quirk(feature, release_, architecture);
    if (quirk == nullptr) return features.native(feature);
    switch (quirk->effect) {
      case Effect::absent: return features.absent(feature, std::string(quirk->reason));
      case Effect::emulated: return features.emulated(feature, std::string(quirk->reason));
      case Effect::opt_in:
        return enabled_.test(static_cast<std::size_t>(feature)) ? features.native(feature)
                                                                : features.absent(feature, std::string(quirk->reason));
    }
  };

  // These features are present in every release that this backend supports.
  for (const Feature feature : {Feature::per_thread_default_stream, Feature::stream_callbacks, Feature::event_timing,
                                Feature::blocking_sync_events, Feature::modules, Feature::block_cooperation,
                                Feature::runtime_compilation, Feature::host_functions, Feature::interprocess_events,
                                Feature::interprocess_memory}) {
    rule(feature, {});
  }
  rule(Feature::stream_priorities, {}, {attribute_stream_priorities, "hipDeviceAttributeStreamPrioritiesSupported"});
  features.absent(Feature::native_context, "HIP has no contexts; a device is named by its number");
  features.absent(Feature::access_policy_window,
                  release_ < 1000 ? "HIP has no persistence windows before 10.0"
                                  : "HIP 10.0 declares persistence windows; whether a GPU heeds them is not known");
  features.absent(Feature::graph_conditional_nodes, "HIP has no conditional nodes, and no release announces them");
  features.absent(Feature::graph_switch_nodes, "HIP has no conditional nodes, and no release announces them");
  features.absent(Feature::graph_node_changes,
                  "hipGraphExecKernelNodeSetParams changes launches that run; capture anew and call GraphExec::update");
  if (release_ < 714) {
    features.absent(Feature::partitions,
                    "HIP has green contexts since 7.14; Weir does not use hipExtStreamCreateWithCUMask, "
                    "whose streams have no priority and are all blocking");
  } else {
    rule(Feature::partitions, {&DeviceGetDevResource, &DevSmResourceSplitByCount, &DevResourceGenerateDesc, &GreenCtxCreate,
                               &GreenCtxDestroy, &GreenCtxStreamCreate});
  }
  if (!others.launches_clusters) {
    features.absent(Feature::cluster_launch,
                    "this device lacks it: hipDeviceProp_t::clusterLaunch is 0; AMD GPUs have clusters from gfx1250 on");
  } else if (release_ < 1000) {
    features.absent(Feature::cluster_launch, "HIP launches thread block clusters from 10.0 on");
  } else {
    rule(Feature::cluster_launch, {&LaunchKernelEx});
  }
  features.emulated(Feature::programmatic_launch, "the kernel begins once the one before it has ended");
  features.absent(Feature::launch_priority, "HIP has priorities of streams alone; use StreamOptions::priority");
  rule(Feature::stream_id, {&StreamGetId});
  rule(Feature::synchronization_policy, {&StreamGetAttribute, &StreamSetAttribute});

  // Graphs can be created only by capture, so the other graph features also need the feature `graph_capture`.
  rule(Feature::graph_capture, {});
  const auto graph_rule = [&](Feature feature, std::initializer_list<const Symbol*> symbols, Attribute needed = {}) {
    if (features.supports(Feature::graph_capture)) return rule(feature, symbols, needed);
    features.absent(feature, "there is no capture: " + features.state(Feature::graph_capture).reason);
  };
  graph_rule(Feature::capture_into_graph, {});
  graph_rule(Feature::host_functions_in_capture, {});
  graph_rule(Feature::memory_operations_in_capture, {&StreamBatchMemOp},
             {attribute_stream_wait_value, "hipDeviceAttributeCanUseStreamWaitValue"});
  graph_rule(Feature::graph_update, {});
  graph_rule(Feature::graph_upload, {});
  graph_rule(Feature::graph_debug_dot, {});
  graph_rule(Feature::graph_clone, {});
  graph_rule(Feature::graph_child_nodes, {});
  graph_rule(Feature::graph_memory_nodes, {}, {attribute_memory_pools, "hipDeviceAttributeMemoryPoolsSupported"});
  graph_rule(Feature::external_events, {&EventRecordWithFlags});
  graph_rule(Feature::cross_device_capture, {});

  const Attribute wait_value{attribute_stream_wait_value, "hipDeviceAttributeCanUseStreamWaitValue"};
  rule(Feature::write_value_32, {}, wait_value);
  rule(Feature::write_value_64, {}, wait_value);
  rule(Feature::wait_value_32, {}, wait_value);
  rule(Feature::wait_value_64, {}, wait_value);
  rule(Feature::wait_value_geq, {}, wait_value);
  rule(Feature::wait_value_nor, {}, wait_value);
  rule(Feature::wait_value_flush, {}, wait_value);
  features.emulated(Feature::batch_copies, "one hipMemcpyAsync each: Weir does not use hipMemcpyBatchAsync");
  rule(Feature::batch_memory_operations, {}, wait_value);
  if (features.supports(Feature::batch_memory_operations) && !StreamBatchMemOp) {
    features.emulated(Feature::batch_memory_operations,
                      "by single operations under one lock: hipStreamBatchMemOp is not in HIP " + version_text() +
                          "; ROCm 6.4 has it");
  }

  const Attribute pools{attribute_memory_pools, "hipDeviceAttributeMemoryPoolsSupported"};
  rule(Feature::async_allocation, {}, pools);
  rule(Feature::memory_pools, {}, pools);
  rule(Feature::memory_pool_max_size, {}, pools);
  const Attribute managed{attribute_managed_memory, "hipDeviceAttributeManagedMemory"};
  const Attribute concurrent{attribute_concurrent_managed_access, "hipDeviceAttributeConcurrentManagedAccess"};
  rule(Feature::managed_memory, {}, managed);
  rule(Feature::managed_attach, {}, managed);
  rule(Feature::concurrent_managed_access, {}, concurrent);
  rule(Feature::managed_prefetch, {}, concurrent);
  rule(Feature::host_registration, {},
       {attribute_host_register, "hipDeviceAttributeHostRegisterSupported"});
  rule(Feature::cooperative_launch, {},
       {attribute_cooperative_launch, "hipDeviceAttributeCooperativeLaunch"});

  bool any_peer = false;
  for (int peer = 0; ordinal && peer < device_count_ && !any_peer; ++peer) {
    if (peer != *ordinal && can_access_peer(*ordinal, peer, any_peer) != hipSuccess) any_peer = false;
  }
  if (any_peer || !ordinal) {
    features.native(Feature::peer_access);
  } else {
    features.absent(Feature::peer_access, device_count_ < 2
                                              ? "there is no other HIP device"
                                              : "this device cannot address any other one's memory "
                                                "(hipDeviceCanAccessPeer); copies between them work all the same");
  }
}

}  // namespace weir::hip
