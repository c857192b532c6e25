// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "bindings/python/src/common.hpp"

/// Element types and kernel parameter types.
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

/// The type that an object names: a Weir class, a numpy dtype or scalar type, "float32". Throws TypeError.
DType dtype_of(nb::handle object);
/// Returns the Weir class for a type. Throws BufferError if no class has that type.
nb::object class_of(DType type);
/// "float32"
const char* name_of(DType type);
/// The type that a format of the buffer protocol names (PEP 3118; null: bytes); nothing for another byte order, structures
/// and all other formats that Weir has no type for.
std::optional<DType> type_of_format(const char* format);

}  // namespace weir::python
