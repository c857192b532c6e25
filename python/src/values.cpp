// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include "python/src/gil.hpp"
#include "python/src/objects.hpp"
#include "weir/stream.hpp"

// Values in memory that streams write and wait for.
namespace weir::python {
namespace {

template <class F>
void with_value(const BufferObject& buffer, F&& function) {
  if (buffer.size() == 0) throw nb::value_error("the buffer has no element");
  if (buffer.dtype == DType{TypeCode::unsigned_integer, 32}) return function(static_cast<std::uint32_t*>(buffer.data));
  if (buffer.dtype == DType{TypeCode::unsigned_integer, 64}) return function(static_cast<std::uint64_t*>(buffer.data));
  throw nb::type_error("a value is the first element of a Buffer of uint32 or uint64");
}

void write_value(StreamObject& self, const BufferObject& buffer, std::uint64_t value) {
  check_writable(buffer);
  with_value(buffer,
             [&]<class T>(T* address) { without_gil([&] { self.stream->write_value(address, static_cast<T>(value)); }); });
}

WaitCondition condition_of(const std::string& name) {
  if (name == "geq") return WaitCondition::geq;
  if (name == "eq") return WaitCondition::eq;
  if (name == "and") return WaitCondition::bit_and;
  if (name == "nor") return WaitCondition::bit_nor;
  throw nb::value_error(("condition: '" + name + "'; it is 'geq', 'eq', 'and' or 'nor'").c_str());
}

void wait_value(StreamObject& self, const BufferObject& buffer, std::uint64_t value, const std::string& condition) {
  const WaitCondition wanted = condition_of(condition);
  with_value(buffer, [&]<class T>(T* address) {
    without_gil([&] { self.stream->wait_value(static_cast<const T*>(address), static_cast<T>(value), wanted); });
  });
}

}  // namespace

void bind_values(nb::module_& module) {
  const nb::object stream = module.attr("Stream");
  nb::cpp_function_def(
      &write_value, nb::scope(stream), nb::name("write_value"), nb::is_method(), nb::arg("buffer"), nb::arg("value"),
      "Writes the first element of ``buffer``, of ``uint32`` or ``uint64``, once all earlier work is done. Features\n"
      "``write_value_32``, ``write_value_64``.");
  nb::cpp_function_def(
      &wait_value, nb::scope(stream), nb::name("wait_value"), nb::is_method(), nb::arg("buffer"), nb::arg("value"),
      nb::arg("condition") = "geq",
      "Later work waits until the first element of ``buffer`` meets the condition: ``\"geq\"`` (a cyclic comparison, so\n"
      "that counters may wrap), ``\"eq\"``, ``\"and\"`` (a common bit) or ``\"nor\"``. Features ``wait_value_32``,\n"
      "``wait_value_64``, ``wait_value_geq``, ``wait_value_nor``.");
}

}  // namespace weir::python
