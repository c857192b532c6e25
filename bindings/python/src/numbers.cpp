// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "bindings/python/src/dtype.hpp"

namespace weir::python {
namespace {

template <class T>
void store(void* to, const T& value) {
  std::memcpy(to, &value, sizeof(T));
}

template <class T>
bool store_integer(void* to, nb::handle number) {
  const nb::object index = nb::steal(PyNumber_Index(number.ptr()));
  if (!index.is_valid()) throw nb::python_error();
  T value{};
  if (!nb::try_cast(index, value, false)) return false;
  store(to, value);
  return true;
}

std::uint16_t half_of(double value) {
  const nb::bytes packed = nb::cast<nb::bytes>(nb::module_::import_("struct").attr("pack")("<e", value));
  std::uint16_t bits = 0;
  std::memcpy(&bits, packed.c_str(), sizeof(bits));
  return bits;
}

std::uint16_t bfloat_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  if (value != value) return static_cast<std::uint16_t>(bits >> 16U | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U);  // to the nearest, half to even
}

void store_floating(void* to, double value, DType type) {
  if (type.bits == 64)
    store(to, value);
  else if (type.bits == 32)
    store(to, static_cast<float>(value));
  else
    store(to, type.code == TypeCode::bfloat ? bfloat_of(static_cast<float>(value)) : half_of(value));
}

constexpr double least_infinite_float = 0x1.FFFFFFp127;  // FLT_MAX plus half the distance to the next number

/// Numbers that round to infinity do not fit, unless they are infinite.
bool fits(double value, double least_infinite) { return !std::isfinite(value) || std::abs(value) < least_infinite; }

}  // namespace

bool store_number(void* to, nb::handle number, DType type) {
  switch (type.code) {
    case TypeCode::boolean: {
      if (PyUnicode_Check(number.ptr()) || PyBytes_Check(number.ptr())) throw nb::type_error("a string is not a bool");
      const int truth = PyObject_IsTrue(number.ptr());
      if (truth < 0) throw nb::python_error();
      store(to, static_cast<std::uint8_t>(truth));
      return true;
    }
    case TypeCode::integer:
      switch (type.bits) {
        case 8: return store_integer<std::int8_t>(to, number);
        case 16: return store_integer<std::int16_t>(to, number);
        case 32: return store_integer<std::int32_t>(to, number);
        default: return store_integer<std::int64_t>(to, number);
      }
    case TypeCode::unsigned_integer:
      switch (type.bits) {
        case 8: return store_integer<std::uint8_t>(to, number);
        case 16: return store_integer<std::uint16_t>(to, number);
        case 32: return store_integer<std::uint32_t>(to, number);
        default: return store_integer<std::uint64_t>(to, number);
      }
    case TypeCode::complex: {
      const double real = nb::cast<double>(number.attr("real")), imaginary = nb::cast<double>(number.attr("imag"));
      if (type.bits == 128) return store(to, std::array{real, imaginary}), true;
      if (!fits(real, least_infinite_float) || !fits(imaginary, least_infinite_float)) return false;
      store(to, std::array{static_cast<float>(real), static_cast<float>(imaginary)});
      return true;
    }
    case TypeCode::floating:
    case TypeCode::bfloat: {
      const double value = PyFloat_AsDouble(number.ptr());
      if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
      const double least_infinite = type.bits == 64                 ? std::numeric_limits<double>::infinity()
                                    : type.code == TypeCode::bfloat ? 0x1.FFp127
                                    : type.bits == 32               ? least_infinite_float
                                                                    : 65520.0;
      if (!fits(value, least_infinite)) return false;
      store_floating(to, value, type);
      return true;
    }
  }
  return false;
}

void store_element(void* to, nb::handle number, DType type) {
  if (store_number(to, number, type)) return;
  throw nb::value_error((std::string("fill: the value does not fit the buffer's type, ") + name_of(type)).c_str());
}

}  // namespace weir::python
