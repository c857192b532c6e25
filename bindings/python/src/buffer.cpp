// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <ranges>
#include <span>

#include "bindings/python/src/captures.hpp"
#include "bindings/python/src/dtype.hpp"
#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/host_memory.hpp"
#include "bindings/python/src/host_thread.hpp"
#include "bindings/python/src/objects.hpp"
#include "bindings/python/src/waiting.hpp"
#include "weir/backend.hpp"
#include "weir/memory.hpp"
#include "weir/stream.hpp"

// Implements Buffer: memory with a type and a shape.
namespace weir::python {

std::size_t BufferObject::size() const noexcept {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1},
                         [](std::size_t n, std::int64_t extent) { return n * static_cast<std::size_t>(extent); });
}

std::vector<std::int64_t> shape_of(nb::handle argument) {
  std::vector<std::int64_t> shape;
  if (PyIndex_Check(argument.ptr()) != 0) {  // an int or an integer of numpy
    shape.push_back(nb::cast<std::int64_t>(argument));
  } else {
    if (PyUnicode_Check(argument.ptr())) throw_wrong_type("shape", "an integer, or a sequence of them,", argument);
    for (const nb::handle extent : argument) {
      if (PyIndex_Check(extent.ptr()) == 0) throw_wrong_type("shape", "a sequence of integers", extent);
      shape.push_back(nb::cast<std::int64_t>(extent));
    }
  }
  for (const std::int64_t extent : shape)
    if (extent < 0) throw nb::value_error("shape: an extent is negative");
  return shape;
}

void check_writable(const BufferObject& buffer) {
  if (buffer.read_only) throw nb::value_error("the buffer is read-only");
}

std::size_t byte_count(const std::vector<std::int64_t>& shape, DType dtype) {
  std::size_t bytes = dtype.size();
  for (const std::int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(extent), &bytes))
      throw nb::value_error("shape: the size in bytes does not fit into 64 bits");
  return bytes;
}

BufferObject buffer_of(AllocationPtr memory, DType dtype, std::vector<std::int64_t> shape) {
  void* const data = memory->data();
  return {std::move(memory), data, dtype, std::move(shape)};
}

namespace {

constexpr const char* class_text =
    "Memory with an element type and a shape: C order, contiguous. Made by ``Device.allocate`` and ``Stream.allocate``,\n"
    "freed when the last reference is gone. For arithmetic, use numpy, CuPy or PyTorch.";

MemoryKind kind_of(const std::string& name) {
  return choice<MemoryKind>(
      "kind", name, {{"device", MemoryKind::device}, {"pinned", MemoryKind::pinned}, {"managed", MemoryKind::managed}});
}

BufferObject allocate(Device& device, nb::handle shape, nb::handle dtype, const std::string& kind) {
  const DType type = dtype_of(dtype);
  auto extents = shape_of(shape);
  const std::size_t bytes = byte_count(extents, type);
  const MemoryKind wanted = kind_of(kind);
  return buffer_of(without_gil([&] { return device.allocate_bytes(bytes, wanted); }), type, std::move(extents));
}

BufferObject allocate_async(StreamObject& stream, nb::handle shape, nb::handle dtype, const PoolObject* pool) {
  const DType type = dtype_of(dtype);
  auto extents = shape_of(shape);
  const std::size_t bytes = byte_count(extents, type);
  bool captured = false;
  AllocationPtr memory = without_gil([&] {
    captured = support::any_captures() && stream.stream->is_capturing();
    return stream.stream->allocate_bytes_async(bytes, pool != nullptr ? pool->ptr : nullptr);
  });
  BufferObject buffer = buffer_of(std::move(memory), type, std::move(extents));
  buffer.is_of_graph = captured;
  return buffer;
}

/// One side of a copy.
struct Side {
  std::optional<DType> dtype;  // empty if Weir has no such type
  std::span<const std::int64_t> shape;
  std::size_t bytes;
  std::string format{};  // in the notation of the buffer protocol

