// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>

#include "bindings/python/src/captures.hpp"
#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/objects.hpp"
#include "weir/stream.hpp"

// Implements values in memory that streams write and wait for.
namespace weir::python {
namespace {

template <class F>
auto with_value(nb::handle_t<BufferObject> object, F&& function) {
  const BufferObject& buffer = nb::cast<const BufferObject&>(object);
  if (buffer.size() == 0) throw nb::value_error("the buffer has no elements");
  if (buffer.dtype == DType{TypeCode::unsigned_integer, 32}) return function(static_cast<std::uint32_t*>(buffer.data()));
  if (buffer.dtype == DType{TypeCode::unsigned_integer, 64}) return function(static_cast<std::uint64_t*>(buffer.data()));
  throw nb::type_error("a value is the first element of a Buffer of uint32 or uint64");
}

/// An operation of a batch, and the buffer that it uses.
struct OperationObject {
  MemoryOperation operation;
  nb::object buffer{};
};

/// Converts an argument to the type of the buffer. Throws ValueError if it does not fit.
template <class T>
T value_of(std::uint64_t value) {
  if (value > std::numeric_limits<T>::max()) throw nb::value_error("value: it does not fit the buffer's type, uint32");
  return static_cast<T>(value);
}

OperationObject write_of(nb::handle_t<BufferObject> buffer, std::uint64_t value) {
  check_writable(nb::cast<const BufferObject&>(buffer));
  const auto write = [&]<class T>(T* address) { return MemoryOperation::write(address, value_of<T>(value)); };
  return {with_value(buffer, write), keeper_of(buffer)};
}

WaitCondition condition_of(const std::string& name) {
  return choice<WaitCondition>("condition", name,
                               {{"geq", WaitCondition::geq},
                                {"eq", WaitCondition::eq},
                                {"and", WaitCondition::bit_and},
                                {"nor", WaitCondition::bit_nor}});
}

RemoteWrites remote_writes_of(bool flush) { return flush ? RemoteWrites::flush : RemoteWrites::no_flush; }

OperationObject wait_of(nb::handle_t<BufferObject> buffer, std::uint64_t value, const std::string& condition, bool flush) {
  const WaitCondition wanted = condition_of(condition);
  const auto wait = [&]<class T>(const T* address) {
    return MemoryOperation::wait(address, value_of<T>(value), wanted, remote_writes_of(flush));
  };
  return {with_value(buffer, wait), keeper_of(buffer)};
}

void submit(StreamObject& self, const std::vector<OperationObject>& operations) {
  std::vector<MemoryOperation> batch;
  for (const OperationObject& one : operations) {
    batch.push_back(one.operation);
    if (one.buffer) use(*self.stream, {one.buffer});
  }
  without_gil([&] { self.stream->batch_memory_operations(batch); });
}

void write_value(StreamObject& self, nb::handle_t<BufferObject> buffer, std::uint64_t value) {
  check_writable(nb::cast<const BufferObject&>(buffer));
  use(*self.stream, {buffer});
  with_value(buffer, [&]<class T>(T* address) {
    without_gil([&, written = value_of<T>(value)] { self.stream->write_value(address, written); });
  });
}

void wait_value(StreamObject& self, nb::handle_t<BufferObject> buffer, std::uint64_t value, const std::string& condition,
                bool flush) {
  const WaitCondition wanted = condition_of(condition);
  use(*self.stream, {buffer});
  with_value(buffer, [&]<class T>(const T* address) {
    without_gil(
        [&, awaited = value_of<T>(value)] { self.stream->wait_value(address, awaited, wanted, remote_writes_of(flush)); });
  });
}

}  // namespace

void bind_values(nb::module_& module) {
  nb::class_<OperationObject>(module, "MemoryOperation",
                              nb::type_slots(traverse_slots<OperationObject, &OperationObject::buffer>()),
                              "One operation of ``Stream.batch_memory_operations``.")
      .def_static("write", &write_of, nb::arg("buffer"), nb::arg("value"), "Like ``Stream.write_value``.")
      .def_static("wait", &wait_of, nb::arg("buffer"), nb::arg("value"), nb::arg("condition") = "geq",
                  nb::arg("flush") = false, "Like ``Stream.wait_value``.")
      .def_static(
          "flush_remote_writes", [] { return OperationObject{MemoryOperation::flush_remote_writes()}; },
          "Makes earlier writes of other devices visible. Feature ``wait_value_flush``.");

  auto stream = bound<StreamObject>();
  stream.def(
      "write_value", &write_value, nb::arg("buffer"), nb::arg("value"),
      "Writes ``value`` to the first element of ``buffer``, a ``uint32`` or ``uint64``, once all earlier work is done.\n"
      "Features ``write_value_32``, ``write_value_64``.");
  stream.def(
      "wait_value", &wait_value,
      nb::sig("def wait_value(self, buffer: Buffer, value: int, "
              "condition: Literal[\"geq\", \"eq\", \"and\", \"nor\"] = \"geq\", flush: bool = False) -> None"),
      nb::arg("buffer"), nb::arg("value"), nb::arg("condition") = "geq", nb::arg("flush") = false,
      "Later work waits until the first element of ``buffer`` meets the condition with ``value``: ``\"geq\"`` (a cyclic\n"
      "comparison, so that counters may wrap), ``\"eq\"``, ``\"and\"`` (a common bit) or ``\"nor\"``. ``flush``: earlier\n"
      "writes of other devices are visible then. Features ``wait_value_32``, ``wait_value_64``, ``wait_value_geq``,\n"
      "``wait_value_nor``, ``wait_value_flush``.");
  stream.def(
      "batch_memory_operations", &submit, nb::arg("operations"),
      "Submits many writes and waits in one call (cuStreamBatchMemOp). They run in order, and no work of another thread\n"
      "comes in between. Feature ``batch_memory_operations``, and those of the operations.");
}

}  // namespace weir::python
