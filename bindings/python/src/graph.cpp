// SPDX-License-Identifier: Apache-2.0
#include "weir/graph.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "bindings/python/src/captures.hpp"
#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/objects.hpp"
#include "bindings/python/src/signal_words.hpp"
#include "weir/error.hpp"
#include "weir/stream.hpp"

// Implements captures and graphs.
namespace weir::python {
namespace {

CaptureMode mode_of(const std::string& name) {
  return choice<CaptureMode>(
      "mode", name,
      {{"relaxed", CaptureMode::relaxed}, {"thread_local", CaptureMode::thread_local_}, {"global", CaptureMode::global}});
}

void begin_capture(StreamObject& self, const std::string& mode, bool portable) {
  const CaptureMode wanted = mode_of(mode);
  without_gil([&] {
    self.stream->begin_capture({.mode = wanted, .portable = portable});
    if (portable) captured_of(*self.stream)->is_portable = true;
  });
}

GraphObject end_capture(StreamObject& self) {
  GraphPtr graph;
  std::shared_ptr<Captured> captured;
  without_gil([&] {
    // Must come before the end of the capture, which drops the core's reference.
    captured = support::any_captures() ? captured_of(*self.stream) : nullptr;
    graph = self.stream->end_capture();
  });
  return {std::move(graph), captured};
}

void discard_capture(StreamObject& self) {
  without_gil([&] { self.stream->discard_capture(); });
}

std::shared_ptr<HostFunctionErrors> thrown_of(const GraphObject& self) {
  const std::lock_guard lock(*self.mutex);
  return self.thrown;
}

nb::object kept_by(const GraphObject& self) {
  const std::lock_guard lock(*self.mutex);
  return self.kept ? self.kept : nb::none();
}

/// Sets the objects that the graph keeps alive. Returns the former ones.
nb::object exchange_kept(GraphObject& self, nb::object kept) {
  const std::lock_guard lock(*self.mutex);
  std::swap(self.kept, kept);
  return kept;
}

}  // namespace

GraphPtr graph_of(const GraphObject& self) {
  const std::lock_guard lock(*self.mutex);
  return self.graph;
}

GraphExecPtr executable_of(GraphObject& self, const char* operation) {
  const auto check = [&] {
    if (!self.given_to) return;
    throw Error(Errc::invalid_argument, operation, self.graph->describe(),
                "the graph has given its functions in Python to another one, by `update`: only that one can be launched; "
                "capture the work again");
  };
  GraphPtr graph;
  {
    const std::lock_guard lock(*self.mutex);
    check();
    if (self.executable) return self.executable;
    graph = self.graph;
  }
  GraphExecPtr made = graph->instantiate();  // two threads may both instantiate; the first result is used
  const std::lock_guard lock(*self.mutex);
  check();
  if (!self.executable) self.executable = made;
  return self.executable;
}

namespace {

/// Refuses a child graph with Python functions. A function has one word for all launches of its executable, which run one
/// after another, but a child graph's copy could run at the same time.
void check_child(Stream& stream) {
  if (!stream.is_capturing()) return;
  std::uint32_t* const word = borrow_word(stream.device(), true);
  if (word == nullptr) return;
  give_back_word(stream.device(), true, word);
  throw Error(Errc::unsupported, "Graph.launch", stream.describe(),
              "a graph with functions in Python cannot be a part of another graph on this device; capture its work again");
}

void launch(GraphObject& self, nb::handle stream) {
  const StreamPtr on = stream_of(stream, graph_of(self)->device());
  const auto use_kept = [&] {
    if (support::any_captures()) use(*on, {kept_by(self)});
  };
  use_kept();
  without_gil([&] {
    const GraphExecPtr executable = executable_of(self, "Graph.launch");
    if (const auto thrown = thrown_of(self)) {
      check_child(*on);
      HostFunctionGate::of(on)->watch(thrown);
    }
    executable->launch(on);
  });
  use_kept();  // again, because a concurrent update may have changed them
}

void upload(GraphObject& self, nb::handle stream) {
  const StreamPtr on = stream_of(stream, graph_of(self)->device());
  without_gil([&] { executable_of(self, "Graph.upload")->upload(on); });
}

/// Makes `executable` the only user of the Python functions of `source`. Returns the former one.
GraphExecPtr give_functions(GraphObject& source, const GraphExecPtr& executable) {
  const std::lock_guard lock(*source.mutex);
  if (source.executable || (source.given_to && source.given_to != executable)) {
    throw Error(Errc::graph_update_failed, "Graph.update", executable->describe(),
                "the source was launched, or has updated another graph: its functions in Python belong to that one, and "
                "launches of both could run at once; capture the work again");
  }
  return std::exchange(source.given_to, executable);
}

void update(GraphObject& self, GraphObject& source) {
  nb::object kept = kept_by(source), changed;
  // A concurrent launch into a capture may use either graph, so keep the objects of both.
  nb::object former_kept = exchange_kept(self, nb::make_tuple(kept_by(self), kept));
  try {
    without_gil([&] {
      const GraphExecPtr executable = executable_of(self, "Graph.update");
      GraphPtr graph = graph_of(source);
      auto thrown = thrown_of(source);
      GraphExecPtr former = thrown ? give_functions(source, executable) : nullptr;
      try {
        executable->update(graph);
      } catch (...) {
        const std::lock_guard lock(*source.mutex);
        source.given_to.swap(former);
        throw;
      }
      const std::lock_guard lock(*self.mutex);  // the old values are destroyed after the mutex is unlocked
      self.graph.swap(graph);
      self.thrown.swap(thrown);
      std::swap(self.kept, kept);
      std::swap(self.changed, changed);
    });
  } catch (...) {
    exchange_kept(self, std::move(former_kept));
    throw;
  }
}

std::vector<std::string> nodes_of(const GraphObject& self) {
  const Topology topology = without_gil([&] { return graph_of(self)->topology(); });
  std::vector<std::string> names;
  for (const NodeKind kind : topology.nodes) names.emplace_back(to_string(kind));
  return names;
}

}  // namespace

Captured::~Captured() {
  if (kept == nullptr || is_finalizing()) return;
  // A thread of Weir must not wait for the GIL.
  if (PyGILState_GetThisThreadState() == nullptr) {
    drop_later(kept);
    return;
  }
  const WithGil held;
  Py_DECREF(kept);
}

GraphObject::GraphObject(GraphPtr made, const std::shared_ptr<Captured>& captured) : graph(std::move(made)) {
  if (!captured) return;
  const std::lock_guard lock(captured->mutex);
  thrown = captured->thrown;
  kept = nb::steal(std::exchange(captured->kept, nullptr));
}

std::shared_ptr<Captured> captured_of(const Stream& stream, std::shared_ptr<Captured> known) {
  if (!known) {
    if (auto attached = support::attach_to_capture(stream, nullptr)) return std::static_pointer_cast<Captured>(attached);
    known = std::make_shared<Captured>();
  }
  return std::static_pointer_cast<Captured>(support::attach_to_capture(stream, std::move(known)));
}

std::shared_ptr<HostFunctionErrors> thrown_of_capture(const Stream& stream) {
  const auto captured = captured_of(stream);
  // Other code ends the capture, so the exceptions cannot be raised.
  if (!captured) return std::make_shared<HostFunctionErrors>();
  const std::lock_guard lock(captured->mutex);
  if (!captured->thrown) captured->thrown = std::make_shared<HostFunctionErrors>();
  return captured->thrown;
}

void keep_in_graph(Stream& stream, std::span<PyObject* const> objects) {
  const auto captured = without_gil([&] { return captured_of(stream); });
  if (!captured) return;
  const auto known = [&] {
    const std::lock_guard lock(captured->mutex);
    return nb::borrow(captured->kept);
  };
  nb::object kept = known();
  if (!kept) {
    nb::object made = nb::dict();
    const std::lock_guard lock(captured->mutex);
    if (captured->kept == nullptr) captured->kept = made.release().ptr();
  }
  kept = known();
  for (PyObject* const object : objects) {
    const nb::handle used = object;
    if (used.is_none() || PyLong_CheckExact(object) || PyFloat_CheckExact(object)) continue;
    const void* key = object;
    if (used.type().is(type_of<BufferObject>())) {
      const BufferObject& buffer = held_by<BufferObject>(used);
      if (buffer.is_of_graph) continue;
      key = buffer.memory().get();  // the memory's address, because another object may get the address of a closed buffer
    }
    const nb::object address = nb::steal(PyLong_FromVoidPtr(const_cast<void*>(key)));
    if (PyDict_Contains(kept.ptr(), address.ptr()) == 1) continue;
    if (PyDict_SetItem(kept.ptr(), address.ptr(), keeper_of(used).ptr()) != 0) throw nb::python_error();
  }
}

namespace {

// For the garbage collector: an array that the graph keeps may belong to an object that owns the graph.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const GraphObject& graph = *nb::inst_ptr<GraphObject>(self);
  Py_VISIT(graph.kept.ptr());
  Py_VISIT(graph.changed.ptr());
  return 0;
}

int clear(PyObject* self) {
  if (!nb::inst_ready(self)) return 0;
  GraphObject& graph = *nb::inst_ptr<GraphObject>(self);
  nb::object kept, changed;
  const std::lock_guard lock(*graph.mutex);
  std::swap(graph.kept, kept);
  std::swap(graph.changed, changed);
  return 0;
}

PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(&traverse)}, {Py_tp_clear, reinterpret_cast<void*>(&clear)}, {0, nullptr}};

}  // namespace

