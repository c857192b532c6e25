// SPDX-License-Identifier: Apache-2.0
#include "weir/device.hpp"

#include "bindings/c/convert.hpp"
#include "weir/backend.hpp"
#include "weir/registry.hpp"

// The C interface: backends and devices (weir/c/device.h).
namespace weir::c {
namespace {

static_assert(static_cast<unsigned>(BackendState::bad_variable) == WEIR_BACKEND_BAD_VARIABLE);
static_assert(static_cast<unsigned>(Support::native) == WEIR_SUPPORT_NATIVE);

weir_dim3 extent(const Dim3& d) noexcept { return {d.x, d.y, d.z}; }

/// Returns the C++ feature. Throws for a number that is not a feature of this library.
Feature known_feature(weir_feature feature) {
  const auto found = feature_of(feature);
  if (!found) throw_unknown_enumerator("feature", feature);
  return *found;
}

}  // namespace
}  // namespace weir::c

using namespace weir::c;
using weir::Registry;

// --- Backends -----------------------------------------------------------------------------------------------------------

const char* weir_backend_known_name(size_t index) {
  const auto names = Registry::known_names();
  return index < names.size() ? names[index].data() : nullptr;
}

weir_result weir_backend_open(const char* name, weir_backend** backend) {
  return give(__func__, backend, "backend", [&] { return handle(&Registry::instance().open(text(name, "name"))); });
}

weir_result weir_backend_open_default(weir_backend** backend) {
  return give(__func__, backend, "backend", [&] { return handle(&Registry::instance().default_backend()); });
}

weir_result weir_backend_probe(const char* name, weir_backend_info* info) {
  return give(__func__, info, "info", [&] {
    const weir::BackendInfo& found = Registry::instance().probe(text(name, "name"));
    weir_backend_info all{};
    all.name = found.name.c_str();
    all.state = static_cast<weir_backend_state>(found.state);
    all.reason = found.reason.c_str();
    all.plugin_path = found.plugin_path.c_str();
    all.plugin_version = found.plugin_version.c_str();
    all.backend = handle(found.backend);
    return all;
  });
}

const char* weir_backend_name(const weir_backend* backend) {
  return backend != nullptr ? object(backend)->name().c_str() : nullptr;
}

weir_result weir_backend_get_versions(const weir_backend* backend, weir_backend_versions* versions) {
  return give(__func__, versions, "versions", [&] {
    const weir::BackendVersions& found = required(backend, "backend").versions();
    weir_backend_versions all{};
    all.driver = found.driver.c_str();
    all.runtime = found.runtime.c_str();
    all.library_path = found.library_path.c_str();
    all.compiler = found.compiler.c_str();
    return all;
  });
}

int32_t weir_backend_device_count(const weir_backend* backend) {
  return backend != nullptr ? object(backend)->device_count() : 0;
}

weir_result weir_backend_device(const weir_backend* backend, int32_t ordinal, weir_device** device) {
  return give(__func__, device, "device", [&] { return handle(&required(backend, "backend").device(ordinal)); });
}

// --- Devices ------------------------------------------------------------------------------------------------------------

weir_result weir_device_get_default(weir_device** device) {
  return give(__func__, device, "device", [&] { return handle(&weir::default_device()); });
}

weir_result weir_device_get(const char* name, weir_device** device) {
  return give(__func__, device, "device", [&] { return handle(&weir::device(text(name, "name"))); });
}

weir_result weir_device_enumerate(size_t capacity, weir_device** devices, size_t* count) {
  return give(__func__, count, "count", [&] {
    elements(devices, capacity, "devices");
    const auto all = weir::devices();
    for (std::size_t i = 0; i < std::min(capacity, all.size()); ++i) devices[i] = handle(all[i]);
    return all.size();
  });
}

weir_backend* weir_device_backend(const weir_device* device) {
  return device != nullptr ? handle(&object(device)->backend()) : nullptr;
}

int32_t weir_device_ordinal(const weir_device* device) { return device != nullptr ? object(device)->ordinal() : 0; }

const char* weir_device_describe(const weir_device* device) {
  return device != nullptr ? object(device)->describe().c_str() : nullptr;
}

int64_t weir_device_native_handle(const weir_device* device) {
  return device != nullptr ? object(device)->native_handle() : 0;
}

