// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/src/dtype.hpp"

#include <array>
#include <string>
#include <utility>

namespace weir::python {
namespace {

struct Row {
  DType type;
  const char *name, *format;
};
constexpr std::array rows{
    Row{{TypeCode::boolean, 8}, "bool_", "?"},
    Row{{TypeCode::integer, 8}, "int8", "b"},
    Row{{TypeCode::integer, 16}, "int16", "h"},
    Row{{TypeCode::integer, 32}, "int32", "i"},
    Row{{TypeCode::integer, 64}, "int64", "q"},
    Row{{TypeCode::unsigned_integer, 8}, "uint8", "B"},
    Row{{TypeCode::unsigned_integer, 16}, "uint16", "H"},
    Row{{TypeCode::unsigned_integer, 32}, "uint32", "I"},
    Row{{TypeCode::unsigned_integer, 64}, "uint64", "Q"},
    Row{{TypeCode::floating, 16}, "float16", "e"},
    Row{{TypeCode::floating, 32}, "float32", "f"},
    Row{{TypeCode::floating, 64}, "float64", "d"},
    Row{{TypeCode::complex, 64}, "complex64", "Zf"},
    Row{{TypeCode::complex, 128}, "complex128", "Zd"},
    Row{{TypeCode::bfloat, 16}, "bfloat16", "H"},  // behind uint16, which the format stands for
};

// Objects of weir.dtypes, never freed.
std::array<PyObject*, rows.size()> classes{};
PyObject* as_dtype = nullptr;

}  // namespace

std::optional<DType> type_of_class(nb::handle object) noexcept {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (classes[i] == object.ptr()) return rows[i].type;
  return {};
}

DType dtype_of(nb::handle object) {
  if (const auto known = type_of_class(object)) return *known;
  return type_of_class(nb::object(nb::handle(as_dtype)(object))).value();
}

nb::object class_of(DType type) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].type == type) return nb::borrow(classes[i]);
  throw nb::buffer_error("Weir does not support this element type");
}

const char* name_of(DType type) {
  for (const Row& row : rows)
    if (row.type == type) return row.name;
  return "?";
}

const char* format_of(DType type) noexcept {
  for (const Row& row : rows)
    if (row.type == type) return row.format;
  return "B";
}

std::optional<DType> type_of_format(const char* format) {
  std::string name = format == nullptr ? "B" : format;
  if (name.size() > 1 && (name[0] == '@' || name[0] == '=' || name[0] == '<')) name.erase(0, 1);
  for (const auto& [other, usual] : {std::pair("l", "q"), std::pair("L", "Q"), std::pair("c", "B")})
    if (name == other) name = usual;
  for (const Row& row : rows)
    if (row.format == name) return row.type;
  return {};
}

void bind_dtypes(nb::module_&) {
  const nb::module_ dtypes = nb::module_::import_("weir.dtypes");
  for (std::size_t i = 0; i < rows.size(); ++i) classes[i] = nb::object(dtypes.attr(rows[i].name)).release().ptr();
  as_dtype = nb::object(dtypes.attr("as_dtype")).release().ptr();
}

}  // namespace weir::python
