// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "bindings/python/src/common.hpp"

/// Converts between Python's types and element types, and Python's numbers to bytes.
namespace weir::python {

/// DLPack's type codes (DLDataTypeCode).
enum class TypeCode : std::uint8_t { integer = 0, unsigned_integer = 1, floating = 2, bfloat = 4, complex = 5, boolean = 6 };

/// An element type. In Python a class of weir/dtypes.py, such as `weir.float32`.
struct DType {
  TypeCode code = TypeCode::unsigned_integer;
  std::uint8_t bits = 8;

  std::size_t size() const noexcept { return bits / 8; }
  friend bool operator==(DType, DType) = default;
};

/// Returns the type for a Weir class, a numpy dtype or scalar type, or a name such as "float32". Throws TypeError.
DType dtype_of(nb::handle object);
/// Returns the type for a Weir class; empty for other objects.
std::optional<DType> type_of_class(nb::handle object) noexcept;
/// Returns the Weir class for a type. Throws BufferError if no class has that type.
nb::object class_of(DType type);
/// Returns the name, such as "float32".
const char* name_of(DType type);
/// Returns the format of the buffer protocol (PEP 3118). It has no bfloat16, for which this is that of uint16, the raw bits.
const char* format_of(DType type) noexcept;
/// Returns the type for a format of the buffer protocol (PEP 3118); a null format means bytes. Empty if Weir has no such
/// type: for another byte order, for structures, and for others.
std::optional<DType> type_of_format(const char* format);

/// Writes `number` to `to` as `type`. Returns false, without an exception, for a number that does not fit. Throws the
/// exceptions of Python's conversion, such as TypeError for a string.
bool store_number(void* to, nb::handle number, DType type);
/// Writes the value of a fill in the same way. Throws ValueError if it does not fit.
void store_element(void* to, nb::handle number, DType type);

}  // namespace weir::python
