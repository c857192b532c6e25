// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/src/dtype.hpp"

#include <array>
#include <string>

namespace weir::python {
namespace {

struct Row {
  DType type;
  const char* name;
};
constexpr std::array rows{
    Row{{TypeCode::boolean, 8}, "bool_"},
    Row{{TypeCode::integer, 8}, "int8"},
    Row{{TypeCode::integer, 16}, "int16"},
    Row{{TypeCode::integer, 32}, "int32"},
    Row{{TypeCode::integer, 64}, "int64"},
    Row{{TypeCode::unsigned_integer, 8}, "uint8"},
    Row{{TypeCode::unsigned_integer, 16}, "uint16"},
    Row{{TypeCode::unsigned_integer, 32}, "uint32"},
    Row{{TypeCode::unsigned_integer, 64}, "uint64"},
    Row{{TypeCode::floating, 16}, "float16"},
    Row{{TypeCode::bfloat, 16}, "bfloat16"},
    Row{{TypeCode::floating, 32}, "float32"},
    Row{{TypeCode::floating, 64}, "float64"},
    Row{{TypeCode::complex, 64}, "complex64"},
    Row{{TypeCode::complex, 128}, "complex128"},
};

// Objects of weir.dtypes, never freed.
std::array<PyObject*, rows.size()> classes{};
PyObject* as_dtype = nullptr;

std::size_t index_of(nb::handle object) noexcept {
  std::size_t i = 0;
  while (i < rows.size() && classes[i] != object.ptr()) ++i;
  return i;
}

}  // namespace

DType dtype_of(nb::handle object) {
  std::size_t i = index_of(object);
  if (i == rows.size()) i = index_of(nb::object(nb::handle(as_dtype)(object)));
  return rows.at(i).type;
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

std::optional<DType> type_of_format(const char* format) {
  std::string name = format == nullptr ? "B" : format;
  if (name.size() > 1 && (name[0] == '@' || name[0] == '=' || name[0] == '<')) name.erase(0, 1);
  if (name == "Zf") return DType{TypeCode::complex, 64};
  if (name == "Zd") return DType{TypeCode::complex, 128};
  if (name.size() != 1) return {};
  switch (name[0]) {
    case '?': return DType{TypeCode::boolean, 8};
    case 'b': return DType{TypeCode::integer, 8};
    case 'h': return DType{TypeCode::integer, 16};
    case 'i': return DType{TypeCode::integer, 32};
    case 'l':
    case 'q': return DType{TypeCode::integer, 64};
    case 'c':
    case 'B': return DType{TypeCode::unsigned_integer, 8};
    case 'H': return DType{TypeCode::unsigned_integer, 16};
    case 'I': return DType{TypeCode::unsigned_integer, 32};
    case 'L':
    case 'Q': return DType{TypeCode::unsigned_integer, 64};
    case 'e': return DType{TypeCode::floating, 16};
    case 'f': return DType{TypeCode::floating, 32};
    case 'd': return DType{TypeCode::floating, 64};
    default: return {};
  }
}

void bind_dtypes(nb::module_&) {
  const nb::module_ dtypes = nb::module_::import_("weir.dtypes");
  for (std::size_t i = 0; i < rows.size(); ++i) classes[i] = nb::object(dtypes.attr(rows[i].name)).release().ptr();
  as_dtype = nb::object(dtypes.attr("as_dtype")).release().ptr();
}

}  // namespace weir::python
