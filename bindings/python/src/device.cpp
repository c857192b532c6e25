// SPDX-License-Identifier: Apache-2.0
#include "weir/device.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/objects.hpp"
#include "bindings/python/src/waiting.hpp"
#include "weir/backend.hpp"
#include "weir/registry.hpp"

// Implements Device and Feature.
namespace weir::python {

Device& device_of(nb::handle argument) {
  if (Device* const device = try_held_by<Device>(argument)) return *device;
  if (argument.is_none()) return without_gil([]() -> Device& { return default_device(); });
  if (PyIndex_Check(argument.ptr()) != 0) {
    const int ordinal = nb::cast<int>(argument);
    return without_gil([&]() -> Device& { return Registry::instance().default_backend().device(ordinal); });
  }
  if (!nb::isinstance<nb::str>(argument)) throw nb::type_error("a device is a weir.Device, a number, a name or None");
  const auto name = nb::cast<std::string>(argument);
  return without_gil([&]() -> Device& { return weir::device(name); });
}

namespace {

std::variant<Priority, int> priority_of(nb::handle argument) {
  if (argument.is_none()) return Priority::normal;
  if (PyIndex_Check(argument.ptr()) != 0) return nb::cast<int>(argument);
  if (!nb::isinstance<nb::str>(argument)) throw_wrong_type("priority", "'low', 'normal', 'high', or a number,", argument);
  return choice<Priority>("priority", nb::cast<std::string>(argument),
                          {{"low", Priority::low}, {"normal", Priority::normal}, {"high", Priority::high}});
}

}  // namespace

StreamOptions stream_options(bool nonblocking, nb::handle priority) {
  return {.blocking = !nonblocking, .priority = priority_of(priority)};
}

namespace {

nb::dict features_of(const Device& device) {
  nb::dict all;
  for (const Feature feature : all_features()) {
    const FeatureState& state = device.feature(feature);
    const std::string_view name = to_string(feature), support = to_string(state.support);
    all[nb::str(name.data(), name.size())] =
        nb::make_tuple(nb::str(support.data(), support.size()), nb::str(state.reason.c_str()));
  }
  return all;
}

Feature feature_of(const std::string& name) {
  if (const auto feature = parse_feature(name)) return *feature;
  throw nb::value_error(("no feature is named '" + name + "'; Device.features lists all features").c_str());
}

StreamObject create_stream(Device& device, bool nonblocking, nb::handle priority) {
  const StreamOptions options = stream_options(nonblocking, priority);
  return without_gil([&] { return StreamObject{device.create_stream(options)}; });
}

EventObject create_event(Device& device, bool timing_enabled, bool blocking_sync, bool ipc_enabled) {
  const EventOptions options{.timing = timing_enabled, .blocking_sync = blocking_sync, .interprocess = ipc_enabled};
  return without_gil([&] { return EventObject{device.create_event(options)}; });
}

template <void (Device::*change)(const Device&)>
void change_peer(Device& device, nb::handle peer) {
  Device& other = device_of(peer);
  without_gil([&] { (device.*change)(other); });
}

/// Returns for each backend its name, its state, the reason if it is not usable, its driver's version, and its compiler.
nb::list probe() {
  nb::list all;
  for (const BackendInfo& info : without_gil([] { return Registry::instance().probe_all(); })) {
    const std::string state(to_string(info.state));
    const BackendVersions versions =
        info.backend != nullptr ? without_gil([&] { return info.backend->versions(); }) : BackendVersions{};
    all.append(nb::make_tuple(info.name, state, info.reason, versions.driver, versions.compiler));
  }
  return all;
}

}  // namespace

void bind_device(nb::module_& module) {
  module.def("_probe", &probe, nb::sig("def _probe() -> list[tuple[str, str, str, str, str]]"));
  nb::class_<DeviceProperties>(module, "DeviceProperties",
                               "Limits and sizes of a device. What the backend does not know is 0 or empty.")
      .def_ro("total_memory", &DeviceProperties::total_memory, "Bytes.")
      .def_ro("multiprocessor_count", &DeviceProperties::multiprocessor_count)
      .def_ro("warp_size", &DeviceProperties::warp_size, "Threads in a warp: never assume 32.")
      .def_ro("max_threads_per_block", &DeviceProperties::max_threads_per_block)
      .def_ro("max_threads_per_multiprocessor", &DeviceProperties::max_threads_per_multiprocessor)
      .def_prop_ro(
          "max_block_dim",
          [](const DeviceProperties& p) { return nb::make_tuple(p.max_block.x, p.max_block.y, p.max_block.z); },
          nb::sig("def max_block_dim(self) -> tuple[int, int, int]"))
      .def_prop_ro(
          "max_grid_dim", [](const DeviceProperties& p) { return nb::make_tuple(p.max_grid.x, p.max_grid.y, p.max_grid.z); },
          nb::sig("def max_grid_dim(self) -> tuple[int, int, int]"))
      .def_ro("max_shared_memory_per_block", &DeviceProperties::shared_memory_per_block, "Bytes that any block can use.")
      .def_ro("max_shared_memory_per_block_optin", &DeviceProperties::shared_memory_per_block_optin,
              "Bytes that a launch can opt in to.")
      .def_ro("max_shared_memory_per_multiprocessor", &DeviceProperties::shared_memory_per_multiprocessor, "Bytes.")
      .def_ro("max_registers_per_block", &DeviceProperties::registers_per_block)
      .def_ro("l2_cache_size", &DeviceProperties::l2_cache_size, "Bytes.")
      .def_ro("clock_rate", &DeviceProperties::clock_rate_khz, "Kilohertz.")
      .def_ro("memory_clock_rate", &DeviceProperties::memory_clock_rate_khz, "Kilohertz.")
      .def_ro("global_memory_bus_width", &DeviceProperties::memory_bus_width_bits, "Bits.")
      .def_ro("async_engine_count", &DeviceProperties::async_engine_count,
              "How many copies can run concurrently with kernels.")
      .def_ro("integrated", &DeviceProperties::integrated, "Whether it shares its memory with the host.")
      .def_ro("ecc_enabled", &DeviceProperties::ecc_enabled)
      .def_ro("unified_addressing", &DeviceProperties::unified_addressing);

  nb::class_<Device>(module, "Device", "One device of one backend: a GPU, or the CPU. Lives until the process ends.")
      .def(nb::new_([](nb::handle device_id) { return &device_of(device_id); }), nb::rv_policy::reference,
           nb::arg("device_id") = nb::none(),
           "The device with that number in the default backend (``Device(1)``) or with that name\n"
           "(``Device(\"cuda:1\")``, ``Device(\"host\")``). None: the device that WEIR_BACKEND and WEIR_DEVICE select.\n"
           "If a backend cannot be used, raises the reason: Weir never falls back to the CPU silently.")
      .def_static(
          "get_all_devices", [] { return without_gil([] { return devices(); }); }, nb::rv_policy::reference,
          "The devices of all backends that this machine can use.")
      .def_prop_ro("device_id", &Device::ordinal, "The number in its backend, from 0.")
      .def_prop_ro(
          "backend", [](const Device& d) { return d.backend().name(); }, "``\"cuda\"``, ``\"hip\"`` or ``\"host\"``.")
      .def_prop_ro(
          "name", [](const Device& d) { return d.properties().name; }, "The marketing name.")
      .def_prop_ro(
          "arch", [](const Device& d) { return d.properties().architecture; },
          "``\"sm_90\"``, ``\"gfx90a:sramecc+:xnack-\"``, ``\"x86-64\"``.")
      .def_prop_ro(
          "uuid", [](const Device& d) { return d.properties().uuid; }, "As the vendor prints it.")
      .def_prop_ro(
          "pci_bus_id", [](const Device& d) { return d.properties().pci_bus_id; }, "``\"0000:65:00.0\"``.")
      .def_prop_ro(
          "compute_capability",
          [](const Device& d) {
            return std::pair(d.properties().compute_capability_major, d.properties().compute_capability_minor);
          },
          "``(9, 0)``.")
      .def_prop_ro("properties", &Device::properties, "Limits and sizes.")
      .def_prop_ro("features", &features_of, nb::sig("def features(self) -> dict[str, tuple[str, str]]"),
                   "All features by name: ``\"native\"``, ``\"emulated\"`` or ``\"absent\"``, and the reason if not native.")
      .def(
          "supports", [](const Device& d, const std::string& name) { return d.supports(feature_of(name)); },
          nb::arg("feature"), "Whether the device has the feature. Raises ``ValueError`` for an unknown name.")
      .def(
          "require", [](const Device& d, const std::string& name) { d.require({feature_of(name)}); }, nb::arg("feature"),
          "Raises ``UnsupportedError``, with the reason, if the device lacks the feature.")
      .def_prop_ro(
          "mem_info",
          [](const Device& d) {
            const MemoryInfo info = without_gil([&] { return d.memory_info(); });
            return std::pair(info.free, info.total);
          },
          "Free and total memory in bytes.")
      .def_prop_ro(
          "default_stream", [](Device& d) { return without_gil([&] { return StreamObject{d.default_stream()}; }); },
          "The legacy default stream. It waits for blocking streams, and they wait for it.")
      .def_prop_ro(
          "per_thread_default_stream",
          [](Device& d) { return without_gil([&] { return StreamObject{d.per_thread_stream()}; }); },
          "The calling thread's default stream. Feature ``per_thread_default_stream``.")
      .def_prop_ro(
          "priority_range",
          [](const Device& d) {
            const PriorityRange range = without_gil([&] { return d.priority_range(); });
            return std::pair(range.least, range.greatest);
          },
          "The least and the greatest stream priority. These are the vendor's numbers: a lower number is more urgent.")
      .def("create_stream", &create_stream,
           nb::sig("def create_stream(self, *, nonblocking: bool = True, "
                   "priority: _Priority = None) -> Stream"),
           nb::kw_only(), nb::arg("nonblocking") = true, nb::arg("priority") = nb::none(),
           "A new stream. ``nonblocking``: it does not synchronize with the legacy default stream. ``priority``:\n"
           "``\"low\"``, ``\"normal\"``, ``\"high\"``, or a number in ``priority_range``.")
      .def("create_event", &create_event, nb::kw_only(), nb::arg("timing_enabled") = false, nb::arg("blocking_sync") = false,
           nb::arg("ipc_enabled") = false,
           "A new event. ``timing_enabled``: it records the time, for ``end - start``. ``blocking_sync``: ``sync`` sleeps\n"
           "instead of spinning. ``ipc_enabled``: other processes can open it by its ``ipc_descriptor``; not with\n"
           "``timing_enabled``. Features ``event_timing``, ``blocking_sync_events``, ``interprocess_events``.")
      .def(
          "can_access_peer", [](const Device& d, nb::handle peer) { return d.can_access_peer(device_of(peer)); },
          nb::arg("peer"), "Whether kernels on this device can access the memory of ``peer`` once access is enabled.")
      .def("enable_peer_access", &change_peer<&Device::enable_peer_access>, nb::arg("peer"),
           "Lets kernels on this device access the memory of ``peer``. Feature ``peer_access``.")
      .def("disable_peer_access", &change_peer<&Device::disable_peer_access>, nb::arg("peer"),
           "Undoes ``enable_peer_access``.")
      .def(
          "sync",
          [](Device& d, std::optional<double> timeout) {
            check_may_wait("Device.sync");
            wait_for(d, timeout, [&] { return d.describe() + " is not done"; });
          },
          nb::arg("timeout") = nb::none(),
          "Blocks until all work of the device is done. ``timeout``: seconds, after which it raises ``TimeoutError``.")
      .def_prop_ro(
          "health", [](const Device& d) { return without_gil([&] { return d.health().describe(); }); },
          "``\"ok\"``, or the first error of a device that the driver has lost.")
      .def(
          "__reduce__",
          [](const Device& d) {
            const std::string name = d.backend().name() + ":" + std::to_string(d.ordinal());
            return nb::make_tuple(nb::type<Device>(), nb::make_tuple(name));
          },
          nb::sig("def __reduce__(self) -> tuple[Any, ...]"), "A pickled device is the one of that name where it is loaded.")
      .def("__int__", &Device::ordinal)
      .def("__str__", &Device::describe)
      .def("__repr__", [](const Device& d) { return "<Device " + d.describe() + ": " + d.properties().name + ">"; })
      .def(
          "__eq__", [](const Device& a, const Device& b) { return &a == &b; }, nb::is_operator(),
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const Device& d) { return std::hash<const Device*>{}(&d); });
}

}  // namespace weir::python