GraphObject::~GraphObject() {
  if (!graph) return;
  const Releasing releasing;
  given_to.reset();
  executable.reset();
  graph.reset();
}

void bind_graph(nb::module_& module) {
  nb::class_<GraphObject>(
      module, "Graph", nb::is_weak_referenceable(), nb::type_slots(slots),
      "Captured work, which can be launched many times. The graph keeps the buffers and arrays that it uses alive.\n"
      "Launches run one after another, whatever their streams.")
      .def_prop_ro(
          "device", [](const GraphObject& g) -> Device& { return graph_of(g)->device(); }, nb::rv_policy::reference)
      .def("launch", &launch, nb::arg("stream") = nb::none(), nb::sig("def launch(self, stream: _Stream = None) -> None"),
           "Enqueues one run of the graph on ``stream`` (default: the current stream). If that stream is capturing, the\n"
           "graph becomes a node of the capture.")
      .def("upload", &upload, nb::arg("stream") = nb::none(), nb::sig("def upload(self, stream: _Stream = None) -> None"),
           "Prepares the first launch. Feature ``graph_upload``.")
      .def("update", &update, nb::arg("source"),
           "Replaces the parameters of all nodes by those of ``source``, a graph of the same topology. If ``source`` has\n"
           "Python functions, they belong to this graph from now on, and ``source`` cannot be launched any more. Raises\n"
           "``GraphUpdateFailedError`` if the topologies differ, or if a ``source`` with Python functions was launched\n"
           "before. Feature ``graph_update``.")
      .def_prop_ro("nodes", &nodes_of, "The kinds of the nodes, in capture order: ``[\"kernel\", \"copy\"]``.")
      .def_prop_ro(
          "edges", [](const GraphObject& g) { return without_gil([&] { return graph_of(g)->topology().edges; }); },
          "Pairs of indices into ``nodes``: the second runs after the first.")
      .def(
          "debug_dot", [](const GraphObject& g) { return without_gil([&] { return graph_of(g)->debug_dot(); }); },
          "The graph in Graphviz DOT. Feature ``graph_debug_dot``.")
      .def_prop_ro(
          "handle", [](const GraphObject& g) { return reinterpret_cast<std::uintptr_t>(graph_of(g)->native_handle()); },
          "The vendor's graph (cudaGraph_t, hipGraph_t) as an integer.")
      .def("__repr__", [](const GraphObject& g) { return "<Graph " + graph_of(g)->describe() + ">"; });

  auto stream = bound<StreamObject>();
  stream.def(
      "begin_capture", &begin_capture,
      nb::sig("def begin_capture(self, mode: Literal[\"relaxed\", \"thread_local\", \"global\"] = \"relaxed\", *, "
              "portable: bool = False) -> None"),
      nb::arg("mode") = "relaxed", nb::kw_only(), nb::arg("portable") = false,
      "Begins a capture: work on this stream, and on streams that wait for it, becomes part of a graph and does not\n"
      "run. ``mode``: ``\"relaxed\"``, ``\"thread_local\"`` or ``\"global\"``, as in CUDA. ``portable``: records the\n"
      "work so that ``Graph.save`` can save the graph. See ``weir.capture``.");
  stream.def("end_capture", &end_capture, "Ends the capture and returns its graph.");
  stream.def("discard_capture", &discard_capture, "Ends the capture and drops what was captured.");
}

}  // namespace weir::python
