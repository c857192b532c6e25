// SPDX-License-Identifier: Apache-2.0
#include "weir/portable_graph.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <filesystem>

#include "bindings/python/src/captures.hpp"
#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/objects.hpp"
#include "bindings/python/src/waiting.hpp"

// Saves graphs to files and loads them.
namespace weir::python {
namespace {

/// Converts a path: str, bytes, or an object with `__fspath__`.
std::string file_of(nb::handle path) {
  const nb::bytes encoded(nb::module_::import_("os").attr("fsencode")(path));
  return {encoded.c_str(), encoded.size()};
}

/// Raises FileNotFoundError, PermissionError and the like unless the file or folder permits the access.
void check_access(const std::string& path, int mode, nb::handle file) {
  if (::access(path.c_str(), mode) == 0) return;
  PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, file.ptr());
  throw nb::python_error();
}

// --- Saving -------------------------------------------------------------------------------------------------------------

void add(std::vector<NamedMemory>& all, nb::handle buffers, MemoryRole role) {
  if (buffers.is_none()) return;
  for (const nb::handle item : nb::object(nb::borrow(buffers).attr("items")())) {
    const auto* const buffer = try_held_by<const BufferObject>(nb::object(item[1]));
    if (buffer == nullptr)
      throw nb::type_error(
          "a name of memory stands for a weir.Buffer; weir.from_dlpack makes one of another library's array");
    all.emplace_back(nb::cast<std::string>(nb::object(item[0])), buffer->data(), buffer->size_bytes(),
                     buffer->memory()->kind(), role);
  }
}

std::vector<NamedMemory> named(nb::handle memory, nb::handle scratch, nb::handle contents) {
  check_may_wait("Graph.save");  // saving copies the contents
  std::vector<NamedMemory> all;
  add(all, memory, MemoryRole::bound);
  add(all, scratch, MemoryRole::scratch);
  add(all, contents, MemoryRole::contents);
  return all;
}

void save(const GraphObject& self, nb::handle file, nb::handle memory, nb::handle scratch, nb::handle contents) {
  const std::vector<NamedMemory> names = named(memory, scratch, contents);
  const std::string path = file_of(file);
  check_access(std::filesystem::path(path).parent_path() / ".", W_OK, file);
  without_gil([&] { graph_of(self)->save(path, names); });
}

nb::bytes to_bytes(const GraphObject& self, nb::handle memory, nb::handle scratch, nb::handle contents) {
  const std::vector<NamedMemory> names = named(memory, scratch, contents);
  const std::vector<std::byte> bytes = without_gil([&] { return graph_of(self)->saved(names); });
  return nb::bytes(bytes.data(), bytes.size());
}

// --- Loading ------------------------------------------------------------------------------------------------------------

struct PortableObject {
  PortableGraphPtr graph;
  std::shared_ptr<HostFunctionErrors> thrown{};  // null if no function is bound
  nb::dict bound{};                              // buffers, by name

  explicit PortableObject(PortableGraphPtr loaded) noexcept : graph(std::move(loaded)) {}
  PortableObject(PortableObject&&) = default;
  PortableObject& operator=(PortableObject&&) = delete;
  ~PortableObject() { release(graph); }
};

PortableObject load_graph(Device& device, nb::handle source) {
  if (PyBytes_Check(source.ptr())) {
    const nb::bytes bytes = nb::borrow<nb::bytes>(source);
    const std::span<const std::byte> data(static_cast<const std::byte*>(bytes.data()), bytes.size());
    return PortableObject(without_gil([&] { return device.load_graph(data); }));
  }
  const std::string file = file_of(source);
  check_access(file, R_OK, source);
  return PortableObject(without_gil([&] { return device.load_graph(file); }));
}

void bind(PortableObject& self, const std::string& name, nb::handle target, nb::args args) {
  if (const auto* const buffer = try_held_by<const BufferObject>(target)) {
    if (args.size() != 0) throw nb::type_error("bind: a Buffer takes no further arguments; only functions do");
    without_gil(
        [&] { self.graph->bind(name, Span<std::byte>(static_cast<std::byte*>(buffer->data()), buffer->size_bytes())); });
    self.bound[name.c_str()] = keeper_of(target);
    return;
  }
  if (!PyCallable_Check(target.ptr()))
    throw nb::type_error(
        "bind: a name stands for a weir.Buffer, or for a function; weir.from_dlpack makes a Buffer of "
        "another library's array");
  function_thread().start("PortableGraph.bind");
  auto call = std::make_shared<PythonCall>(target, args);
  // Only with the GIL, because other threads may use this object.
  if (!self.thrown) self.thrown = std::make_shared<HostFunctionErrors>();
  without_gil([&, thrown = self.thrown] { self.graph->bind(name, waiting_call(std::move(call), thrown)); });
}

GraphObject build(PortableObject& self) {
  std::shared_ptr<HostFunctionErrors> thrown = self.thrown;
  GraphPtr graph = without_gil([&] { return self.graph->build(); });
  return {std::move(graph), std::move(thrown), nb::steal(PyDict_Values(self.bound.ptr()))};
}

nb::dict memory_of(const PortableObject& self) {
  nb::dict all;
  for (PortableMemory& memory : without_gil([&] { return self.graph->memory(); })) {
    const std::string name = memory.name;
    all[name.c_str()] = nb::cast(std::move(memory));
  }
  return all;
}

// --- Names of functions in captures -------------------------------------------------------------------------------------

}  // namespace

bool is_portable(const Stream& stream) {
  const auto captured = captured_of(stream);
  return captured && captured->is_portable;
}

