// SPDX-License-Identifier: Apache-2.0
#include "weir/portable_graph.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <map>

#include "python/src/captures.hpp"
#include "python/src/gil.hpp"
#include "python/src/objects.hpp"
#include "python/src/waiting.hpp"

// Graphs in files.
namespace weir::python {
namespace {

/// The name of a file: a str, bytes, or what has `__fspath__`.
std::string file_of(nb::handle path) {
  const nb::bytes encoded(nb::module_::import_("os").attr("fsencode")(path));
  return {encoded.c_str(), encoded.size()};
}

// --- Saving -------------------------------------------------------------------------------------------------------------

void add(std::vector<NamedMemory>& all, nb::handle buffers, MemoryRole role) {
  if (buffers.is_none()) return;
  for (const nb::handle item : nb::object(nb::borrow(buffers).attr("items")())) {
    const BufferObject* buffer = nullptr;
    if (!nb::try_cast(nb::object(item[1]), buffer, false) || buffer == nullptr)
      throw nb::type_error(
          "a name of memory stands for a weir.Buffer; weir.from_dlpack makes one of another library's array");
    all.emplace_back(nb::cast<std::string>(nb::object(item[0])), buffer->data, buffer->size_bytes(), buffer->memory->kind(),
                     role);
  }
}

std::vector<NamedMemory> named(nb::handle memory, nb::handle scratch, nb::handle contents) {
  check_may_wait("Graph.save");  // contents are copied
  std::vector<NamedMemory> all;
  add(all, memory, MemoryRole::bound);
  add(all, scratch, MemoryRole::scratch);
  add(all, contents, MemoryRole::contents);
  return all;
}

void save(const GraphObject& self, nb::handle file, nb::handle memory, nb::handle scratch, nb::handle contents) {
  const std::vector<NamedMemory> names = named(memory, scratch, contents);
  const std::string path = file_of(file);
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
  std::shared_ptr<Thrown> thrown{};  // null while no function in Python is bound
  nb::dict bound{};                  // buffers by name
  std::unique_ptr<std::mutex> mutex = std::make_unique<std::mutex>();  // one thread at a time; taken without the lock

  explicit PortableObject(PortableGraphPtr loaded) noexcept : graph(std::move(loaded)) {}
  PortableObject(PortableObject&&) = default;
  PortableObject& operator=(PortableObject&&) = delete;
  ~PortableObject() { release(graph); }

  template <class F>
  auto locked(F&& function) const {
    return without_gil([&] {
      const std::lock_guard lock(*mutex);
      return function();
    });
  }
};

PortableObject load_graph(Device& device, nb::handle source) {
  if (PyBytes_Check(source.ptr())) {
    const nb::bytes bytes = nb::borrow<nb::bytes>(source);
    const std::span<const std::byte> data(static_cast<const std::byte*>(bytes.data()), bytes.size());
    return PortableObject(without_gil([&] { return device.load_graph(data); }));
  }
  const std::string file = file_of(source);
  return PortableObject(without_gil([&] { return device.load_graph(file); }));
}

void bind(PortableObject& self, const std::string& name, nb::handle target, nb::args args) {
  const BufferObject* buffer = nullptr;
  if (nb::try_cast(target, buffer, false) && buffer != nullptr) {
    if (args.size() != 0) throw nb::type_error("bind: arguments are for a function, and this is a Buffer");
    self.locked(
        [&] { self.graph->bind(name, Span<std::byte>(static_cast<std::byte*>(buffer->data), buffer->size_bytes())); });
    self.bound[name.c_str()] = target;
    return;
  }
  if (!PyCallable_Check(target.ptr()))
    throw nb::type_error("bind: a name stands for a weir.Buffer, or for a function; weir.from_dlpack makes a Buffer of "
                         "another library's array");
  start_host_thread();
  auto call = std::make_shared<PythonCall>(target, args);
  self.locked([&] {
    auto thrown = self.thrown ? self.thrown : std::make_shared<Thrown>();
    self.graph->bind(name, waiting_call(std::move(call), thrown));
    self.thrown = std::move(thrown);
  });
}

GraphObject build(PortableObject& self) {
  std::shared_ptr<Thrown> thrown;
  GraphPtr graph = self.locked([&] {
    thrown = self.thrown;
    return self.graph->build();
  });
  return {std::move(graph), {std::move(thrown), nb::steal(PyDict_Values(self.bound.ptr()))}};
}

nb::dict memory_of(const PortableObject& self) {
  nb::dict all;
  for (PortableMemory& memory : self.locked([&] { return self.graph->memory(); })) {
    const std::string name = memory.name;
    all[name.c_str()] = nb::cast(std::move(memory));
  }
  return all;
}

// --- Names of functions in captures -------------------------------------------------------------------------------------

struct PortableCaptures {
  std::mutex mutex;
  std::map<CaptureKey, std::map<std::string, std::shared_ptr<PythonCall>>> open;
  std::atomic<bool> any{false};  // ever
};
/// Never destroyed, as the streams of other threads may go on.
PortableCaptures& portable_captures() {
  static PortableCaptures* const all = new PortableCaptures;
  return *all;
}

}  // namespace

void note_portable(const Stream& stream) {
  PortableCaptures& all = portable_captures();
  const CaptureKey capture = capture_of(stream);
  const std::lock_guard lock(all.mutex);
  all.open.try_emplace(capture);
  all.any = true;
}

bool is_portable_ever() noexcept { return portable_captures().any; }

bool is_portable(const Stream& stream) {
  PortableCaptures& all = portable_captures();
  if (!stream.is_capturing()) return false;
  const CaptureKey capture = capture_of(stream);
  const std::lock_guard lock(all.mutex);
  return all.open.contains(capture);
}

void note_name(const Stream& stream, const std::string& name, const std::shared_ptr<PythonCall>& call) {
  PortableCaptures& all = portable_captures();
  const CaptureKey capture = without_gil([&] { return capture_of(stream); });
  std::shared_ptr<PythonCall> former;
  {
    const std::lock_guard lock(all.mutex);
    former = all.open[capture].try_emplace(name, call).first->second;
  }
  if (name.empty() || former == call || former->is_same(*call)) return;
  throw nb::value_error(("launch_host_func: in this portable capture the name '" + name +
                         "' stands for another function, or for one with arguments, already; functions travel by their "
                         "names, so give one: name=…")
                            .c_str());
}

void forget_portable(const CaptureKey& capture) {
  PortableCaptures& all = portable_captures();
  if (!all.any) return;
  const std::lock_guard lock(all.mutex);
  all.open.erase(capture);
}

void bind_portable_graph(nb::module_& module) {
  nb::class_<PortableMemory>(module, "PortableMemory", "Named memory of a graph that was loaded.")
      .def_ro("nbytes", &PortableMemory::bytes, "How many bytes it needs.")
      .def_ro("alignment", &PortableMemory::alignment, "That of its address when it was saved; up to 256.")
      .def_prop_ro(
          "kind", [](const PortableMemory& m) { return std::string(to_string(m.kind)); },
          "What is allocated in its place: ``\"device\"``, ``\"pinned\"`` or ``\"managed\"``.")
      .def_prop_ro(
          "role", [](const PortableMemory& m) { return std::string(to_string(m.role)); },
          "``\"bound\"``, ``\"scratch\"`` or ``\"contents\"``.")
      .def_prop_ro(
          "handle", [](const PortableMemory& m) { return reinterpret_cast<std::uintptr_t>(m.data); },
          "The address of what is bound, or was allocated; 0 before.")
      .def("__repr__", [](const PortableMemory& m) {
        return "<PortableMemory '" + m.name + "': " + std::to_string(m.bytes) + " bytes, " + std::string(to_string(m.role)) +
               ">";
      });

  nb::class_<PortableObject>(module, "PortableGraph", nb::is_weak_referenceable(),
                             "A graph that was loaded from a file, with its kernels on a device. Made by "
                             "``Device.load_graph``. ``bind`` says what\n"
                             "its names stand for, ``build`` makes a ``Graph``.")
      .def_prop_ro(
          "device", [](const PortableObject& g) -> Device& { return g.graph->device(); }, nb::rv_policy::reference)
      .def_prop_ro(
          "captured_on", [](const PortableObject& g) { return g.graph->captured_on(); },
          "Where the graph was captured: ``\"cuda sm_90\"``.")
      .def_prop_ro("memory", &memory_of, nb::sig("def memory(self) -> dict[str, PortableMemory]"),
                   "Its memory by name, in the order in which ``Graph.save`` was given it.")
      .def_prop_ro(
          "host_functions", [](const PortableObject& g) { return g.locked([&] { return g.graph->host_functions(); }); },
          "The names of its host functions.")
      .def("bind", &bind, nb::arg("name"), nb::arg("target"), nb::arg("args"),
           nb::sig("def bind(self, name: str, target: Buffer | Callable[..., object], *args: Any) -> None"),
           "Says what ``name`` stands for in graphs that are built from now on: a ``Buffer``, which they keep\n"
           "alive, or a function, which is called with ``args`` as ``Stream.launch_host_func`` calls it. Raises\n"
           "``InvalidArgumentError`` for a name that is not there, and for a ``Buffer`` of fewer bytes or of a lesser "
           "alignment\n"
           "than was saved.")
      .def("build", &build,
           "A ``Graph`` of what is bound now. Memory of the roles scratch and contents lives as long as this object and "
           "such\n"
           "graphs. Raises ``InvalidArgumentError``, which names what is not bound; ``UnsupportedError`` where this device "
           "lacks\n"
           "a feature.")
      .def("__repr__", [](const PortableObject& g) { return "<PortableGraph " + g.graph->describe() + ">"; });

  nb::borrow<nb::class_<GraphObject>>(module.attr("Graph"))
      .def("save", &save, nb::arg("file"), nb::arg("memory") = nb::none(), nb::kw_only(), nb::arg("scratch") = nb::none(),
           nb::arg("contents") = nb::none(),
           nb::sig("def save(self, file: str | PathLike[str], memory: Mapping[str, Buffer] | None = None, *, "
                   "scratch: Mapping[str, Buffer] | None = None, contents: Mapping[str, Buffer] | None = None) -> None"),
           "Writes the graph, of a capture with ``portable=True``, to a file that ``Device.load_graph`` reads on any device "
           "of\n"
           "any vendor. All memory that the graph uses needs a name, except what it allocates itself: in ``memory`` what\n"
           "``PortableGraph.bind`` will say, in ``scratch`` what is then allocated, in ``contents`` what is then allocated "
           "with\n"
           "the bytes of now. The file is this user's alone; a former one is replaced. Raises ``UnsupportedError`` for a "
           "node\n"
           "that cannot travel, and ``InvalidArgumentError`` for an address in no memory that has a name; both say which.")
      .def("to_bytes", &to_bytes, nb::arg("memory") = nb::none(), nb::kw_only(), nb::arg("scratch") = nb::none(),
           nb::arg("contents") = nb::none(),
           nb::sig("def to_bytes(self, memory: Mapping[str, Buffer] | None = None, *, "
                   "scratch: Mapping[str, Buffer] | None = None, contents: Mapping[str, Buffer] | None = None) -> bytes"),
           "What ``save`` writes.");
  nb::borrow<nb::class_<Device>>(module.attr("Device"))
      .def("load_graph", &load_graph, nb::arg("source"),
           nb::sig("def load_graph(self, source: str | PathLike[str] | bytes) -> PortableGraph"),
           "Reads a graph that ``Graph.save`` wrote, on this device or another one, and loads its kernels. ``source``: the "
           "file, or\n"
           "its bytes. A graph is code: the file must be one that nobody but this user, or root, can write, and bytes as\n"
           "trustworthy as the program. Raises ``InvalidImageError``, which says what is wrong with it.");
}

}  // namespace weir::python
