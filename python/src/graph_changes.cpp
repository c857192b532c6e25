// SPDX-License-Identifier: Apache-2.0
#include "weir/graph_changes.hpp"

#include <vector>

#include "python/src/captures.hpp"
#include "python/src/gil.hpp"
#include "python/src/kernel.hpp"
#include "python/src/numbers.hpp"
#include "python/src/objects.hpp"
#include "weir/stream.hpp"

// Changes to the nodes of graphs.
namespace weir::python {
namespace {

struct ChangesObject {
  Device* device;
  GraphChanges changes{};
  std::vector<KernelPtr> kernels{};  // of the changes, which do not keep them
  nb::dict kept{};                   // by node: the buffers and arrays that it is to use

  void keep(std::uint32_t node, nb::tuple used) { kept[nb::int_(node)] = std::move(used); }
};

void change_launch(ChangesObject& self, std::uint32_t node, const LaunchConfig& config, nb::handle kernel, nb::args args) {
  std::vector<PyObject*> arguments;
  for (const nb::handle argument : args) arguments.push_back(argument.ptr());
  const KernelObject& launched = kernel_of(kernel, *self.device);
  change(self.changes, {node}, config, launched, arguments.data(), arguments.size());
  self.kernels.push_back(launched.kernel);
  self.keep(node, std::move(args));
}

Span<std::byte> bytes_of(const BufferObject& buffer) { return {static_cast<std::byte*>(buffer.data), buffer.size_bytes()}; }

void change_copy(ChangesObject& self, std::uint32_t node, nb::handle_t<BufferObject> dst, nb::handle_t<BufferObject> src) {
  const BufferObject& to = nb::cast<const BufferObject&>(dst);
  check_writable(to);
  self.changes.copy({node}, bytes_of(to), bytes_of(nb::cast<const BufferObject&>(src)));
  self.keep(node, nb::make_tuple(dst, src));
}

void change_fill(ChangesObject& self, std::uint32_t node, nb::handle_t<BufferObject> filled, nb::handle value) {
  const BufferObject& buffer = nb::cast<const BufferObject&>(filled);
  check_writable(buffer);
  alignas(16) std::byte element[16] = {};
  if (!store_number(element, value, buffer.dtype)) throw nb::value_error("fill: the value is none of the buffer's type");
  const auto fill = [&]<class T>(T bits) {
    std::memcpy(&bits, element, sizeof(T));
    self.changes.fill({node}, Span<T>(static_cast<T*>(buffer.data), buffer.size()), bits);
    self.keep(node, nb::make_tuple(filled));
  };
  switch (buffer.dtype.size()) {
    case 1: return fill(std::uint8_t{});
    case 2: return fill(std::uint16_t{});
    case 4: return fill(std::uint32_t{});
    default: throw nb::type_error("fill: a node of a graph fills elements of 1, 2 or 4 bytes");
  }
}

void apply(GraphObject& self, const ChangesObject& changes) {
  ChangesObject copy = changes;  // another thread may go on to add to them
  copy.kept = nb::steal<nb::dict>(PyDict_Copy(changes.kept.ptr()));
  without_gil([&] { executable_of(self, "Graph.apply")->apply(copy.changes); });
  nb::object changed = nb::dict();
  {
    const std::lock_guard lock(*self.mutex);
    if (!self.changed) self.changed = changed;
    changed = self.changed;
  }
  if (PyDict_Update(changed.ptr(), copy.kept.ptr()) != 0) throw nb::python_error();
}

}  // namespace

void bind_graph_changes(nb::module_& module) {
  nb::class_<ChangesObject>(
      module, "GraphChanges",
      "Changes to nodes of a graph, which ``Graph.apply`` makes in one call. Nodes are kernels, copies and fills;\n"
      "``Stream.last_captured_node`` names them, and ``GraphBuilder.add``.")
      .def(nb::new_([](nb::handle device) { return ChangesObject{&device_of(device)}; }), nb::arg("device") = nb::none(),
           "No changes. ``device``: that of the graph.")
      .def("launch", &change_launch, nb::lock_self(), nb::arg("node"), nb::arg("config"), nb::arg("kernel"), nb::arg("args"),
           nb::sig("def launch(self, node: int, config: LaunchConfig, kernel: Kernel | KernelFunction, *args: Any) -> None"),
           "The node launches ``kernel`` as ``weir.launch`` would.")
      .def("copy", &change_copy, nb::lock_self(), nb::arg("node"), nb::arg("dst"), nb::arg("src"),
           "The node copies ``src`` to ``dst``, of as many bytes as before or fewer. Raises ``LengthMismatchError``.")
      .def("fill", &change_fill, nb::lock_self(), nb::arg("node"), nb::arg("buffer"), nb::arg("value"),
           nb::sig("def fill(self, node: int, buffer: Buffer, value: complex) -> None"),
           "The node sets every element of ``buffer``, of 1, 2 or 4 bytes each, to ``value``.")
      .def(
          "enable", [](ChangesObject& c, std::uint32_t node) { c.changes.enable({node}); }, nb::lock_self(), nb::arg("node"),
          "The node runs again.")
      .def(
          "disable", [](ChangesObject& c, std::uint32_t node) { c.changes.disable({node}); }, nb::lock_self(),
          nb::arg("node"), "The node does nothing; what comes behind it waits for no less.")
      .def(
          "clear",
          [](ChangesObject& c) {
            c.changes.clear();
            c.kernels.clear();
            c.kept = nb::dict();
          },
          nb::lock_self(), "Removes all changes.")
      .def(
          "__len__", [](const ChangesObject& c) { return c.changes.size(); }, nb::lock_self());

  nb::borrow<nb::class_<GraphObject>>(module.attr("Graph"))
      .def("apply", &apply, nb::arg("changes").lock(),
           "Makes the changes to nodes of the graph. Launches from then on use them; those that run do not. Raises\n"
           "``GraphUpdateFailedError`` for a node that is not there or is of another kind, and ``InvalidArgumentError`` as "
           "a\n"
           "launch does; nothing is changed then. A changed graph cannot be a part of another one until it is updated. "
           "Feature\n"
           "``graph_node_changes``.");
  nb::borrow<nb::class_<StreamObject>>(module.attr("Stream"))
      .def_prop_ro(
          "last_captured_node", [](const StreamObject& s) { return s.stream->last_captured_node().index; },
          "The node that the operation captured last on this stream became: an index into ``Graph.nodes``. Raises\n"
          "``NotCapturingError``, and ``InvalidArgumentError`` right behind a wait for another stream.");
}

}  // namespace weir::python
