// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/src/kernel.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstring>

#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/objects.hpp"
#include "weir/kernel_bundle.hpp"
#include "weir/stream.hpp"

// Implements modules, kernels and launches.
namespace weir::python {
namespace {

Parameter parameter_of(nb::handle type) {
  const nb::module_ dtypes = nb::module_::import_("weir.dtypes");
  if (type.is(dtypes.attr("ptr"))) return {ParameterKind::address, sizeof(void*), true};
  if (nb::getattr(type, "__origin__", nb::none()).is(dtypes.attr("ptr")))
    return {ParameterKind::address, sizeof(void*), true, dtype_of(nb::object(type.attr("__args__")[0]))};
  const DType number = dtype_of(type);
  const ParameterKind kind = number.code <= TypeCode::unsigned_integer                ? ParameterKind::integer
                             : number.code == TypeCode::floating && number.bits >= 32 ? ParameterKind::floating
                                                                                      : ParameterKind::value;
  return {kind, number.size(), true, number};
}

void check(const Kernel& kernel, const std::vector<Parameter>& parameters) {
  std::vector<weir::Parameter> given;
  for (const Parameter& parameter : parameters)
    given.push_back({static_cast<std::uint32_t>(parameter.size), parameter.kind});
  detail::check_parameters(kernel, given);
}

std::string text_of(nb::handle object) { return nb::cast<std::string>(nb::str(object)); }

/// Returns a list of strings; a single string counts as a list of one.
std::vector<std::string> texts_of(nb::handle object) {
  std::vector<std::string> texts;
  if (nb::isinstance<nb::str>(object) || nb::hasattr(object, "__fspath__")) {
    texts.push_back(text_of(object));
  } else {
    for (const nb::handle text : object) texts.push_back(text_of(text));
  }
  return texts;
}

std::vector<std::pair<std::string, std::string>> pairs_of(nb::handle object) {
  std::vector<std::pair<std::string, std::string>> pairs;
  // Use a copy, because another thread may change the dict in the meantime.
  const nb::object items = nb::steal(PyDict_Items(nb::cast<nb::dict>(object).ptr()));
  for (const nb::handle pair : items) pairs.emplace_back(text_of(pair[0]), text_of(pair[1]));
  return pairs;
}

int standard_of(const std::string& name) { return choice<int>("std", name, {{"c++14", 14}, {"c++17", 17}, {"c++20", 20}}); }

Dim3 extent_of(nb::handle argument) {
  if (PyIndex_Check(argument.ptr()) != 0) return Dim3(nb::cast<long long>(argument));
  std::array<long long, 3> extents{1, 1, 1};
  std::size_t i = 0;
  for (const nb::handle extent : argument) {
    if (i == extents.size()) throw nb::value_error("a grid and a block have up to three dimensions");
    extents[i++] = nb::cast<long long>(extent);
  }
  return {extents[0], extents[1], extents[2]};
}

LaunchConfig config_of(nb::handle grid, nb::handle block, std::uint32_t shmem_size) {
  return {extent_of(grid), extent_of(block), shmem_size};
}

nb::tuple tuple_of(const Dim3& d) { return nb::make_tuple(d.x, d.y, d.z); }

/// Returns all parts of a launch shape.
nb::tuple key_of(const LaunchConfig& c) {
  return nb::make_tuple(tuple_of(c.grid), tuple_of(c.block), c.shared_memory_bytes, c.cooperative,
                        c.cluster == Dim3{} ? nb::none() : nb::object(tuple_of(c.cluster)),
                        c.programmatic_stream_serialization, c.priority ? nb::cast(*c.priority) : nb::none());
}

Device& device_of_kernel(nb::handle kernel) {
  if (const auto* const known = try_held_by<const KernelObject>(kernel)) return known->device();
  return device_of(nb::none());
}

// launch(stream, config, kernel, *args). A plain CPython function, because this is the hot path.
PyObject* launch_call(PyObject*, PyObject* const* args, Py_ssize_t count) {
  try {
    if (count < 3) throw nb::type_error("launch(stream, config, kernel, *args)");
    const nb::handle stream = args[0], config = args[1], kernel = args[2];
    if (!config.type().is(type_of<LaunchConfig>()))
      throw nb::type_error(
          "launch: the second argument must be a weir.LaunchConfig(grid, block); weir.grid_for(n) makes one");
    const std::size_t given = static_cast<std::size_t>(count) - 3;
    if (stream.type().is(type_of<StreamObject>())) [[likely]] {
      Stream& known = *held_by<StreamObject>(stream).stream;
      launch(known, held_by<LaunchConfig>(config), kernel_of(kernel, known.device()), args + 3, given);
    } else {
      const StreamPtr other = stream_of(stream, device_of_kernel(kernel));
      launch(*other, held_by<LaunchConfig>(config), kernel_of(kernel, other->device()), args + 3, given);
    }
    Py_RETURN_NONE;
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

PyMethodDef launch_method = {
    "launch", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&launch_call)), METH_FASTCALL,
    "launch(stream, config, kernel, *args)\n--\n\n"
    "Launches ``kernel`` on ``stream``; None is the current stream. Arguments: ``Buffer`` objects and other libraries'\n"
    "arrays, passed as addresses; numbers, converted to the parameter's type; numpy and ctypes scalars, passed as they\n"
    "are; ``weir.float32(x)``. Raises ``TypeError`` or ``ValueError`` for an argument that the parameter cannot take, and\n"
    "``InvalidArgumentError`` for an impossible launch shape."};

/// Implements kernel(grid, block, args), the form of CuPy.
void call(nb::handle self, nb::handle grid, nb::handle block, nb::handle args, std::uint32_t shared_mem, nb::handle stream) {
  const StreamPtr on = stream_of(stream, device_of_kernel(self));
  const nb::tuple given(nb::borrow(args));
  std::vector<PyObject*> arguments;
  for (const nb::handle argument : given) arguments.push_back(argument.ptr());
  launch(*on, config_of(grid, block, shared_mem), kernel_of(self, on->device()), arguments.data(), arguments.size());
}

template <class Class>
void def_call(Class& c) {
  c.def("__call__", &call, nb::arg("grid"), nb::arg("block"), nb::arg("args"), nb::kw_only(), nb::arg("shared_mem") = 0,
        nb::arg("stream") = nb::none(),
        nb::sig("def __call__(self, grid: _Extent, block: _Extent, args: Sequence[Any], *, shared_mem: int = 0, "
                "stream: _Stream = None) -> None"),
        "Launches the kernel with ``args`` on ``stream`` (default: the current stream).");
}

/// Whether the bytes begin like a bundle (docs/bundle-format.md).
bool is_bundle(std::span<const std::byte> bytes) {
  return bytes.size() >= 8 && std::memcmp(bytes.data(), "\x89WEIRKB\n", 8) == 0;
}

using ModuleObject = Owned<Module>;

KernelObject get_kernel(const ModuleObject& module, const std::string& name, nb::handle types) {
  return KernelObject(without_gil([&] { return module->untyped_kernel(name); }), types);
}

}  // namespace

KernelObject::KernelObject(KernelPtr made, nb::handle types) : Owned(std::move(made)) {
  if (!types.is_none()) {
    for (const nb::handle type : types) parameters.push_back(parameter_of(type));
    check(*ptr, parameters);
    is_counted = true;
    return;
  }
  if (!ptr->has_parameter_sizes()) return;
  for (const weir::Parameter& known : ptr->parameters()) parameters.push_back({known.kind, known.size});
  is_counted = true;
}

const KernelObject& KernelFunction::on(Device& device) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = kernels_.find(&device); known != kernels_.end()) return *known->second;
  }
  // Two threads may both compile. The second one finds the result in the disk cache, and then uses the kernel of the first.
  auto made = without_gil([&] { return device.compile(source_, options_)->untyped_kernel(name_); });
  auto kernel = std::make_unique<KernelObject>(std::move(made), types_);
  const std::lock_guard lock(mutex_);
  return *kernels_.try_emplace(&device, std::move(kernel)).first->second;
}