  explicit Side(const BufferObject& buffer) : dtype(buffer.dtype), shape(buffer.shape), bytes(buffer.size_bytes()) {}
  explicit Side(const HostMemory& memory)
      : dtype(memory.dtype()), shape(memory.shape()), bytes(memory.size_bytes()), format(memory.format()) {}

  bool is_bytes() const noexcept { return dtype == DType{TypeCode::unsigned_integer, 8}; }
  std::string name() const { return dtype ? name_of(*dtype) : "the format '" + format + "'"; }
  std::string extents() const {
    return nb::cast<std::string>(nb::str(nb::tuple(nb::cast(std::vector(shape.begin(), shape.end())))));
  }
};

/// Whether the shapes are equal if extents of 1 are left out. A matrix with one row has the shape of a vector.
bool is_same_shape(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  const auto long_ones = [](std::int64_t extent) { return extent != 1; };
  return std::ranges::equal(a | std::views::filter(long_ones), b | std::views::filter(long_ones));
}

/// Throws TypeError if the types or the byte orders differ, and `length_mismatch` if the shapes differ. If one side is
/// bytes, only the sizes in bytes must be equal.
void check_copy(const char* operation, const Side& to, const Side& from) {
  const auto mismatch = [&](const std::string& why) { throw Error(Errc::length_mismatch, operation, "", why); };
  if (to.is_bytes() || from.is_bytes()) {
    if (to.bytes != from.bytes) {
      mismatch("the destination has " + std::to_string(to.bytes) + " bytes, the source " + std::to_string(from.bytes));
    }
    return;
  }
  if (!to.dtype || to.dtype != from.dtype) {
    throw nb::type_error((std::string(operation) + ": the destination has elements of " + to.name() + ", the source of " +
                          from.name() + "; convert the source (numpy: astype), or copy bytes: pass Buffer.view(weir.uint8)")
                             .c_str());
  }
  if (!is_same_shape(to.shape, from.shape)) {
    mismatch("the destination has the shape " + to.extents() + ", the source " + from.extents() +
             "; pass a view of the same shape (numpy: reshape; Buffer.view)");
  }
}

/// Copies to or from host memory that Weir does not own. Blocks until the copy is done, because its owner may free that
/// memory afterwards. Keeps `memory`, the memory on the other side, because another thread may close its buffer in the
/// meantime.
void copy_and_wait(Stream& stream, void* to, const void* from, std::size_t bytes, AllocationPtr memory) {
  check_may_wait("copy");
  // First wait for earlier work in a way that Ctrl-C interrupts. The copy itself cannot be interrupted.
  if (waits_with_signals() && !without_gil([&] { return stream.is_capturing(); }))
    wait_with_signals(stream, Seconds(std::numeric_limits<double>::infinity()));
  without_gil([&] {
    detail::read_bytes(stream, to, from, bytes);
    memory.reset();
  });
  raise_thrown(stream);
}

/// The other side of a copy.
class Other {
 public:
  Other(nb::handle object, HostMemory::Access access, const StreamPtr& stream) {
    if ((buffer_ = try_held_by<const BufferObject>(object)) != nullptr) {
      object_ = nb::borrow(object);
    } else if (PyObject_CheckBuffer(object.ptr()) == 0 &&
               (nb::hasattr(object, "__dlpack__") || nb::hasattr(object, "__cuda_array_interface__"))) {
      object_ = buffer_over(object, nb::cast(StreamObject{stream}));
      buffer_ = nb::cast<const BufferObject*>(object_);
      // Memory of the host backend is pageable memory, which its owner may free after the call.
      is_pageable_ = buffer_->device().backend().name() == "host";
    } else {
      memory_.emplace(object, access);
    }
    if (buffer_ != nullptr && access == HostMemory::Access::write) check_writable(*buffer_);
  }

