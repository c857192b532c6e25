// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "bindings/python/src/dlpack.hpp"
#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/host_memory.hpp"
#include "bindings/python/src/host_thread.hpp"
#include "bindings/python/src/kernel.hpp"
#include "bindings/python/src/objects.hpp"
#include "weir/backend.hpp"
#include "weir/plugin/support.hpp"
#include "weir/registry.hpp"
#include "weir/stream.hpp"

// Uses other libraries' arrays as buffers and as kernel arguments.
namespace weir::python {
namespace {

using dlpack::DeviceType;
using dlpack::DLDevice;

/// The device and the kind of another library's memory.
struct Location {
  Device& device;
  MemoryKind kind;
};

Device& device_number(const char* backend, int ordinal) {
  return without_gil([&]() -> Device& { return Registry::instance().open(backend).device(ordinal); });
}

/// Returns the location for host memory, which counts as pinned memory of the CPU backend.
Location host_location() { return {device_number("host", 0), MemoryKind::pinned}; }

Location location_of(DLDevice place) {
  switch (place.type) {
    case DeviceType::cpu: return host_location();
    case DeviceType::cuda: return {device_number("cuda", place.ordinal), MemoryKind::device};
    case DeviceType::cuda_managed: return {device_number("cuda", place.ordinal), MemoryKind::managed};
    case DeviceType::cuda_host: return {device_number("cuda", place.ordinal), MemoryKind::pinned};
    case DeviceType::rocm: return {device_number("hip", place.ordinal), MemoryKind::device};
    case DeviceType::rocm_host: return {device_number("hip", place.ordinal), MemoryKind::pinned};
  }
  throw nb::buffer_error(
      ("from_dlpack: Weir does not support DLPack's device type " + std::to_string(static_cast<int>(place.type))).c_str());
}

/// References to drop when their device is idle, because its work may use memory that the objects own.
struct Waiting {
  std::mutex mutex;
  std::map<Device*, std::vector<PyObject*>> objects;
};
/// Never destroyed, because other libraries may free memory at any time.
Waiting& waiting() {
  static Waiting* const all = new Waiting;
  return *all;
}

/// Waits for the work submitted so far. Returns false if an open capture forbids that.
bool is_idle(Device& device) noexcept try {
  device.synchronize();
  return true;
} catch (const Error& error) {
  return error.errc() == Errc::device_fault && device.is_poisoned();  // the device has failed, so its work is over
} catch (...) {
  return false;
}

/// Drops all references whose device can be waited for. Returns whether none is left.
bool drop_idle() {
  std::map<Device*, std::vector<PyObject*>> all;
  {
    const std::lock_guard lock(waiting().mutex);
    all.swap(waiting().objects);
  }
  std::erase_if(all, [](const auto& entry) {
    if (is_finalizing()) return true;  // leaked, because devices may be destroyed at any time now
    if (!is_idle(*entry.first)) return false;
    std::ranges::for_each(entry.second, drop_later);
    return true;
  });
  const std::lock_guard lock(waiting().mutex);
  for (const auto& [device, left] : all) {
    auto& objects = waiting().objects[device];
    objects.insert(objects.end(), left.begin(), left.end());
  }
  return waiting().objects.empty();
}

/// Drops a reference when the device is idle. Any thread may call it, with or without the GIL: Weir's thread that waits for
/// idle devices, for modules, does. While a capture forbids that, the reference is kept.
void drop_when_idle(PyObject* object, Device& device) noexcept {
  if (is_forked()) return;
  const std::lock_guard lock(waiting().mutex);
  const bool is_first = waiting().objects.empty();
  waiting().objects[&device].push_back(object);
  if (is_first && !support::reclaim_module(drop_idle)) {
    // Leaked, as at the end of the process. The next reference tries again.
    waiting().objects.clear();
  }
}

/// Returns a buffer over memory of `owner`, and keeps `owner` alive as long as the memory is used. `shown`: the object that
/// the garbage collector visits, to which only the buffer holds a reference; by default `owner`.
nb::object adopt(Location location, void* data, DType dtype, std::vector<std::int64_t> shape, bool read_only,
                 nb::object owner, PyObject* shown = nullptr) {
  const std::size_t bytes = byte_count(shape, dtype);
  Device* const device = &location.device;
  AllocationPtr memory = device->adopt_memory(bytes == 0 ? nullptr : data, bytes, location.kind,
                                              [object = owner.ptr(), device](void*) { drop_when_idle(object, *device); });
  BufferObject made(std::move(memory), bytes == 0 ? nullptr : data, dtype, std::move(shape), read_only);
  made.owner = shown != nullptr ? shown : owner.ptr();
  owner.release();
  return nb::cast(std::move(made));
}

/// Raises BufferError unless the array is C-contiguous. `unit`: the stride between adjacent elements.
void check_contiguous(const std::vector<std::int64_t>& shape, const std::int64_t* strides, std::int64_t unit) {
  if (strides == nullptr || std::ranges::count(shape, 0) != 0) return;
  std::int64_t row_major = unit;
  for (std::size_t i = shape.size(); i-- > 0; row_major *= shape[i])
    if (shape[i] != 1 && strides[i] != row_major) throw_gaps();
}

// --- DLPack -----------------------------------------------------------------------------------------------------------

template <class Managed>
void call_deleter(PyObject* capsule) noexcept {
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, nullptr));
  if (managed->deleter != nullptr) managed->deleter(managed);
}