const KernelObject& kernel_of(nb::handle argument, Device& device) {
  if (argument.type().is(type_of<KernelObject>())) return held_by<KernelObject>(argument);
  if (auto* const function = try_held_by<KernelFunction>(argument)) return function->on(device);
  throw nb::type_error("this is not a kernel: pass what Module.get_kernel returns, or a function with @weir.kernel");
}

CompileOptions compile_options(const nb::kwargs& options) {
  CompileOptions all;
  for (const auto [key, value] : options) {
    const std::string name = text_of(key);
    if (name == "name")
      all.name = text_of(value);
    else if (name == "define_macro")
      all.defines = pairs_of(value);
    else if (name == "include_path")
      all.include_directories = texts_of(value);
    else if (name == "std")
      all.cxx_standard = standard_of(text_of(value));
    else if (name == "use_fast_math")
      all.fast_math = nb::cast<bool>(value);
    else if (name == "debug")
      all.debug = nb::cast<bool>(value);
    else if (name == "options")
      all.extra = texts_of(value);
    else if (name == "headers")
      all.headers = pairs_of(value);
    else if (name == "name_expressions")
      all.kernels = texts_of(value);
    else
      throw nb::type_error(("compile: no option is named '" + name +
                            "'; there are name, define_macro, include_path, std, "
                            "use_fast_math, debug, options, headers and name_expressions")
                               .c_str());
  }
  return all;
}