  Side side() const { return memory_ ? Side(*memory_) : Side(*buffer_); }
  void* data() const noexcept { return memory_ ? memory_->data() : buffer_->data(); }
  /// Whether the call must wait for the end of the copy.
  bool must_wait() const noexcept { return memory_ || is_pageable_; }
  nb::handle object() const noexcept { return object_; }

 private:
  const BufferObject* buffer_ = nullptr;
  nb::object object_{};  // the buffer
  std::optional<HostMemory> memory_{};
  bool is_pageable_ = false;
};

void copy(nb::handle self, const Other& other, const StreamPtr& on, void* to, const void* from, std::size_t bytes) {
  if (other.must_wait()) return copy_and_wait(*on, to, from, bytes, nb::cast<const BufferObject&>(self).memory());
  use(*on, {self, other.object()});
  without_gil([&] { on->copy_bytes(to, from, bytes); });
}

nb::object copy_from(nb::handle_t<BufferObject> self, nb::handle source, nb::handle stream) {
  const BufferObject& to = nb::cast<const BufferObject&>(self);
  check_writable(to);
  const StreamPtr on = stream_of(stream, to.device());
  const Other from(source, HostMemory::Access::read, on);
  check_copy("Buffer.copy_from", Side(to), from.side());
  copy(self, from, on, to.data(), from.data(), to.size_bytes());
  return nb::borrow(self);
}

nb::object copy_to(nb::handle_t<BufferObject> self, nb::object destination, nb::handle stream) {
  const BufferObject& from = nb::cast<const BufferObject&>(self);
  const StreamPtr on = stream_of(stream, from.device());
  const Other to(destination, HostMemory::Access::write, on);
  check_copy("Buffer.copy_to", to.side(), Side(from));
  copy(self, to, on, to.data(), from.data(), from.size_bytes());
  return destination;
}

void copy_batch(StreamObject& self, const nb::iterable& pairs, const std::string& source_access) {
  const auto access =
      choice<SourceAccess>("source_access", source_access,
                           {{"in_stream_order", SourceAccess::in_stream_order}, {"any_time", SourceAccess::any_time}});
  std::vector<BatchCopy> copies;
  std::vector<nb::object> used;  // keeps objects alive that an iterator created
  for (const nb::handle pair : pairs) {
    const nb::object dst = pair[0], src = pair[1];
    const auto *const to = try_held_by<const BufferObject>(dst), *const from = try_held_by<const BufferObject>(src);
    if (to == nullptr || from == nullptr)
      throw nb::type_error("copy_batch: pairs of buffers, (dst, src)");
    check_writable(*to);
    check_copy("Stream.copy_batch", *to, *from);
    copies.push_back({to->data(), from->data(), to->size_bytes()});
    use(*self.stream, {dst, src});
    used.insert(used.end(), {dst, src});
  }
  without_gil([&] { self.stream->copy_batch(copies, access); });
}

void prefetch(const BufferObject& self, const std::string& location, nb::handle stream) {
  const auto target =
      choice<PrefetchTarget>("location", location, {{"device", PrefetchTarget::device}, {"host", PrefetchTarget::host}});
  const StreamPtr on = stream_of(stream, self.device());
  const auto* const begin = static_cast<const std::byte*>(self.memory()->data());
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(self.data()) - begin);
  const AllocationPtr memory = self.memory();  // an owner of the memory must be added with the GIL held: see `traverse`
  without_gil([&] { on->prefetch(memory, offset, self.size_bytes(), target); });
}

nb::object get(nb::handle_t<BufferObject> self, nb::handle stream) {
  const BufferObject& from = nb::cast<const BufferObject&>(self);
  const nb::object array =
      nb::module_::import_("numpy").attr("empty")(nb::tuple(nb::cast(from.shape)), class_of(from.dtype).attr("dtype"));
  return copy_to(self, array, stream);
}

