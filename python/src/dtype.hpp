// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "python/src/common.hpp"

/// Types of elements and of kernels' parameters.
namespace weir::python {

/// What the bits of a number mean; DLPack's numbers (DLDataTypeCode).
enum class TypeCode : std::uint8_t { integer = 0, unsigned_integer = 1, floating = 2, bfloat = 4, complex = 5, boolean = 6 };

/// A type of elements. In Python it is one of the classes of weir/dtypes.py, such as `weir.float32`.
struct DType {
  TypeCode code = TypeCode::unsigned_integer;
  std::uint8_t bits = 8;

  std::size_t size() const noexcept { return bits / 8; }
  friend bool operator==(DType, DType) = default;
};

/// The type that an object names: a class of Weir's, a numpy dtype or scalar type, "float32". Throws TypeError.
DType dtype_of(nb::handle object);
/// Weir's class for a type. Throws BufferError for one that it has not.
nb::object class_of(DType type);
/// "float32"
const char* name_of(DType type);

}  // namespace weir::python
