// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/src/dlpack.hpp"

#include <nanobind/stl/vector.h>

#include <optional>

#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/objects.hpp"
#include "bindings/python/src/waiting.hpp"
#include "weir/backend.hpp"
#include "weir/plugin/support.hpp"
#include "weir/stream.hpp"

// Exports buffers to other libraries as DLPack capsules and by __cuda_array_interface__. foreign_array.cpp is the opposite
// direction.
namespace weir::python {
namespace {

using dlpack::DeviceType;
using dlpack::DLDevice;

/// A tensor and the data that it points to. The tensor's deleter frees it.
template <class Managed>
struct Export {
  Managed managed;
  AllocationPtr memory;
  std::vector<std::int64_t> shape, strides;
};

// The tensor's deleter. Other libraries call it on any thread, with or without the GIL. Freeing the memory may wait for all
// work of a device, and that work for a function that needs the GIL, so Weir's reclaimer frees it.
template <class Managed>
void release_export(Managed* managed) noexcept {
  const support::HostFunctionScope reclaimed;
  delete static_cast<Export<Managed>*>(managed->owner);
}

// The destructor of a capsule. Releases the tensor if nobody has consumed the capsule.
template <class Managed>
void destroy_capsule(PyObject* capsule) noexcept {
  if (PyCapsule_IsValid(capsule, Managed::name) == 0) return;
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::name));
  managed->deleter(managed);
}

template <class Managed>
nb::object capsule_of(const BufferObject& buffer, DLDevice place, [[maybe_unused]] std::uint64_t flags) {
  auto whole = std::make_unique<Export<Managed>>();
  whole->memory = buffer.memory();
  whole->shape = buffer.shape;
  whole->strides.resize(buffer.shape.size());
  PyBuffer_FillContiguousStrides(static_cast<int>(buffer.shape.size()), whole->shape.data(), whole->strides.data(), 1, 'C');
  Managed& managed = whole->managed;
  managed.owner = whole.get();
  managed.deleter = &release_export<Managed>;
  managed.tensor = {.data = buffer.data(),
                    .place = place,
                    .dimensions = static_cast<std::int32_t>(buffer.shape.size()),
                    .code = static_cast<std::uint8_t>(buffer.dtype.code),
                    .bits = buffer.dtype.bits,
                    .lanes = 1,
                    .shape = whole->shape.data(),
                    .strides = whole->strides.data(),
                    .byte_offset = 0};
  if constexpr (std::is_same_v<Managed, dlpack::Versioned>) {
    managed.major = 1;
    managed.minor = 1;
    managed.flags = flags;
  }
  PyObject* const capsule = PyCapsule_New(&managed, Managed::name, &destroy_capsule<Managed>);
  if (capsule == nullptr) throw nb::python_error();
  whole.release();
  return nb::steal(capsule);
}

DLDevice dl_device_of(const BufferObject& buffer) {
  const Device& device = buffer.device();
  const std::string_view backend = device.backend().name();
  const MemoryKind kind = buffer.memory()->kind();
  if (backend == "host") return {DeviceType::cpu, 0};
  if (backend == "cuda") {
    if (kind == MemoryKind::pinned) return {DeviceType::cuda_host, 0};
    return {kind == MemoryKind::managed ? DeviceType::cuda_managed : DeviceType::cuda, device.ordinal()};
  }
  if (backend == "hip") {
    if (kind == MemoryKind::pinned) return {DeviceType::rocm_host, 0};
    return {DeviceType::rocm, device.ordinal()};
  }
  throw nb::buffer_error(("DLPack has no number for the backend " + std::string(backend)).c_str());
}

/// Returns a stream on which the buffer's elements are valid: the current stream, which first waits for the stream that the
/// memory was allocated on, if any.
StreamPtr ready_stream(const BufferObject& buffer) {
  StreamPtr current = current_stream_of(buffer.device());
  Stream* const allocated_on = buffer.memory()->stream();
  if (allocated_on != nullptr && *allocated_on != *current && !allocated_on->is_closed())
    without_gil([&] { current->wait(*allocated_on); });
  return current;
}

/// Makes the consumer's stream, given as a number, wait for the buffer.
void make_ready(const BufferObject& buffer, DLDevice place, nb::handle stream) {
  const bool is_number = !stream.is_none();
  const auto number = is_number ? nb::cast<std::int64_t>(stream) : 0;
  if (is_number && number == -1) return;  // the consumer requests no wait
  const StreamPtr ready = ready_stream(buffer);
  const bool host_reads =
      place.type == DeviceType::cpu || place.type == DeviceType::cuda_host || place.type == DeviceType::rocm_host;
  if (!is_number && host_reads) return wait_for(*ready, std::nullopt, [] { return ""; });
  const bool is_cuda = buffer.device().backend().name() == "cuda";
  if (is_number && (number < -1 || (is_cuda && number == 0) || (!is_cuda && (number == 1 || number == 2)))) {
    throw nb::value_error(
        ("stream: " + std::to_string(number) + " names no stream; of CUDA 1 and 2 are the default streams, of ROCm 0 is")
            .c_str());
  }
  const StreamPtr consumer = stream_of_number(buffer.device(), static_cast<std::uintptr_t>(is_number ? number : is_cuda));
  without_gil([&] { consumer->wait(ready); });
}