/// Takes the tensor out of a capsule, so that no other code can take it. Returns its new owner, which calls the tensor's
/// deleter with the GIL held, because some deleters need it; empty if the capsule has no tensor of this kind.
template <class Managed>
nb::object take(nb::handle capsule) {
  const nb::ft_object_guard one_thread(capsule);
  if (PyCapsule_IsValid(capsule.ptr(), Managed::name) == 0) return {};
  void* const managed = PyCapsule_GetPointer(capsule.ptr(), Managed::name);
  nb::object owner = nb::steal(PyCapsule_New(managed, nullptr, &call_deleter<Managed>));
  if (!owner.is_valid()) throw nb::python_error();
  PyCapsule_SetName(capsule.ptr(), Managed::used_name);
  return owner;
}

nb::object adopt_tensor(const dlpack::Tensor& tensor, bool read_only, nb::object owner) {
  const DType dtype{static_cast<TypeCode>(tensor.code), tensor.bits};
  if (tensor.lanes != 1) throw nb::buffer_error("from_dlpack: Weir does not support elements with several lanes");
  (void)class_of(dtype);
  std::vector<std::int64_t> shape(tensor.shape, tensor.shape + tensor.dimensions);
  check_contiguous(shape, tensor.strides, 1);
  return adopt(location_of(tensor.place), static_cast<std::byte*>(tensor.data) + tensor.byte_offset, dtype, std::move(shape),
               read_only, std::move(owner));
}

nb::object adopt_capsule(nb::handle capsule) {
  if (nb::object owner = take<dlpack::Versioned>(capsule)) {
    const auto& managed = *static_cast<dlpack::Versioned*>(PyCapsule_GetPointer(owner.ptr(), nullptr));
    if (managed.major == 1)
      return adopt_tensor(managed.tensor, (managed.flags & dlpack::Versioned::is_read_only) != 0, std::move(owner));
    throw nb::buffer_error(("from_dlpack: the capsule is of DLPack " + std::to_string(managed.major) +
                            "; Weir supports version 1 and earlier ones")
                               .c_str());
  }
  if (nb::object owner = take<dlpack::Unversioned>(capsule)) {
    const auto& managed = *static_cast<dlpack::Unversioned*>(PyCapsule_GetPointer(owner.ptr(), nullptr));
    return adopt_tensor(managed.tensor, false, std::move(owner));
  }
  throw nb::value_error("from_dlpack: this capsule was taken before, or holds no tensor");
}

