// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "python/src/common.hpp"
#include "python/src/dtype.hpp"
#include "weir/device.hpp"

/// What Python's objects hold. Devices are themselves: `weir::Device`, which lives until the process ends.
namespace weir::python {

class Gate;

struct StreamObject {
  StreamPtr stream;
  std::shared_ptr<Gate> gate{};  // once a function in Python was enqueued through this object

  explicit StreamObject(StreamPtr made) noexcept : stream(std::move(made)) {}
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

/// Elements in memory, in C's order, without gaps.
struct BufferObject {
  AllocationPtr memory;
  void* data = nullptr;  // within `memory`
  DType dtype{};
  std::vector<std::int64_t> shape{};
  bool read_only = false;
  bool is_of_graph = false;  // allocated in a capture: its end becomes part of the graph, so that the graph cannot keep it

  BufferObject(AllocationPtr owner, void* first, DType type, std::vector<std::int64_t> extents, bool is_const = false)
      : memory(std::move(owner)), data(first), dtype(type), shape(std::move(extents)), read_only(is_const) {}
  BufferObject(BufferObject&&) = default;
  BufferObject& operator=(BufferObject&&) = delete;
  ~BufferObject();

  /// How many elements there are.
  std::size_t size() const noexcept;
  std::size_t size_bytes() const noexcept { return size() * dtype.size(); }
  Device& device() const noexcept { return memory->device(); }
};

struct PoolObject {
  MemoryPoolPtr pool;

  explicit PoolObject(MemoryPoolPtr made) noexcept : pool(std::move(made)) {}
  PoolObject(PoolObject&&) = default;
  PoolObject& operator=(PoolObject&&) = delete;
  ~PoolObject();
};

/// The class that is bound to T. Not in a static object of the caller's: threads that wait for its initializer would keep
/// Python's collector from stopping them, which the one that initializes may wait for.
template <class T>
nb::handle type_of() noexcept {
  static std::atomic<PyObject*> known{nullptr};
  PyObject* type = known.load(std::memory_order_relaxed);
  if (type == nullptr) known.store(type = nb::type<T>().ptr(), std::memory_order_relaxed);  // lives as long as the module
  return type;
}

/// What an instance of exactly the class that is bound to T holds. Throws TypeError if only `__new__` made it, which holds
/// nothing.
template <class T>
T& held_by(nb::handle object) {
  if (!nb::inst_ready(object)) [[unlikely]]
    throw nb::type_error("an object is used that only __new__ has made");
  return *nb::inst_ptr<T>(object);
}

/// Throws ValueError for a buffer that is read-only.
void check_writable(const BufferObject& buffer);
/// What Buffer shows to libraries that know no DLPack.
nb::object cuda_array_interface(const BufferObject& buffer);
/// How Buffer has the buffer protocol.
PyType_Slot* buffer_slots() noexcept;

/// The stream that an argument names, which must be of `device`: a Stream, another library's stream, or None for the current
/// stream of `device`.
StreamPtr stream_of(nb::handle argument, Device& device);
/// The current stream of the running context; the device's default stream if there is none.
StreamPtr current_stream_of(Device& device);
/// Another library's stream, by its `__cuda_stream__` or its like. Throws TypeError if `object` is none.
StreamPtr foreign_stream_of(nb::handle object, Device& device);
/// The device that an argument names: a Device, an ordinal of the default backend, "cuda:1", or None for the default one.
Device& device_of(nb::handle argument);
/// Options of a stream. `priority`: "low", "normal", "high", a number, or None.
StreamOptions stream_options(bool nonblocking, nb::handle priority);
/// A shape: an integer, or a sequence of them. Throws ValueError for a negative one.
std::vector<std::int64_t> shape_of(nb::handle argument);
/// Throws ValueError if there are more than 2^64.
std::size_t byte_count(const std::vector<std::int64_t>& shape, DType dtype);
/// All of the memory.
BufferObject buffer_of(AllocationPtr memory, DType dtype, std::vector<std::int64_t> shape);

}  // namespace weir::python