/// Returns a copy of the elements, made on `ready_stream`.
BufferObject copy_of(const BufferObject& buffer, MemoryKind kind) {
  const StreamPtr stream = ready_stream(buffer);
  return without_gil([&] {
    AllocationPtr memory = buffer.device().allocate_bytes(buffer.size_bytes(), kind);
    void* const data = memory->data();
    stream->copy_bytes(data, buffer.data(), buffer.size_bytes());
    return BufferObject(std::move(memory), data, buffer.dtype, buffer.shape);
  });
}

nb::object to_dlpack(const BufferObject& self, nb::handle stream, nb::handle max_version, nb::handle dl_device,
                     nb::handle copy) {
  const DLDevice own = dl_device_of(self);
  DLDevice wanted = own;
  if (!dl_device.is_none())
    wanted = {static_cast<DeviceType>(nb::cast<int>(dl_device[0])), nb::cast<std::int32_t>(dl_device[1])};
  const bool is_seen_by_host = self.memory()->host_accessible() || own.type == DeviceType::cpu;
  if (wanted != own && wanted != DLDevice{DeviceType::cpu, 0})
    throw nb::buffer_error(
        "dl_device: a buffer can be exported on its own device or to the host; copy it to a Buffer of that device");
  const bool must_copy = wanted != own && !is_seen_by_host;
  if (must_copy && !copy.is_none() && !nb::cast<bool>(copy))
    throw nb::buffer_error("copy=False: the host cannot access this memory without a copy");
  const bool copies = must_copy || (!copy.is_none() && nb::cast<bool>(copy));
  const bool is_versioned = !max_version.is_none() && nb::cast<int>(max_version[0]) >= 1;
  if (self.read_only && !copies && !is_versioned)
    throw nb::buffer_error("the buffer is read-only, which DLPack before version 1.0 cannot say");

  const auto capsule = [&](const BufferObject& buffer, std::uint64_t flags) {
    make_ready(buffer, wanted, stream);
    return is_versioned ? capsule_of<dlpack::Versioned>(buffer, wanted, flags)
                        : capsule_of<dlpack::Unversioned>(buffer, wanted, 0);
  };
  if (copies)
    return capsule(copy_of(self, must_copy ? MemoryKind::pinned : self.memory()->kind()), dlpack::Versioned::is_copied);
  return capsule(self, self.read_only ? dlpack::Versioned::is_read_only : 0);
}

}  // namespace

nb::object cuda_array_interface(const BufferObject& self) {
  if (self.device().backend().name() != "cuda")
    throw nb::attribute_error("__cuda_array_interface__: this buffer does not belong to the backend cuda");
  const nb::object type = class_of(self.dtype);
  if (self.dtype.code == TypeCode::bfloat)
    throw nb::attribute_error(
        "__cuda_array_interface__ does not support bfloat16; use DLPack, or view the buffer as weir.uint16");
  nb::dict interface;
  interface["shape"] = nb::tuple(nb::cast(self.shape));
  interface["typestr"] = type.attr("typestr");
  interface["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(self.data()), self.read_only);
  interface["strides"] = nb::none();
  interface["version"] = 3;
  interface["stream"] = number_of_stream(*ready_stream(self));
  return interface;
}

void bind_dlpack(nb::module_&) {
  auto buffer = bound<BufferObject>();
  buffer.def("__dlpack__", &to_dlpack,
             nb::sig("def __dlpack__(self, *, stream: _Stream = None, max_version: Any = None, "
                     "dl_device: Any = None, copy: bool | None = None) -> Any"),
             nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
             nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none(),
             "A DLPack capsule over the memory. The consumer's ``stream``, given by its number, waits for all\n"
             "work enqueued so far on the current stream and on the stream that the memory was allocated on;\n"
             "-1: no wait. If the consumer is on the host and gives no stream, the call blocks until that work\n"
             "is done. Raises ``BufferError`` for what DLPack cannot express.");
  buffer.def(
      "__dlpack_device__",
      [](const BufferObject& self) {
        const DLDevice place = dl_device_of(self);
        return nb::make_tuple(static_cast<int>(place.type), place.ordinal);
      },
      nb::sig("def __dlpack_device__(self) -> tuple[int, int]"), "DLPack's device type and device number.");
  buffer.def(
      "__array__",
      [](const BufferObject&, nb::args, nb::kwargs) -> nb::object {
        throw nb::type_error("this is memory of a device, which numpy cannot read: use get()");
      },
      nb::sig("def __array__(self, *args: Any, **options: Any) -> Any"),
      "Called by numpy for memory that the host cannot access. Raises ``TypeError``, as CuPy does.");
}

}  // namespace weir::python
