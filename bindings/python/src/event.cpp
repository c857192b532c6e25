// SPDX-License-Identifier: Apache-2.0
#include "weir/event.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/objects.hpp"
#include "bindings/python/src/waiting.hpp"

// Implements Event.
namespace weir::python {

void bind_event(nb::module_& module) {
  nb::class_<EventObject>(
      module, "Event", nb::is_weak_referenceable(),
      "A point in the order of a stream. Made by ``Stream.record`` or ``Device.create_event``. An event that was never\n"
      "recorded is done.")
      .def_prop_ro("device", &EventObject::device, nb::rv_policy::reference,
                   "The device whose streams can record the event.")
      .def_prop_ro(
          "handle", [](const EventObject& e) { return reinterpret_cast<std::uintptr_t>(e->share_native_handle()); },
          "The vendor's event (cudaEvent_t, hipEvent_t) as an integer. This object still owns it.")
      .def_prop_rw(
          "name", [](const EventObject& e) { return e->name(); },
          [](EventObject& e, std::string_view name) { e->set_name(name); },
          "Shown by tools, errors and ``repr``; empty if not set.")
      .def_prop_ro("is_timing_enabled", [](const EventObject& e) { return e->options().timing; })
      .def_prop_ro("is_blocking_sync", [](const EventObject& e) { return e->options().blocking_sync; })
      .def_prop_ro("is_ipc_enabled", [](const EventObject& e) { return e->options().interprocess; })
      .def_prop_ro(
          "is_done", [](const EventObject& e) { return without_gil([&] { return e->is_complete(); }); },
          "Whether all work before the record is done. Raises the device's error if the work failed.")
      .def(
          "sync",
          [](const EventObject& e, std::optional<double> timeout) {
            wait_for(*e.ptr, timeout, [&] { return "the event is not done: " + e->describe(); });
          },
          nb::arg("timeout") = nb::none(),
          "Blocks until the event is done. ``timeout``: seconds, after which it raises ``TimeoutError``. Raises the "
          "device's\n"
          "error if the work failed.")
      .def(
          "__sub__",
          [](const EventObject& end, const EventObject& start) {
            return without_gil([&] { return end->elapsed_since(start.ptr).count(); });
          },
          nb::arg("start"),
          "Milliseconds between the two records, by the device's clock. Both events need ``timing_enabled`` and must be\n"
          "done.")
      .def("__repr__", [](const EventObject& e) { return "<Event " + e->describe() + ">"; });
}

}  // namespace weir::python