void fill(nb::handle_t<BufferObject> filled, nb::handle value, nb::handle stream) {
  const BufferObject& self = nb::cast<const BufferObject&>(filled);
  check_writable(self);
  const StreamPtr on = stream_of(stream, self.device());
  alignas(16) std::array<std::byte, 16> element{};
  store_element(element.data(), value, self.dtype);
  use(*on, {filled});
  without_gil([&] {
    if (self.size() != 0)
      detail::fill_pattern(*on, self.data(), element.data(), self.dtype.size(), std::min<std::size_t>(self.dtype.size(), 8),
                           self.size());
  });
}

BufferObject view(const BufferObject& self, nb::handle dtype, nb::handle shape) {
  const DType type = dtype.is_none() ? self.dtype : dtype_of(dtype);
  const std::size_t bytes = self.size_bytes();
  if (!shape.is_none()) {
    auto extents = shape_of(shape);
    if (byte_count(extents, type) > bytes) throw nb::value_error("view: the memory is smaller than that");
    return self.part(0, type, std::move(extents));
  }
  if (type.size() == self.dtype.size()) return self.part(0, type, self.shape);
  auto extents = self.shape;
  const std::size_t row = extents.empty() ? 1 : static_cast<std::size_t>(extents.back()) * self.dtype.size();
  if (extents.empty() || row % type.size() != 0) throw nb::value_error("view: a row holds no whole number of such elements");
  extents.back() = static_cast<std::int64_t>(row / type.size());
  return self.part(0, type, std::move(extents));
}

BufferObject slice(const BufferObject& self, nb::handle index) {
  if (!nb::isinstance<nb::slice>(index))
    throw nb::type_error("a buffer has slices of rows, x[10:20], but no elements; x.get() and numpy.asarray(x) have them");
  const nb::slice range = nb::borrow<nb::slice>(index);
  if (self.shape.empty()) throw nb::index_error("a buffer without dimensions has no slices");
  const auto [start, stop, step, length] = range.compute(static_cast<std::size_t>(self.shape[0]));
  (void)stop;
  if (step != 1) throw nb::value_error("a buffer is contiguous: the step of a slice must be 1");
  auto shape = self.shape;
  const std::size_t row = self.shape[0] != 0 ? self.size_bytes() / static_cast<std::size_t>(self.shape[0]) : 0;
  shape[0] = static_cast<std::int64_t>(length);
  return self.part(static_cast<std::size_t>(start) * row, self.dtype, std::move(shape));
}

}  // namespace

void check_copy(const char* operation, const BufferObject& to, const BufferObject& from) {
  check_copy(operation, Side(to), Side(from));
}

BufferObject BufferObject::part(std::size_t offset, DType type, std::vector<std::int64_t> extents) const {
  void* const first = data() != nullptr ? static_cast<std::byte*>(data_) + offset : nullptr;
  BufferObject part(memory_, first, type, std::move(extents), read_only);
  part.is_of_graph = is_of_graph;
  part.owner = owner;
  return part;
}

void BufferObject::close() noexcept {
  owner = nullptr;
  data_ = nullptr;
  AllocationPtr memory = std::move(memory_);
  release(memory);
}

void BufferObject::throw_closed() { throw nb::value_error("the buffer is closed"); }

nb::object keeper_of(nb::handle object) {
  if (!object.type().is(type_of<BufferObject>())) return nb::borrow(object);
  const BufferObject& buffer = held_by<BufferObject>(object);
  return nb::cast(buffer.part(0, buffer.dtype, buffer.shape));
}

