// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bindings/python/src/common.hpp"
#include "bindings/python/src/dtype.hpp"
#include "bindings/python/src/gil.hpp"
#include "weir/device.hpp"

/// The C++ contents of the Python objects. Device is bound to `weir::Device` itself, which exists until the process ends.
namespace weir::python {

class HostFunctionGate;

struct StreamObject {
  StreamPtr stream;
  std::shared_ptr<HostFunctionGate> gate;  // shared by all Python objects over this native stream

  explicit StreamObject(StreamPtr made);
  StreamObject(StreamObject&&) = default;
  StreamObject& operator=(StreamObject&&) = delete;
  ~StreamObject();
};

using EventObject = Owned<Event>;
using PoolObject = Owned<MemoryPool>;

/// Memory with an element type and a shape: contiguous, in C order.
class BufferObject {
 public:
  DType dtype{};
  std::vector<std::int64_t> shape{};
  bool read_only = false;
  bool is_of_graph = false;  // allocated in a capture; the graph also frees it, so it cannot keep it alive
  /// The object that owns the memory, if the allocation holds a reference to it. For the garbage collector.
  PyObject* owner = nullptr;

  /// `first`: an address within `memory`.
  BufferObject(AllocationPtr memory, void* first, DType type, std::vector<std::int64_t> extents, bool is_const = false)
      : dtype(type), shape(std::move(extents)), read_only(is_const), memory_(std::move(memory)), data_(first) {}
  BufferObject(BufferObject&&) = default;
  BufferObject& operator=(BufferObject&&) = delete;
  ~BufferObject() { close(); }

  /// Returns the number of elements.
  std::size_t size() const noexcept;
  std::size_t size_bytes() const noexcept { return size() * dtype.size(); }
  bool is_closed() const noexcept { return !memory_; }
  /// These throw ValueError if the buffer is closed.
  const AllocationPtr& memory() const {
    if (!memory_) [[unlikely]]
      throw_closed();
    return memory_;
  }
  void* data() const { return memory(), data_; }
  Device& device() const { return memory()->device(); }
  /// Returns a view of the memory that begins at byte `offset`.
  BufferObject part(std::size_t offset, DType type, std::vector<std::int64_t> extents) const;
  /// Drops this object's reference to the memory.
  void close() noexcept;
  /// Whether no other object owns the memory, so that the reference to `owner` depends on this object.
  bool is_only_owner() const noexcept { return memory_ && memory_->use_count() == 1; }

 private:
  [[noreturn]] static void throw_closed();

  AllocationPtr memory_;
  void* data_ = nullptr;
};
/// For a Buffer, returns an object that keeps its memory alive even if the buffer is closed. Returns other objects
/// themselves.
nb::object keeper_of(nb::handle object);

/// Returns the Python class for T. Not initialized as a static variable: the garbage collector could not stop threads that
/// wait for its initialization, and the initializing thread may wait for the garbage collector.
template <class T>
nb::handle type_of() noexcept {
  static std::atomic<PyObject*> known{nullptr};
  PyObject* type = known.load(std::memory_order_relaxed);
  if (type == nullptr) known.store(type = nb::type<T>().ptr(), std::memory_order_relaxed);  // exists as long as the module
  return type;
}

/// Returns the T in a Python object whose class is exactly the one for T. Throws TypeError if the object was only made by
/// `__new__`, which does not construct a T.
template <class T>
T& held_by(nb::handle object) {
  if (!nb::inst_ready(object)) [[unlikely]]
    throw nb::type_error("the object is not initialized: only __new__ was called");
  return *nb::inst_ptr<T>(object);
}

/// Returns the T in a Python object; null if the object is of another class.
template <class T>
T* try_held_by(nb::handle object) {
  T* held = nullptr;
  return nb::try_cast(object, held, false) ? held : nullptr;
}

/// Returns the garbage collector's slots for a class whose objects hold a Python object in `member`.
template <class T, auto member>
PyType_Slot* traverse_slots() noexcept {
  static constexpr traverseproc traverse = [](PyObject* self, visitproc visit, void* arg) -> int {
    Py_VISIT(Py_TYPE(self));
    if (nb::inst_ready(self)) Py_VISIT((nb::inst_ptr<T>(nb::handle(self))->*member).ptr());
    return 0;
  };
  static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {0, nullptr}};
  return slots;
}

/// Throws TypeError if the element types differ, and `length_mismatch` if the shapes differ. If one side is bytes (uint8),
/// only the sizes in bytes must be equal.
void check_copy(const char* operation, const BufferObject& to, const BufferObject& from);
/// Throws ValueError if the buffer is read-only.
void check_writable(const BufferObject& buffer);
/// Implements Buffer's __cuda_array_interface__.
nb::object cuda_array_interface(const BufferObject& buffer);
/// Returns Buffer's slots for the buffer protocol and the garbage collector.
PyType_Slot* buffer_slots() noexcept;

/// Returns the stream for an argument: a Stream, another library's stream, or None for the current stream of `device`. The
/// stream must be on `device`.
StreamPtr stream_of(nb::handle argument, Device& device);
/// Returns the device's current stream in this context, or else its default stream.
StreamPtr current_stream_of(Device& device);
/// Wraps another library's stream, found by `__cuda_stream__` or a similar attribute. Throws TypeError if `object` is no
/// stream.
StreamPtr foreign_stream_of(nb::handle object, Device& device);
/// Returns the stream for a number in DLPack or __cuda_array_interface__: a handle, or CUDA's or ROCm's number for a default
/// stream. The stream is borrowed.
StreamPtr stream_of_number(Device& device, std::uintptr_t number);
/// Returns the number of a stream: the inverse of `stream_of_number`.
std::uintptr_t number_of_stream(Stream& stream);
/// Returns the device that another library's object has in its attributes. `backend`: its backend, or null for the default
/// one. If the object has no device: the first device of `backend`, or the default device.
Device& device_of_foreign(nb::handle object, const char* backend);

/// Returns a buffer over the memory of another library's array, like `weir.from_dlpack(object, stream=stream)`.
nb::object buffer_over(nb::handle object, nb::handle stream);
/// Returns the device for an argument: a Device, an ordinal in the default backend, a name such as "cuda:1", or None for the
/// default device.
Device& device_of(nb::handle argument);
/// Converts options of a stream. `priority`: "low", "normal", "high", a number, or None.
StreamOptions stream_options(bool nonblocking, nb::handle priority);
/// Converts a shape: an integer or a sequence of integers. Throws ValueError if one is negative.
std::vector<std::int64_t> shape_of(nb::handle argument);
/// Returns the size in bytes. Throws ValueError if it does not fit 64 bits.
std::size_t byte_count(const std::vector<std::int64_t>& shape, DType dtype);
/// Returns a buffer over all of the memory.
BufferObject buffer_of(AllocationPtr memory, DType dtype, std::vector<std::int64_t> shape);

}  // namespace weir::python
