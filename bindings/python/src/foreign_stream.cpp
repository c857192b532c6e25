// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>

#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/host_thread.hpp"
#include "bindings/python/src/objects.hpp"
#include "weir/backend.hpp"
#include "weir/registry.hpp"
#include "weir/stream.hpp"

// Wraps streams of other libraries.
namespace weir::python {
namespace {

std::uintptr_t integer_of(nb::handle object) {
  if (object.is_none()) return 0;  // ctypes uses None for a null address
  return nb::cast<std::uintptr_t>(nb::int_(nb::borrow(object)));
}

/// Returns the handle of another library's stream: `object` is an integer, or has the handle in one of the usual attributes.
/// Empty if it is no stream.
std::optional<std::uintptr_t> handle_of(nb::handle object) {
  if (PyIndex_Check(object.ptr()) != 0 && PyBool_Check(object.ptr()) == 0) return nb::cast<std::uintptr_t>(object);
  // cuda.core, CuPy, numba-cuda, RMM and PyTorch 2.8 have a method, earlier releases of cuda.core a tuple.
  if (nb::object protocol = nb::getattr(object, "__cuda_stream__", nb::none()); !protocol.is_none()) {
    const nb::object pair = PyCallable_Check(protocol.ptr()) != 0 ? protocol() : protocol;
    return integer_of(nb::object(pair[1]));
  }
  for (const char* const name : {"cuda_stream", "ptr", "handle"}) {  // PyTorch and Warp, CuPy, numba
    const nb::object handle = nb::getattr(object, name, nb::none());
    if (handle.is_none()) continue;
    return integer_of(PyIndex_Check(handle.ptr()) != 0 || nb::hasattr(handle, "__int__") ? handle
                                                                                         : nb::object(handle.attr("value")));
  }
  return {};
}

std::shared_ptr<const void> kept(nb::handle object) {
  if (PyIndex_Check(object.ptr()) != 0) return {};
  PyObject* const owned = object.inc_ref().ptr();
  return {owned, [](const void* held) { drop_later(static_cast<PyObject*>(const_cast<void*>(held))); }};
}

StreamObject wrap(nb::handle object, nb::handle device) {
  if (const auto* const own = try_held_by<const StreamObject>(object)) return StreamObject{own->stream};
  const auto handle = handle_of(object);
  if (!handle) {
    throw nb::type_error(
        "Stream.wrap: this is not a stream: pass an integer, or an object with __cuda_stream__, cuda_stream, ptr or handle");
  }
  Device& on = device.is_none() ? device_of_foreign(object, nullptr) : device_of(device);
  std::shared_ptr<const void> keep = kept(object);
  return without_gil(
      [&] { return StreamObject{on.wrap_stream(reinterpret_cast<void*>(*handle), Ownership::borrow, std::move(keep))}; });
}

}  // namespace

StreamPtr stream_of_number(Device& device, std::uintptr_t number) {
  if (number <= 1) return device.default_stream();
  return without_gil([&] { return device.wrap_stream(reinterpret_cast<void*>(number), Ownership::borrow); });
}

std::uintptr_t number_of_stream(Stream& stream) {
  const std::string_view backend = stream.device().backend().name();
  if (stream.kind() == StreamKind::legacy_default) return backend == "cuda" ? 1 : 0;
  return reinterpret_cast<std::uintptr_t>(stream.share_native_handle());
}

Device& device_of_foreign(nb::handle object, const char* backend) {
  std::optional<int> ordinal;
  if (nb::object id = nb::getattr(object, "device_id", nb::none()); PyIndex_Check(id.ptr()) != 0) {  // streams of CuPy
    ordinal = nb::cast<int>(id);
  } else if (nb::object device = nb::getattr(object, "device", nb::none()); !device.is_none()) {
    for (const char* const name : {"index", "ordinal", "device_id", "id"}) {  // PyTorch, Warp, cuda.core, arrays of CuPy
      const nb::object number = nb::getattr(device, name, nb::none());
      if (PyIndex_Check(number.ptr()) != 0) ordinal = nb::cast<int>(number);
      if (ordinal) break;
    }
  }
  if (ordinal && *ordinal < 0) ordinal.reset();  // in CuPy the current device; the driver finds it from the handle
  return without_gil([&]() -> Device& {
    if (backend != nullptr) return Registry::instance().open(backend).device(ordinal.value_or(0));
    Device& usual = default_device();
    return ordinal ? usual.backend().device(*ordinal) : usual;
  });
}

StreamPtr foreign_stream_of(nb::handle object, Device& device) {
  const auto handle = handle_of(object);
  if (!handle)
    throw nb::type_error(
        "this is not a stream: pass a weir.Stream, a stream of another library, or its handle as an integer");
  return stream_of_number(device, *handle);
}

void bind_foreign_streams(nb::module_&) {
  auto stream = bound<StreamObject>();
  stream.def_static(
      "wrap", &wrap, nb::arg("stream"), nb::arg("device") = nb::none(),
      nb::sig("def wrap(stream: _AnyStream, device: _Device = None) -> Stream"),
      "A ``Stream`` over another library's stream: an object with ``__cuda_stream__`` (cuda.core, CuPy, numba-cuda,\n"
      "RMM), ``cuda_stream`` (PyTorch, Warp), ``ptr`` or ``handle``, or the handle as an integer; 0 is the default\n"
      "stream. Weir keeps a reference to the object and never destroys its stream. The stream of an integer handle must\n"
      "outlive this object. ``device``: for objects that do not name their device. Raises ``WrongDeviceError`` for a\n"
      "stream of another device.");
  stream.def(
      "__cuda_stream__",
      [](StreamObject& self) {
        if (self.stream->device().backend().name() != "cuda")
          throw nb::type_error("__cuda_stream__: this stream is of another backend than CUDA's");
        return nb::make_tuple(0, number_of_stream(*self.stream));
      },
      nb::sig("def __cuda_stream__(self) -> tuple[int, int]"),
      "The protocol by which CUDA libraries share streams: ``(0, cudaStream_t)``.");
}

}  // namespace weir::python