/// Returns `object.__dlpack__()`. Producers before DLPack 1.0 do not accept `max_version`.
nb::object capsule_from(nb::handle object, nb::handle stream) {
  const nb::object method = object.attr("__dlpack__");
  try {
    return method(nb::arg("stream") = stream, nb::arg("max_version") = nb::make_tuple(1, 1));
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return method(nb::arg("stream") = stream);
}

// --- The buffer protocol ----------------------------------------------------------------------------------------------

/// Memory that an object exports by the buffer protocol. It may also be pinned.
struct LentMemory {
  HostMemory memory;
  Ptr<HostRegistration> pinned{};

  ~LentMemory() { release(pinned); }
};

void end_loan(PyObject* capsule) noexcept { delete static_cast<LentMemory*>(PyCapsule_GetPointer(capsule, nullptr)); }

/// Returns a buffer over the memory that `object` exports. With `device`, the memory is pinned for it.
nb::object adopt_view(nb::handle object, Device* device = nullptr) {
  std::unique_ptr<LentMemory> made(new LentMemory{HostMemory(object, HostMemory::Access::any)});
  const HostMemory& memory = made->memory;
  const auto dtype = memory.dtype();
  if (!dtype) throw nb::buffer_error(("Weir has no element type for the format '" + memory.format() + "'").c_str());
  const Location location = device != nullptr ? Location{*device, MemoryKind::pinned} : host_location();
  if (device != nullptr)
    made->pinned = without_gil([&] { return device->register_host(memory.data(), memory.size_bytes()); });
  nb::object owner = nb::steal(PyCapsule_New(made.get(), nullptr, &end_loan));
  if (!owner.is_valid()) throw nb::python_error();
  made.release();
  const auto shape = memory.shape();
  return adopt(location, memory.data(), *dtype, {shape.begin(), shape.end()}, memory.is_read_only(), std::move(owner),
               memory.owner());
}

// --- __cuda_array_interface__ -----------------------------------------------------------------------------------------

nb::object adopt_cuda_array(nb::object object, nb::handle stream) {
  const nb::dict interface = nb::cast<nb::dict>(object.attr("__cuda_array_interface__"));
  const auto* const given = try_held_by<const StreamObject>(stream);
  Device& device = given != nullptr ? given->stream->device() : device_of_foreign(object, "cuda");
  const auto shape = nb::cast<std::vector<std::int64_t>>(interface["shape"]);
  const DType dtype = dtype_of(interface["typestr"]);
  if (interface.contains("strides") && !interface["strides"].is_none()) {
    const auto strides = nb::cast<std::vector<std::int64_t>>(interface["strides"]);
    check_contiguous(shape, strides.data(), static_cast<std::int64_t>(dtype.size()));
  }
  if (interface.contains("mask") && !interface["mask"].is_none())
    throw nb::buffer_error("from_dlpack: Weir does not support masked arrays");
  if (interface.contains("stream") && !interface["stream"].is_none()) {
    const StreamPtr producer = stream_of_number(device, nb::cast<std::uintptr_t>(interface["stream"]));
    const StreamPtr consumer = stream_of(stream, device);
    without_gil([&] { consumer->wait(producer); });
  }
  const nb::object data = interface["data"];
  return adopt({device, MemoryKind::device}, reinterpret_cast<void*>(nb::cast<std::uintptr_t>(data[0])), dtype, shape,
               nb::cast<bool>(data[1]), std::move(object));
}

/// Returns the result of `__dlpack_device__`.
DLDevice dl_device_of(nb::handle object) {
  const nb::object place = object.attr("__dlpack_device__")();
  return {static_cast<DeviceType>(nb::cast<int>(nb::int_(nb::object(place[0])))), nb::cast<std::int32_t>(place[1])};
}

template <class Managed>
void* address_in(nb::handle capsule) {
  const auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), Managed::name));
  if (managed == nullptr) throw nb::python_error();
  const dlpack::Tensor& tensor = managed->tensor;
  return static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
}