void bind_kernel(nb::module_& module) {
  nb::class_<LaunchConfig>(module, "LaunchConfig", "The shape of a launch.")
      .def(
          "__init__",
          [](LaunchConfig* self, nb::handle grid, nb::handle block, std::uint32_t shmem_size, bool is_cooperative,
             nb::handle cluster, bool programmatic_stream_serialization, std::optional<int> priority) {
            LaunchConfig config = config_of(grid, block, shmem_size);
            config.cooperative = is_cooperative;
            config.programmatic_stream_serialization = programmatic_stream_serialization;
            if (!cluster.is_none()) config.cluster = extent_of(cluster);
            config.priority = priority;
            new (self) LaunchConfig(config);
          },
          nb::sig("def __init__(self, grid: _Extent, block: _Extent, shmem_size: int = 0, "
                  "is_cooperative: bool = False, *, cluster: _Extent | None = None, "
                  "programmatic_stream_serialization: bool = False, priority: int | None = None) -> None"),
          nb::arg("grid"), nb::arg("block"), nb::arg("shmem_size") = 0, nb::arg("is_cooperative") = false, nb::kw_only(),
          nb::arg("cluster") = nb::none(), nb::arg("programmatic_stream_serialization") = false,
          nb::arg("priority") = nb::none(),
          "``grid``: blocks; ``block``: threads per block; each an integer, or up to three, x first. ``shmem_size``:\n"
          "dynamic shared memory per block in bytes. ``is_cooperative``: all blocks can synchronize with each other;\n"
          "feature ``cooperative_launch``. ``cluster``: blocks per thread block cluster, which must divide the grid;\n"
          "feature ``cluster_launch``. ``programmatic_stream_serialization``: the kernel may start before the previous\n"
          "kernel ends, and waits for it in ``cudaGridDependencySynchronize``; feature ``programmatic_launch``.\n"
          "``priority``: in the vendor's numbers; None for the stream's; feature ``launch_priority``.")
      .def_prop_ro(
          "grid", [](const LaunchConfig& c) { return tuple_of(c.grid); }, nb::sig("def grid(self) -> tuple[int, int, int]"))
      .def_prop_ro(
          "block", [](const LaunchConfig& c) { return tuple_of(c.block); },
          nb::sig("def block(self) -> tuple[int, int, int]"))
      .def_ro("shmem_size", &LaunchConfig::shared_memory_bytes)
      .def_ro("is_cooperative", &LaunchConfig::cooperative)
      .def_prop_ro(
          "cluster",
          [](const LaunchConfig& c) { return c.cluster == Dim3{} ? nb::none() : nb::object(tuple_of(c.cluster)); },
          nb::sig("def cluster(self) -> tuple[int, int, int] | None"))
      .def_ro("programmatic_stream_serialization", &LaunchConfig::programmatic_stream_serialization)
      .def_ro("priority", &LaunchConfig::priority)
      .def(
          "__eq__", [](const LaunchConfig& a, const LaunchConfig& b) { return key_of(a).equal(key_of(b)); },
          nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const LaunchConfig& c) { return nb::hash(key_of(c)); })
      .def("__repr__", [](const LaunchConfig& c) {
        const nb::str format(
            "LaunchConfig(grid={}, block={}, shmem_size={}, is_cooperative={}, cluster={}, "
            "programmatic_stream_serialization={}, priority={})");
        return nb::str(format.attr("format")(*key_of(c)));
      });
  module.def(
      "grid_for", [](std::size_t count, std::uint32_t block) { return grid_for(count, block); }, nb::arg("count"),
      nb::arg("block") = 256, "A one-dimensional ``LaunchConfig`` with at least ``count`` threads, in blocks of ``block``.");

  auto kernel = nb::class_<KernelObject>(module, "Kernel", "A function that a stream launches on a grid of threads.");
  kernel.def_prop_ro("name", [](const KernelObject& k) { return k->name(); })
      .def_prop_ro(
          "device", [](const KernelObject& k) -> Device& { return k->device(); }, nb::rv_policy::reference)
      .def_prop_ro(
          "num_arguments", [](const KernelObject& k) { return k.is_counted ? nb::cast(k.parameters.size()) : nb::none(); },
          nb::sig("def num_arguments(self) -> int | None"),
          "The number of parameters; None if the driver does not report it.")
      .def_prop_ro(
          "handle", [](const KernelObject& k) { return reinterpret_cast<std::uintptr_t>(k->native_handle()); },
          "The vendor's function (CUfunction, hipFunction_t) as an integer.")
      .def_prop_ro(
          "attributes",
          [](const KernelObject& k) {
            const KernelProperties p = without_gil([&] { return k->properties(); });
            nb::dict all;
            all["max_threads_per_block"] = p.max_threads_per_block;
            all["num_regs"] = p.registers_per_thread;
            all["shared_size_bytes"] = p.static_shared_memory_bytes;
            all["local_size_bytes"] = p.local_memory_bytes;
            all["const_size_bytes"] = p.constant_memory_bytes;
            all["ptx_version"] = p.ptx_version;
            all["binary_version"] = p.binary_version;
            all["tier"] = nb::str(p.tier.data(), p.tier.size());
            return all;
          },
          nb::sig("def attributes(self) -> dict[str, Any]"),
          "Limits and resource usage by name; 0 where the backend has no such number.")
      .def(
          "max_active_blocks_per_multiprocessor",
          [](const KernelObject& k, std::uint32_t block_size, std::size_t dynamic_shared_memory_size) {
            return without_gil([&] { return k->max_active_blocks(block_size, dynamic_shared_memory_size); });
          },
          nb::arg("block_size"), nb::arg("dynamic_shared_memory_size") = 0,
          "How many blocks of that size run on one multiprocessor at a time. Shared memory in bytes.")
      .def(
          "max_potential_block_size",
          [](const KernelObject& k, std::size_t dynamic_shared_memory_needed) {
            return without_gil([&] { return k->suggested_block_size(dynamic_shared_memory_needed); });
          },
          nb::arg("dynamic_shared_memory_needed") = 0, "The block size with the best occupancy.")
      .def("__repr__",
           [](const KernelObject& k) { return "<Kernel '" + k->name() + "' on " + k->device().describe() + ">"; });
  def_call(kernel);

  auto function = nb::class_<KernelFunction>(
      module, "KernelFunction", nb::dynamic_attr(), nb::is_generic(), nb::sig("class KernelFunction(Generic[_Parameters])"),
      "Kernel source that is compiled for a device at its first launch there. See ``kernel``.");
  function
      .def(
          "__init__",
          [](KernelFunction* self, std::string source, std::string name, nb::object types, nb::kwargs options) {
            new (self) KernelFunction(std::move(source), std::move(name), std::move(types), compile_options(options));
          },
          nb::sig("def __init__(self, source: str, name: str, types: Any, **options: Any) -> None"))
      .def_prop_ro("name", &KernelFunction::name)
      .def("__repr__", [](const KernelFunction& f) { return "<KernelFunction '" + f.name() + "'>"; })
      .def(
          "on", [](KernelFunction& f, nb::handle device) { return &f.on(device_of(device)); },
          nb::arg("device") = nb::none(), nb::rv_policy::reference_internal,
          nb::sig("def on(self, device: _Device = None) -> Kernel"),
          "The kernel for that device; compiles it if necessary.");
  def_call(function);

  nb::class_<ModuleObject>(module, "Module", "Device code loaded on one device.")
      .def_prop_ro("device", &ModuleObject::device, nb::rv_policy::reference)
      .def_prop_ro("handle", &ModuleObject::handle, "The vendor's module (CUmodule, hipModule_t) as an integer.")
      .def("get_kernel", &get_kernel, nb::arg("name"), nb::arg("types") = nb::none(),
           nb::sig("def get_kernel(self, name: str, types: Iterable[Any] | None = None) -> Kernel"),
           "The kernel of that name, as written in the source; ``\"blur<float, 3>\"`` for a template instance.\n"
           "``types``: the types of its parameters, such as ``(weir.int32, weir.ptr)``; launches then convert their\n"
           "arguments. Raises ``KernelNotFoundError``, and ``InvalidArgumentError`` if the types are known not to match\n"
           "the kernel.")
      .def(
          "__getitem__", [](const ModuleObject& m, const std::string& name) { return get_kernel(m, name, nb::none()); },
          nb::arg("name"))
      .def(
          "get_global",
          [](const ModuleObject& m, const std::string& name) {
            const Span<std::byte> bytes = without_gil([&] { return m->global(name); });
            AllocationPtr memory =
                m->device().adopt_memory(bytes.data(), bytes.size(), MemoryKind::device, [owner = m.ptr](void*) {});
            return BufferObject(std::move(memory), bytes.data(), DType{}, {static_cast<std::int64_t>(bytes.size())});
          },
          nb::arg("name"), "A ``Buffer`` over the bytes of a ``__device__`` or ``__constant__`` variable.")
      .def("__repr__", [](const ModuleObject& m) { return "<Module on " + m->device().describe() + ">"; });

  module.def(
      "compile",
      [](const std::string& source, nb::handle device, nb::kwargs options) {
        Device& on = device_of(device);
        const CompileOptions all = compile_options(options);
        return ModuleObject{without_gil([&] { return on.compile(source, all); })};
      },
      nb::arg("source"), nb::arg("device") = nb::none(), nb::arg("options"),
      nb::sig("def compile(source: str, device: _Device = None, *, name: str = ..., define_macro: dict[str, str] = {}, "
              "include_path: _Path | Iterable[_Path] = [], std: Literal[\"c++14\", \"c++17\", \"c++20\"] = ..., "
              "use_fast_math: bool = False, debug: bool = False, options: Iterable[str] = [], "
              "headers: dict[str, str] = {}, name_expressions: Iterable[str] = []) -> Module"),
      "Compiles ``source``, written in the common subset of CUDA C++ and HIP C++, for ``device`` and loads it. Kernels\n"
      "are ``extern \"C\" __global__ void``; ``name_expressions`` instantiates templates: ``[\"blur<float, 3>\"]``.\n"
      "``options`` are passed to NVRTC, HIPRTC or the host compiler unchanged. Results are cached on disk.\n\n"
      "Raises ``CompilationFailedError`` with the full compiler log. Without a compiler, raises\n"
      "``UnsupportedError``, which names the package to install.");
  module.def(
      "load",
      [](nb::bytes image, nb::handle device) {
        Device& on = device_of(device);
        const std::span<const std::byte> bytes(static_cast<const std::byte*>(image.data()), image.size());
        return without_gil(
            [&] { return ModuleObject{is_bundle(bytes) ? on.load(KernelBundle(bytes)) : on.load_module(bytes)}; });
      },
      nb::arg("image"), nb::arg("device") = nb::none(), nb::sig("def load(image: bytes, device: _Device = None) -> Module"),
      "Loads device code: PTX, cubin or fatbin on CUDA, a code object on HIP, a shared object on the CPU; or, from a\n"
      "bundle made by ``weir kernels``, what fits the device. Raises ``InvalidImageError``.");

  const nb::object name = nb::module_::import_("sys").attr("intern")("weir._core");
  module.attr("launch") = nb::steal(PyCFunction_NewEx(&launch_method, nullptr, name.ptr()));
}

}  // namespace weir::python
