// SPDX-License-Identifier: Apache-2.0
#include "weir/graph_changes.hpp"

#include <vector>

#include "bindings/python/src/captures.hpp"
#include "bindings/python/src/dtype.hpp"
#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/kernel.hpp"
#include "bindings/python/src/objects.hpp"
#include "weir/stream.hpp"

// Implements changes to the nodes of graphs.
namespace weir::python {
namespace {

struct ChangesObject {
  Device* device;
  GraphChanges changes{};
  std::vector<KernelPtr> kernels{};  // keeps the kernels of `changes` alive
  nb::dict kept{};                   // by node: the buffers and arrays that it will use

  void keep(std::uint32_t node, nb::handle used) {
    nb::list keepers;
    for (const nb::handle object : used) keepers.append(keeper_of(object));
    kept[nb::int_(node)] = keepers;
  }
};

void change_launch(ChangesObject& self, std::uint32_t node, const LaunchConfig& config, nb::handle kernel, nb::args args) {
  std::vector<PyObject*> arguments;
  for (const nb::handle argument : args) arguments.push_back(argument.ptr());
  const KernelObject& launched = kernel_of(kernel, *self.device);
  change(self.changes, {node}, config, launched, arguments.data(), arguments.size());
  self.kernels.push_back(launched.ptr);
  self.keep(node, args);
}

Span<std::byte> bytes_of(const BufferObject& buffer) {
  return {static_cast<std::byte*>(buffer.data()), buffer.size_bytes()};
}

void change_copy(ChangesObject& self, std::uint32_t node, nb::handle_t<BufferObject> dst, nb::handle_t<BufferObject> src) {
  const BufferObject& to = nb::cast<const BufferObject&>(dst);
  check_writable(to);
  const BufferObject& from = nb::cast<const BufferObject&>(src);
  check_copy("GraphChanges.copy", to, from);
  self.changes.copy({node}, bytes_of(to), bytes_of(from));
  self.keep(node, nb::make_tuple(dst, src));
}

void change_fill(ChangesObject& self, std::uint32_t node, nb::handle_t<BufferObject> filled, nb::handle value) {
  const BufferObject& buffer = nb::cast<const BufferObject&>(filled);
  check_writable(buffer);
  alignas(16) std::byte element[16] = {};
  store_element(element, value, buffer.dtype);
  const auto fill = [&]<class T>(T bits) {
    std::memcpy(&bits, element, sizeof(T));
    self.changes.fill({node}, Span<T>(static_cast<T*>(buffer.data()), buffer.size()), bits);
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
  ChangesObject copy = changes;  // a copy, because another thread may add changes in the meantime
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
      module, "GraphChanges", nb::type_slots(traverse_slots<ChangesObject, &ChangesObject::kept>()),
      "Changes to nodes of a graph; ``Graph.apply`` makes them in one call. The nodes must be kernels, copies or fills.\n"
      "``Stream.last_captured_node`` and ``GraphBuilder.add`` return their numbers.")
      .def(nb::new_([](nb::handle device) { return ChangesObject{&device_of(device)}; }), nb::arg("device") = nb::none(),
           "An empty set of changes to a graph of ``device``.")
      .def("launch", &change_launch, nb::lock_self(), nb::arg("node"), nb::arg("config"), nb::arg("kernel"), nb::arg("args"),
           nb::sig("def launch(self, node: int, config: LaunchConfig, kernel: Kernel | KernelFunction, *args: Any) -> None"),
           "The node launches ``kernel`` as ``weir.launch`` would.")
      .def("copy", &change_copy, nb::lock_self(), nb::arg("node"), nb::arg("dst"), nb::arg("src"),
           "The node copies ``src`` to ``dst``, at most as many bytes as before. Raises ``LengthMismatchError``.")
      .def("fill", &change_fill, nb::lock_self(), nb::arg("node"), nb::arg("buffer"), nb::arg("value"),
           nb::sig("def fill(self, node: int, buffer: Buffer, value: complex) -> None"),
           "The node sets every element of ``buffer`` to ``value``. Elements have 1, 2 or 4 bytes.")
      .def(
          "enable", [](ChangesObject& c, std::uint32_t node) { c.changes.enable({node}); }, nb::lock_self(), nb::arg("node"),
          "The node runs again.")
      .def(
          "disable", [](ChangesObject& c, std::uint32_t node) { c.changes.disable({node}); }, nb::lock_self(),
          nb::arg("node"), "The node does nothing, but nodes behind it still wait for the nodes before it.")
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

  bound<GraphObject>().def(
      "apply", &apply, nb::arg("changes").lock(),
      "Makes the changes in this graph. Later launches use them; running ones do not. Raises\n"
      "``GraphUpdateFailedError`` for a node that does not exist or is of another kind, and\n"
      "``InvalidArgumentError`` as a launch does; then nothing is changed. A changed graph cannot be part of\n"
      "another graph until it is updated. Feature ``graph_node_changes``.");
  bound<StreamObject>().def_prop_ro(
      "last_captured_node",
      [](const StreamObject& s) { return without_gil([&] { return s.stream->last_captured_node().index; }); },
      "The node of the last operation captured on this stream, as an index into ``Graph.nodes``. Raises\n"
      "``CaptureError``, and ``InvalidArgumentError`` directly after a wait for another stream.");
}

}  // namespace weir::python