void record_name(const Stream& stream, const std::string& name, const std::shared_ptr<PythonCall>& call) {
  const auto captured = without_gil([&] { return captured_of(stream); });
  if (!captured) return;
  std::shared_ptr<PythonCall> former;
  {
    const std::lock_guard lock(captured->mutex);
    former = captured->names.try_emplace(name, call).first->second;
  }
  if (name.empty() || former == call || former->is_same(*call)) return;
  throw nb::value_error(("launch_host_func: in this portable capture the name '" + name +
                         "' already stands for another function or other arguments; a saved graph finds functions by their "
                         "names, so pass a different one: name=…")
                            .c_str());
}

void bind_portable_graph(nb::module_& module) {
  nb::class_<PortableMemory>(module, "PortableMemory", "Named memory of a loaded graph.")
      .def_ro("nbytes", &PortableMemory::bytes, "The size in bytes.")
      .def_ro("alignment", &PortableMemory::alignment, "The alignment of its address when it was saved, at most 256.")
      .def_prop_ro(
          "kind", [](const PortableMemory& m) { return std::string(to_string(m.kind)); },
          "The kind of memory to allocate for it: ``\"device\"``, ``\"pinned\"`` or ``\"managed\"``.")
      .def_prop_ro(
          "role", [](const PortableMemory& m) { return std::string(to_string(m.role)); },
          "``\"bound\"``, ``\"scratch\"`` or ``\"contents\"``.")
      .def_prop_ro(
          "handle", [](const PortableMemory& m) { return reinterpret_cast<std::uintptr_t>(m.data); },
          "The address of the bound or allocated memory; 0 before that.")
      .def("__repr__", [](const PortableMemory& m) {
        return "<PortableMemory '" + m.name + "': " + std::to_string(m.bytes) + " bytes, " + std::string(to_string(m.role)) +
               ">";
      });

  nb::class_<PortableObject>(module, "PortableGraph", nb::is_weak_referenceable(),
                             nb::type_slots(traverse_slots<PortableObject, &PortableObject::bound>()),
                             "A graph loaded from a file, with its kernels on a device. Made by ``Device.load_graph``.\n"
                             "``bind`` binds its names, ``build`` makes a ``Graph``.")
      .def_prop_ro(
          "device", [](const PortableObject& g) -> Device& { return g.graph->device(); }, nb::rv_policy::reference)
      .def_prop_ro(
          "captured_on", [](const PortableObject& g) { return g.graph->captured_on(); },
          "Where the graph was captured: ``\"cuda sm_90\"``.")
      .def_prop_ro("memory", &memory_of, nb::sig("def memory(self) -> dict[str, PortableMemory]"),
                   "Its memory by name, in the order given to ``Graph.save``.")
      .def_prop_ro(
          "host_functions", [](const PortableObject& g) { return without_gil([&] { return g.graph->host_functions(); }); },
          "The names of its host functions.")
      .def("bind", &bind, nb::arg("name"), nb::arg("target"), nb::arg("args"),
           nb::sig("def bind(self, name: str, target: Buffer | Callable[..., object], *args: Any) -> None"),
           "Binds ``name`` in graphs that are built from now on: to a ``Buffer``, which they keep alive, or to a\n"
           "function, which is called with ``args`` as ``Stream.launch_host_func`` would. Raises\n"
           "``InvalidArgumentError`` for an unknown name, and for a ``Buffer`` with fewer bytes or a smaller alignment\n"
           "than was saved.")
      .def("build", &build,
           "Makes a ``Graph`` from what is bound now. Scratch and contents memory lives as long as this object and its\n"
           "graphs. Raises ``InvalidArgumentError``, which names what is not bound, and ``UnsupportedError`` if this\n"
           "device lacks a feature.")
      .def("__repr__", [](const PortableObject& g) { return "<PortableGraph " + g.graph->describe() + ">"; });

  bound<GraphObject>()
      .def("save", &save, nb::arg("file"), nb::arg("memory") = nb::none(), nb::kw_only(), nb::arg("scratch") = nb::none(),
           nb::arg("contents") = nb::none(),
           nb::sig("def save(self, file: str | PathLike[str], memory: Mapping[str, Buffer] | None = None, *, "
                   "scratch: Mapping[str, Buffer] | None = None, contents: Mapping[str, Buffer] | None = None) -> None"),
           "Writes the graph, captured with ``portable=True``, to a file that ``Device.load_graph`` reads on any device\n"
           "of any vendor. All memory that the graph uses needs a name, except what it allocates itself. ``memory``: to\n"
           "be bound by ``PortableGraph.bind``. ``scratch``: to be allocated for the loaded graph. ``contents``: the\n"
           "same, and filled with the current bytes. Only this user can access the file; an existing one is replaced.\n"
           "Raises ``UnsupportedError`` for a node that cannot be saved, and ``InvalidArgumentError`` for an address in\n"
           "unnamed memory; both say which.")
      .def("to_bytes", &to_bytes, nb::arg("memory") = nb::none(), nb::kw_only(), nb::arg("scratch") = nb::none(),
           nb::arg("contents") = nb::none(),
           nb::sig("def to_bytes(self, memory: Mapping[str, Buffer] | None = None, *, "
                   "scratch: Mapping[str, Buffer] | None = None, contents: Mapping[str, Buffer] | None = None) -> bytes"),
           "Returns what ``save`` writes.");
  bound<Device>().def(
      "load_graph", &load_graph, nb::arg("source"),
      nb::sig("def load_graph(self, source: str | PathLike[str] | bytes) -> PortableGraph"),
      "Reads a graph that ``Graph.save`` wrote, on this device or another one, and loads its kernels. ``source``:\n"
      "the file, or its bytes. A graph is code: the file must be writable only by this user or root, and bytes must\n"
      "be as trustworthy as the program. Raises ``InvalidImageError``, which says what is wrong.");
}

}  // namespace weir::python
