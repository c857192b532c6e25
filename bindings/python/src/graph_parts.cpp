// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bindings/python/src/captures.hpp"
#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/objects.hpp"
#include "weir/graph_builder.hpp"
#include "weir/stream.hpp"

// Implements parts of graphs whose work a Python function submits: nodes of a GraphBuilder, and bodies of conditional nodes.
namespace weir::python {
namespace {

/// Calls `body(stream)` with `stream` as the current stream.
void call(const nb::callable& body, Stream& on) {
  const nb::object stream = nb::cast(StreamObject{StreamPtr(&on)});
  stream.attr("__enter__")();
  try {
    body(stream);
  } catch (...) {
    stream.attr("__exit__")();
    throw;
  }
  stream.attr("__exit__")();
}

// --- Graphs that are built by hand ------------------------------------------------------------------------------------

class BuilderObject {
 public:
  BuilderObject(nb::handle device, bool portable) : portable_(portable) {
    Device& on = device_of(device);
    without_gil([&] { builder_.emplace(on, CaptureOptions{.portable = portable}); });
  }
  BuilderObject(BuilderObject&&) = delete;
  BuilderObject& operator=(BuilderObject&&) = delete;
  ~BuilderObject() {
    without_gil([&] {
      builder_.reset();
      captured_.reset();
    });
  }

  std::uint32_t add(const std::vector<std::uint32_t>& after, const nb::callable& function) {
    std::vector<GraphNode> nodes;
    for (const std::uint32_t index : after) nodes.push_back({index});
    GraphBuilder& to = builder();
    const auto body = [&](Stream& stream) {
      captured_ = captured_of(stream, captured_);
      if (portable_) captured_->is_portable = true;
      const WithGil held;
      call(function, stream);
    };
    return without_gil([&] { return to.add(nodes, body).index; });
  }
  GraphObject finish() {
    GraphPtr graph = without_gil([&] { return builder().finish(); });
    builder_.reset();
    return {std::move(graph), captured_};
  }

 private:
  GraphBuilder& builder() {
    if (!builder_) throw nb::value_error("the builder has given its graph away; make another one");
    return *builder_;
  }

  std::optional<GraphBuilder> builder_;
  std::shared_ptr<Captured> captured_{};
  const bool portable_;
};

// --- Conditional nodes ------------------------------------------------------------------------------------------------

/// Returns the word that a conditional node reads. `stream`: the stream whose capture contains the node.
const std::uint32_t* condition_in(nb::handle condition, Stream& stream) {
  const BufferObject& buffer = nb::cast<const BufferObject&>(condition);
  if (buffer.dtype != DType{TypeCode::unsigned_integer, 32} || buffer.size() == 0)
    throw nb::type_error("condition: a Buffer of uint32");
  use(stream, {condition});
  return static_cast<const std::uint32_t*>(buffer.data());
}

/// Returns a function that captures the body of a conditional node; the node is in the capture of `outer`. It owns neither
/// argument, because it is destroyed without the GIL.
UniqueFunction<void(Stream&)> function_of(const nb::callable& body, const Stream& outer) {
  return [&](Stream& stream) {
    captured_of(stream, captured_of(outer));  // objects that the body uses belong to the outer graph
    const WithGil held;
    call(body, stream);
  };
}

void capture_if(StreamObject& self, nb::handle_t<BufferObject> condition, const nb::callable& body,
                const std::optional<nb::callable>& otherwise) {
  Stream& on = *self.stream;
  const std::uint32_t* const word = condition_in(condition, on);
  without_gil([&] {
    if (otherwise)
      on.capture_if(word, function_of(body, on), function_of(*otherwise, on));
    else
      on.capture_if(word, function_of(body, on));
  });
}

void capture_switch(StreamObject& self, nb::handle_t<BufferObject> condition, const std::vector<nb::callable>& bodies) {
  Stream& on = *self.stream;
  const std::uint32_t* const word = condition_in(condition, on);
  std::vector<UniqueFunction<void(Stream&)>> functions;
  for (const nb::callable& body : bodies) functions.push_back(function_of(body, on));
  without_gil([&] { on.capture_switch(word, functions); });
}

void capture_while(StreamObject& self, nb::handle_t<BufferObject> condition, const nb::callable& body) {
  Stream& on = *self.stream;
  const std::uint32_t* const word = condition_in(condition, on);
  without_gil([&] { on.capture_while(word, function_of(body, on)); });
}

}  // namespace

void bind_graph_parts(nb::module_& module) {
  nb::class_<BuilderObject>(
      module, "GraphBuilder",
      "Builds a graph from nodes and edges, for shapes that streams cannot express. Use it from one thread at a time.")
      .def(nb::init<nb::handle, bool>(), nb::arg("device") = nb::none(), nb::kw_only(), nb::arg("portable") = false,
           nb::sig("def __init__(self, device: _Device = None, *, portable: bool = False) -> None"),
           "``portable``: ``Graph.save`` can save the graph. Feature ``graph_capture``.")
      .def("add", &BuilderObject::add, nb::arg("after"), nb::arg("function"),
           nb::sig("def add(self, after: Sequence[int], function: Callable[[Stream], object]) -> int"),
           "Calls ``function(stream)`` now, adds the work that it submits behind the nodes ``after``, and returns the\n"
           "last new node. ``stream`` captures and is the current stream during the call; do not use it later. Raises\n"
           "``InvalidArgumentError`` for a node that does not exist, and if nothing is submitted.")
      .def("finish", &BuilderObject::finish, "Returns the graph. The builder cannot be used any more.");

  auto stream = bound<StreamObject>();
  stream.def(
      "capture_if", &capture_if, nb::arg("condition"), nb::arg("body"), nb::arg("otherwise") = nb::none(),
      nb::sig("def capture_if(self, condition: Buffer, body: Callable[[Stream], object], "
              "otherwise: Callable[[Stream], object] | None = None) -> None"),
      "Adds a conditional node: when a launch reaches it, it runs the work of ``body(stream)`` if the ``uint32`` in\n"
      "``condition`` is not 0, else that of ``otherwise``. Calls these functions now, with ``stream`` as the current\n"
      "stream. Features ``graph_conditional_nodes``, and ``graph_switch_nodes`` for ``otherwise``.");
  stream.def("capture_switch", &capture_switch, nb::arg("condition"), nb::arg("bodies"),
             nb::sig("def capture_switch(self, condition: Buffer, bodies: Sequence[Callable[[Stream], object]]) -> None"),
             "Like ``capture_if``, but the value is the index of the body to run; out of range, none runs. Feature\n"
             "``graph_switch_nodes``.");
  stream.def("capture_while", &capture_while, nb::arg("condition"), nb::arg("body"),
             nb::sig("def capture_while(self, condition: Buffer, body: Callable[[Stream], object]) -> None"),
             "Like ``capture_if``, but repeats the work while the value is not 0.");
}

}  // namespace weir::python