nb::object from_dlpack(nb::object object, nb::handle stream) {
  if (PyCapsule_CheckExact(object.ptr())) return adopt_capsule(object);
  const bool has_dlpack = nb::hasattr(object, "__dlpack__");
  if (const DLDevice there = has_dlpack ? dl_device_of(object) : DLDevice{}; there.type != DeviceType::cpu) {
    const StreamPtr consumer = stream_of(stream, location_of(there).device);
    return adopt_capsule(capsule_from(object, nb::int_(number_of_stream(*consumer))));
  }
  if (!has_dlpack && nb::hasattr(object, "__cuda_array_interface__")) return adopt_cuda_array(std::move(object), stream);
  // numpy's arrays: a capsule hides its reference to the array from the garbage collector, and before 1.0 DLPack cannot
  // export read-only arrays.
  if (PyObject_CheckBuffer(object.ptr()) != 0 && (!has_dlpack || nb::hasattr(object, "__array_interface__")))
    return adopt_view(object);
  if (has_dlpack) return adopt_capsule(capsule_from(object, nb::none()));
  throw nb::type_error(
      "from_dlpack: this is not an array: it has neither __dlpack__ nor __cuda_array_interface__ nor the buffer protocol");
}

}  // namespace

nb::object buffer_over(nb::handle object, nb::handle stream) { return from_dlpack(nb::borrow(object), stream); }

bool foreign_address_of(nb::handle object, void*& address) {
  // PyTorch's __cuda_array_interface__ takes ten times as long as its data_ptr().
  if (nb::object is_cuda = nb::getattr(object, "is_cuda", nb::none()); is_cuda.is(Py_True)) {
    if (nb::object data_ptr = nb::getattr(object, "data_ptr", nb::none()); !data_ptr.is_none()) {
      address = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(data_ptr()));
      return true;
    }
  }
  const nb::object interface = nb::getattr(object, "__cuda_array_interface__", nb::none());
  if (!interface.is_none()) {
    address = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(nb::object(interface["data"])[0]));
    return true;
  }
  // cuda.core's buffers have only DLPack. The capsule can be dropped immediately, because the caller keeps the object alive.
  if (!nb::hasattr(object, "__dlpack_device__") || dl_device_of(object).type == DeviceType::cpu) return false;
  const nb::object capsule = capsule_from(object, nb::int_(-1));
  address = PyCapsule_IsValid(capsule.ptr(), dlpack::Versioned::name) != 0 ? address_in<dlpack::Versioned>(capsule)
                                                                           : address_in<dlpack::Unversioned>(capsule);
  return true;
}

void bind_foreign_arrays(nb::module_& module) {
  module.def(
      "from_dlpack", &from_dlpack, nb::arg("x"), nb::kw_only(), nb::arg("stream") = nb::none(),
      nb::sig("def from_dlpack(x: _Array, /, *, stream: _Stream = None) -> Buffer"),
      "A ``Buffer`` over the memory of ``x``, without a copy. It keeps a reference to ``x``, which must have\n"
      "``__dlpack__``, ``__cuda_array_interface__`` or the buffer protocol and be C-contiguous. ``stream`` (default: the\n"
      "current stream of its device) waits for the work that produces the elements. Ordinary host memory belongs to\n"
      "``Device(\"host\")``. Raises ``BufferError`` for what a ``Buffer`` cannot be.");
  bound<Device>().def(
      "register_host", [](Device& d, nb::object x) { return adopt_view(x, &d); }, nb::arg("x"),
      nb::sig("def register_host(self, x: _Array) -> Buffer"),
      "Pins the memory of ``x``, a numpy array or another object with the buffer protocol, in place. Returns a\n"
      "``Buffer`` over it, whose copies do not block. The memory stays pinned, and ``x`` alive, until the buffer is gone\n"
      "and the device's work is done. Raises ``BufferError`` for what a ``Buffer`` cannot be. Feature\n"
      "``host_registration``.");
}

}  // namespace weir::python
