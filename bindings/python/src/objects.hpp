// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bindings/python/src/common.hpp"
#include "bindings/python/src/dtype.hpp"
#include "weir/device.hpp"

/// The C++ contents of the Python objects. A Device is `weir::Device` itself, which lives until the process ends.
namespace weir::python {

class HostFunctionGate;

struct StreamObject {
  StreamPtr stream;
  std::shared_ptr<HostFunctionGate> gate;  // shared by all objects over this native stream

  explicit StreamObject(StreamPtr made);
  StreamObject(StreamObject&&) = default;
  StreamObject& operator=(StreamObject&&) = delete;
  ~StreamObject();
};

struct EventObject {
  EventPtr event;

  explicit EventObject(EventPtr made) noexcept : event(std::move(made)) {}
  EventObject(EventObject&&) = default;
  EventObject& operator=(EventObject&&) = delete;
  ~EventObject();
};

/// Elements in memory: C order, contiguous.
class BufferObject {
 public:
  DType dtype{};
  std::vector<std::int64_t> shape{};
  bool read_only = false;
  bool is_of_graph = false;  // allocated in a capture; its free is captured as well, so the graph cannot keep it
  /// The object whose memory this is, if the allocation holds a reference to it. For the garbage collector.
  PyObject* owner = nullptr;

  /// `first` is within `memory`.
  BufferObject(AllocationPtr memory, void* first, DType type, std::vector<std::int64_t> extents, bool is_const = false)
      : dtype(type), shape(std::move(extents)), read_only(is_const), memory_(std::move(memory)), data_(first) {}
  BufferObject(BufferObject&&) = default;
  BufferObject& operator=(BufferObject&&) = delete;
  ~BufferObject() { close(); }

  /// The number of elements.
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
  /// A view of the memory from byte `offset` on.
  BufferObject part(std::size_t offset, DType type, std::vector<std::int64_t> extents) const;
  /// Gives up this object's share of the memory.
  void close() noexcept;
  /// Whether nothing else holds the memory, and so the reference to `owner`.
  bool is_only_owner() const noexcept { return memory_ && memory_->use_count() == 1; }

 private:
  [[noreturn]] static void throw_closed();

  AllocationPtr memory_;
  void* data_ = nullptr;
};
/// An object that keeps the memory of a Buffer although that is closed; other objects keep themselves.
nb::object keeper_of(nb::handle object);

struct PoolObject {
  MemoryPoolPtr pool;

  explicit PoolObject(MemoryPoolPtr made) noexcept : pool(std::move(made)) {}
  PoolObject(PoolObject&&) = default;
  PoolObject& operator=(PoolObject&&) = delete;
  ~PoolObject();
};

/// The class that is bound to T. No static initializer: the garbage collector could not stop threads that wait in one, and
/// the initializing thread may wait for the collector.
template <class T>
nb::handle type_of() noexcept {
  static std::atomic<PyObject*> known{nullptr};
  PyObject* type = known.load(std::memory_order_relaxed);
  if (type == nullptr) known.store(type = nb::type<T>().ptr(), std::memory_order_relaxed);  // lives as long as the module
  return type;
}

/// Returns the T in an instance of exactly the class that is bound to T. Throws TypeError if only `__new__` was called,
/// which does not construct a T.
template <class T>
T& held_by(nb::handle object) {
  if (!nb::inst_ready(object)) [[unlikely]]
    throw nb::type_error("the object is not initialized: only __new__ was called");
  return *nb::inst_ptr<T>(object);
}

/// The slots of a class whose instances hold a Python object in `member`, for the garbage collector.
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

/// Throws TypeError if the elements differ in type, and `length_mismatch` if the shapes differ, unless one side is bytes
/// (uint8): then only their number counts.
void check_copy(const char* operation, const BufferObject& to, const BufferObject& from);
/// Throws ValueError for a buffer that is read-only.
void check_writable(const BufferObject& buffer);
/// Buffer's __cuda_array_interface__.
nb::object cuda_array_interface(const BufferObject& buffer);
/// Buffer's slots for the buffer protocol.
PyType_Slot* buffer_slots() noexcept;

/// The stream that an argument names, which must be of `device`: a Stream, another library's stream, or None for the current
/// stream of `device`.
StreamPtr stream_of(nb::handle argument, Device& device);
/// The current stream of the running context, or else the device's default stream.
StreamPtr current_stream_of(Device& device);
/// Another library's stream, by `__cuda_stream__` or a similar attribute. Throws TypeError if `object` is not a stream.
StreamPtr foreign_stream_of(nb::handle object, Device& device);
/// The device that an argument names: a Device, an ordinal of the default backend, "cuda:1", or None for the default one.
Device& device_of(nb::handle argument);
/// Options of a stream. `priority`: "low", "normal", "high", a number, or None.
StreamOptions stream_options(bool nonblocking, nb::handle priority);
/// A shape: an integer, or a sequence of them. Throws ValueError for a negative one.
std::vector<std::int64_t> shape_of(nb::handle argument);
/// Throws ValueError if the size does not fit 64 bits.
std::size_t byte_count(const std::vector<std::int64_t>& shape, DType dtype);
/// A buffer over all of the memory.
BufferObject buffer_of(AllocationPtr memory, DType dtype, std::vector<std::int64_t> shape);

}  // namespace weir::python