void bind_buffer(nb::module_& module) {
  nb::class_<BufferObject>(module, "Buffer", nb::is_weak_referenceable(), nb::type_slots(buffer_slots()), class_text)
      .def_prop_ro("device", &BufferObject::device, nb::rv_policy::reference, "The device that the memory was allocated on.")
      .def_prop_ro(
          "handle", [](const BufferObject& b) { return reinterpret_cast<std::uintptr_t>(b.data()); },
          "The address of the first element; 0 for memory of 0 bytes.")
      .def_prop_ro(
          "dtype", [](const BufferObject& b) { return class_of(b.dtype); }, nb::sig("def dtype(self) -> weir.dtypes.dtype"),
          "The element type, such as ``weir.float32``.")
      .def_prop_ro(
          "shape", [](const BufferObject& b) { return nb::tuple(nb::cast(b.shape)); },
          nb::sig("def shape(self) -> tuple[int, ...]"), "The extents, slowest-varying first.")
      .def_prop_ro("size", &BufferObject::size, "The number of elements.")
      .def_prop_ro("nbytes", &BufferObject::size_bytes, "The size in bytes.")
      .def_prop_ro(
          "ndim", [](const BufferObject& b) { return b.shape.size(); }, "The number of dimensions.")
      .def_prop_ro(
          "itemsize", [](const BufferObject& b) { return b.dtype.size(); }, "The size of an element in bytes.")
      .def_prop_ro(
          "kind", [](const BufferObject& b) { return std::string(to_string(b.memory()->kind())); },
          "``\"device\"``, ``\"pinned\"`` or ``\"managed\"``.")
      .def_prop_rw(
          "name", [](const BufferObject& b) { return b.memory()->name(); },
          [](BufferObject& b, std::string_view name) { b.memory()->set_name(name); },
          "The name of the memory in tools; views share it. Empty if not set.")
      .def_prop_ro(
          "is_host_accessible", [](const BufferObject& b) { return b.memory()->host_accessible(); },
          "Whether the host can access the memory: true for pinned and managed memory.")
      .def_prop_ro("__cuda_array_interface__", &cuda_array_interface,
                   nb::sig("def __cuda_array_interface__(self) -> dict[str, Any]"),
                   "Version 3; ``stream`` is the current stream. CUDA only.")
      .def("copy_from", &copy_from, nb::sig("def copy_from(self, src: _Array, *, stream: _Stream = None) -> Buffer"),
           nb::arg("src"), nb::kw_only(), nb::arg("stream") = nb::none(),
           "Copies the elements of ``src`` in stream order and returns this buffer. ``src``: a ``Buffer``, an object with\n"
           "the buffer protocol, or an array with ``__dlpack__`` or ``__cuda_array_interface__``, of the same type and\n"
           "shape; extents of 1 do not count. If one side has the type ``uint8``, only the number of bytes must be the\n"
           "same. A copy from memory of the host that is no ``Buffer`` blocks until it is done, any other does not. Raises\n"
           "``TypeError`` for another type or byte order, and ``LengthMismatchError`` for another shape.")
      .def("copy_to", &copy_to, nb::sig("def copy_to(self, dst: _Target, *, stream: _Stream = None) -> _Target"),
           nb::arg("dst"), nb::kw_only(), nb::arg("stream") = nb::none(),
           "Copies the elements to ``dst`` and returns ``dst``; otherwise like ``copy_from``.")
      .def("get", &get, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::sig("def get(self, *, stream: _Stream = None) -> numpy.ndarray[Any, Any]"),
           "Copies the elements to a new numpy array in the order of ``stream`` (default: the current stream). Blocks\n"
           "until the copy is done. Work on another stream may still be writing: pass the stream that it is on.")
      .def("fill", &fill, nb::sig("def fill(self, value: complex, *, stream: _Stream = None) -> None"), nb::arg("value"),
           nb::kw_only(), nb::arg("stream") = nb::none(), "Sets every element to ``value`` in stream order.")
      .def("prefetch", &prefetch, nb::arg("location") = "device", nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::sig("def prefetch(self, location: Literal[\"device\", \"host\"] = \"device\", *, "
                   "stream: _Stream = None) -> None"),
           "Moves managed memory to the ``\"device\"`` of ``stream`` or to the ``\"host\"`` before it is used. Feature\n"
           "``managed_prefetch``.")
      .def("view", &view, nb::sig("def view(self, dtype: _DType | None = None, shape: _Shape | None = None) -> Buffer"),
           nb::arg("dtype") = nb::none(), nb::arg("shape") = nb::none(),
           "The same memory with another element type, which changes the last extent, or another shape, which may be\n"
           "smaller.")
      .def("__getitem__", &slice, nb::sig("def __getitem__(self, range: slice) -> Buffer"), nb::arg("range"),
           "A view of some rows: ``buffer[10:20]``.")
      .def("close", &BufferObject::close, nb::lock_self(),
           "Gives up the memory, as ``del`` of the last reference does. It is freed now, unless views, arrays over it or\n"
           "graphs still use it. Uses of this object then raise ``ValueError``. No other thread may use it meanwhile.")
      .def_prop_ro("is_closed", &BufferObject::is_closed)
      .def(
          "__enter__", [](nb::object self) { return self; }, nb::sig("def __enter__(self) -> Buffer"))
      .def(
          "__exit__", [](BufferObject& b, nb::args) { b.close(); }, nb::lock_self(),
          nb::sig("def __exit__(self, *args: object) -> None"), "Closes the buffer.")
      .def("__repr__",
           [](const BufferObject& b) -> std::string {
             if (b.is_closed()) return "<Buffer, closed>";
             return "<Buffer of " + std::string(name_of(b.dtype)) + " " +
                    nb::cast<std::string>(nb::str(nb::tuple(nb::cast(b.shape)))) + ", " +
                    std::string(to_string(b.memory()->kind())) + " memory of " + b.device().describe() + ">";
           })
      .def("__len__", [](const BufferObject& b) {
        if (b.shape.empty()) throw nb::type_error("a buffer without dimensions has no length");
        return b.shape[0];
      });

  bound<Device>().def("allocate", &allocate,
                      nb::sig("def allocate(self, shape: _Shape, dtype: _DType = \"uint8\", "
                              "kind: Literal[\"device\", \"pinned\", \"managed\"] = \"device\") -> Buffer"),
                      nb::arg("shape"), nb::arg("dtype") = "uint8", nb::arg("kind") = "device",
                      "Allocates uninitialized memory for ``shape`` elements of ``dtype``; ``allocate(n)`` allocates\n"
                      "``n`` bytes. ``kind``: ``\"device\"``, ``\"pinned\"`` or ``\"managed\"``. Raises\n"
                      "``OutOfMemoryError``.");
  bound<StreamObject>().def(
      "allocate", &allocate_async,
      nb::sig("def allocate(self, shape: _Shape, dtype: _DType = \"uint8\", pool: MemoryPool | None = None) -> Buffer"),
      nb::arg("shape"), nb::arg("dtype") = "uint8", nb::arg("pool") = nb::none(),
      "Allocates memory for work that is enqueued on this stream after this call. When the last reference is gone, it is\n"
      "freed in stream order, behind all work enqueued by then. ``pool``: a ``MemoryPool`` of the device; None for its\n"
      "default pool. Feature ``async_allocation``.");
  bound<StreamObject>().def(
      "copy_batch", &copy_batch, nb::arg("copies"), nb::arg("source_access") = "in_stream_order",
      nb::sig("def copy_batch(self, copies: Iterable[tuple[Buffer, Buffer]], "
              "source_access: Literal[\"in_stream_order\", \"any_time\"] = \"in_stream_order\") -> None"),
      "For each pair ``(dst, src)``, copies the second buffer to the first; all in one call (cuMemcpyBatchAsync). The\n"
      "copies run in any order, possibly concurrently; later work waits for all of them. ``source_access``:\n"
      "``\"any_time\"`` if no earlier work on the stream writes the sources. Raises ``LengthMismatchError``. Feature\n"
      "``batch_copies``.");
}

}  // namespace weir::python
