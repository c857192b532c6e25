// SPDX-License-Identifier: Apache-2.0
#include "weir/stream.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/host_function_gate.hpp"
#include "bindings/python/src/objects.hpp"
#include "bindings/python/src/waiting.hpp"

// Implements Stream.
namespace weir::python {
namespace {

nb::object record(StreamObject& self, nb::object event, bool timing_enabled) {
  if (event.is_none()) {
    return nb::cast(without_gil([&] { return EventObject{self.stream->record(EventOptions{.timing = timing_enabled})}; }));
  }
  const auto* const given = try_held_by<const EventObject>(event);
  if (given == nullptr) throw_wrong_type("Stream.record", "a weir.Event", event);
  without_gil([&] { self.stream->record(given->ptr); });
  return event;
}

void wait(StreamObject& self, nb::handle other) {
  if (const auto* const event = try_held_by<const EventObject>(other))
    return without_gil([&] { self.stream->wait(event->ptr); });
  if (other.is_none()) throw_wrong_type("Stream.wait", "an event or a stream", other);
  const StreamPtr stream = stream_of(other, self.stream->device());
  without_gil([&] { self.stream->wait(stream); });
}

std::string pending_of(const Stream& stream) {
  PendingWork work = stream.pending();
  if (const auto gate = HostFunctionGate::find(stream)) gate->explain(work);
  return work.describe();
}

}  // namespace

StreamObject::StreamObject(StreamPtr made) : stream(std::move(made)), gate(HostFunctionGate::of(stream)) {
  gate->add_object();
}

StreamObject::~StreamObject() {
  if (!stream) return;
  gate->remove(*this);
  const Releasing releasing;
  gate.reset();
  stream.reset();
}

namespace {

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const StreamObject& stream = *nb::inst_ptr<StreamObject>(self);
  // For the garbage collector: a traceback often refers to the stream. Exactly one object shows the exception, even if
  // several share the gate, because the number of owners may change between the collector's passes.
  if (stream.gate && stream.gate->is_claimed_by(stream)) Py_VISIT(stream.gate->exception());
  return 0;
}

void finalize(PyObject* self) {
  if (!nb::inst_ready(self)) return;
  const StreamObject& stream = *nb::inst_ptr<StreamObject>(self);
  if (!stream.gate || !stream.gate->is_claimed_by(stream)) return;
  // The collector traverses the object once more after this. The last object must still show the exception then. Otherwise,
  // because calls that have just ended may also own the gate, the exception would keep its cycle alive forever.
  if (stream.gate->has_one_object())
    stream.gate->report();
  else
    stream.gate->disclaim(stream);
}

PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                       {Py_tp_finalize, reinterpret_cast<void*>(&finalize)},
                       {0, nullptr}};

}  // namespace

StreamPtr stream_of(nb::handle argument, Device& device) {
  if (const auto* const stream = try_held_by<const StreamObject>(argument)) return stream->stream;
  if (argument.is_none()) return current_stream_of(device);
  return foreign_stream_of(argument, device);
}

void bind_stream(nb::module_& module) {
  nb::class_<StreamObject>(
      module, "Stream", nb::is_weak_referenceable(), nb::type_slots(slots),
      "A queue of work on one device, run in order. Made by ``Device.create_stream``. ``with stream:`` makes it the\n"
      "current stream of its device. Methods that enqueue work return before it is done.")
      .def_prop_ro(
          "device", [](const StreamObject& s) -> Device& { return s.stream->device(); }, nb::rv_policy::reference,
          "The device that the work runs on.")
      .def_prop_ro(
          "handle", [](StreamObject& s) { return reinterpret_cast<std::uintptr_t>(s.stream->share_native_handle()); },
          "The vendor's stream (cudaStream_t, hipStream_t) as an integer. This object still owns it.")
      .def_prop_ro(
          "is_nonblocking", [](const StreamObject& s) { return without_gil([&] { return s.stream->is_non_blocking(); }); },
          "Whether the stream does not synchronize with the legacy default stream.")
      .def_prop_ro(
          "priority", [](const StreamObject& s) { return without_gil([&] { return s.stream->priority(); }); },
          "The priority, in the vendor's numbers.")
      .def_prop_rw(
          "name", [](const StreamObject& s) { return s.stream->name(); },
          [](StreamObject& s, std::string_view name) { s.stream->set_name(name); },
          "Shown by tools, errors and ``repr``; empty if not set.")
      .def_prop_ro("is_closed", [](const StreamObject& s) { return s.stream->is_closed(); })
      .def_prop_ro(
          "is_done", [](const StreamObject& s) { return without_gil([&] { return s.stream->is_complete(); }); },
          "Whether all work enqueued so far is done. Raises the error if work failed.")
      .def_prop_ro(
          "is_capturing", [](const StreamObject& s) { return without_gil([&] { return s.stream->is_capturing(); }); },
          "Whether work on the stream becomes part of a graph instead of running. Asking never invalidates the capture.")
      .def_prop_ro(
          "pending", [](const StreamObject& s) { return without_gil([&] { return pending_of(*s.stream); }); },
          "A description of what the stream waits for.")
      .def(
          "close",
          [](StreamObject& s) {
            without_gil([&] { s.stream->close(); });
            s.gate->report();  // from now on, no caller can wait for the stream's functions
          },
          "Closes the stream. Does not wait for its work.")
      .def(
          "sync",
          [](StreamObject& s, std::optional<double> timeout) {
            wait_for(*s.stream, timeout, [&] { return s.stream->describe() + " is not done: " + pending_of(*s.stream); });
            raise_thrown(*s.stream);
          },
          nb::arg("timeout") = nb::none(),
          "Blocks until all work enqueued so far is done. ``timeout``: seconds, after which it raises ``TimeoutError``. "
          "Raises\n"
          "the exception of a host function, if one raised, and the device's error if work failed.")
      .def("record", &record,
           nb::sig("def record(self, event: Event | None = None, *, timing_enabled: bool = False) -> Event"),
           nb::arg("event") = nb::none(), nb::kw_only(), nb::arg("timing_enabled") = false,
           "Records ``event``, or a new one, behind all work enqueued so far, and returns it.")
      .def("wait", &wait, nb::sig("def wait(self, event_or_stream: Event | _AnyStream) -> None"), nb::arg("event_or_stream"),
           "Later work of this stream waits for the event, or for all work enqueued so far on the other stream. Does not "
           "block.")
      .def(
          "__eq__", [](const StreamObject& a, const StreamObject& b) { return *a.stream == *b.stream; }, nb::is_operator(),
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const StreamObject& s) { return s.stream->hash(); })
      .def("__repr__",
           [](const StreamObject& s) { return "<Stream " + without_gil([&] { return s.stream->describe(); }) + ">"; });
}

}  // namespace weir::python