weir_result weir_device_get_properties(const weir_device* device, weir_device_properties* properties) {
  return give(__func__, properties, "properties", [&] {
    const weir::DeviceProperties& known = required(device, "device").properties();
    weir_device_properties all{};
    all.name = known.name.c_str();
    all.architecture = known.architecture.c_str();
    all.uuid = known.uuid.c_str();
    all.pci_bus_id = known.pci_bus_id.c_str();
    all.total_memory = known.total_memory;
    all.shared_memory_per_block = known.shared_memory_per_block;
    all.shared_memory_per_block_optin = known.shared_memory_per_block_optin;
    all.shared_memory_per_multiprocessor = known.shared_memory_per_multiprocessor;
    all.l2_cache_size = known.l2_cache_size;
    all.compute_capability_major = known.compute_capability_major;
    all.compute_capability_minor = known.compute_capability_minor;
    all.multiprocessor_count = known.multiprocessor_count;
    all.warp_size = known.warp_size;
    all.max_threads_per_block = known.max_threads_per_block;
    all.max_threads_per_multiprocessor = known.max_threads_per_multiprocessor;
    all.max_block = extent(known.max_block);
    all.max_grid = extent(known.max_grid);
    all.registers_per_block = known.registers_per_block;
    all.clock_rate_khz = known.clock_rate_khz;
    all.memory_clock_rate_khz = known.memory_clock_rate_khz;
    all.memory_bus_width_bits = known.memory_bus_width_bits;
    all.async_engine_count = known.async_engine_count;
    all.flags = (known.integrated ? WEIR_DEVICE_INTEGRATED : 0U) | (known.ecc_enabled ? WEIR_DEVICE_ECC_ENABLED : 0U) |
                (known.unified_addressing ? WEIR_DEVICE_UNIFIED_ADDRESSING : 0U);
    return all;
  });
}

weir_result weir_device_memory_info(const weir_device* device, size_t* free_bytes, size_t* total_bytes) {
  return call(__func__, [&] {
    const weir::MemoryInfo memory = required(device, "device").memory_info();
    if (free_bytes != nullptr) *free_bytes = memory.free;
    if (total_bytes != nullptr) *total_bytes = memory.total;
  });
}

weir_result weir_device_synchronize(weir_device* device) {
  return call(__func__, [&] { required(device, "device").synchronize(); });
}

weir_result weir_device_synchronize_for(weir_device* device, int64_t timeout_ns, bool* complete) {
  return give(__func__, complete, "complete",
              [&] { return required(device, "device").synchronize_for(std::chrono::nanoseconds(timeout_ns)); });
}

// --- Features -----------------------------------------------------------------------------------------------------------

bool weir_device_supports(const weir_device* device, weir_feature feature) {
  const auto found = feature_of(feature);
  return device != nullptr && found && object(device)->supports(*found);
}

weir_result weir_device_get_feature(const weir_device* device, weir_feature feature, weir_support* support,
                                    const char** reason) {
  return call(__func__, [&] {
    const weir::FeatureState& state = required(device, "device").feature(known_feature(feature));
    if (support != nullptr) *support = static_cast<weir_support>(state.support);
    if (reason != nullptr) *reason = state.reason.c_str();
  });
}

weir_result weir_device_require(const weir_device* device, const weir_feature* features, size_t count) {
  return call(__func__, [&] {
    const weir::Device& asked = required(device, "device");
    elements(features, count, "features");
    std::string missing;
    for (std::size_t i = 0; i < count; ++i) {
      const weir::Feature feature = known_feature(features[i]);
      if (asked.supports(feature)) continue;
      missing += (missing.empty() ? "" : "; ") + std::string(to_string(feature)) + ": " + asked.feature(feature).reason;
    }
    if (!missing.empty()) throw weir::Error(weir::Errc::unsupported, "Device::require", asked.describe(), missing);
  });
}

// --- Peers --------------------------------------------------------------------------------------------------------------

weir_result weir_device_can_access_peer(const weir_device* device, const weir_device* peer, bool* can) {
  return give(__func__, can, "can", [&] { return required(device, "device").can_access_peer(required(peer, "peer")); });
}

weir_result weir_device_enable_peer_access(weir_device* device, const weir_device* peer) {
  return call(__func__, [&] { required(device, "device").enable_peer_access(required(peer, "peer")); });
}

weir_result weir_device_disable_peer_access(weir_device* device, const weir_device* peer) {
  return call(__func__, [&] { required(device, "device").disable_peer_access(required(peer, "peer")); });
}

// --- Health -------------------------------------------------------------------------------------------------------------

weir_result weir_device_health(const weir_device* device, weir_result* state, char** description) {
  return give(__func__, state, "state", [&] {
    const weir::DeviceHealth health = required(device, "device").health();
    if (description != nullptr) *description = new_text(health.describe());
    return health.error ? result_of(health.error->errc()) : WEIR_SUCCESS;
  });
}

bool weir_device_is_poisoned(const weir_device* device) { return device != nullptr && object(device)->is_poisoned(); }
