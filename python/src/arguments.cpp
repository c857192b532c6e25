// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>
#include <limits>

#include "python/src/gil.hpp"
#include "python/src/host_memory.hpp"
#include "python/src/kernel.hpp"
#include "python/src/objects.hpp"
#include "weir/annotation.hpp"
#include "weir/stream.hpp"

// A kernel's arguments: what Python's objects become.
namespace weir::python {
namespace {

using Kind = Parameter::Kind;

/// The bytes of one argument. The largest number is complex128; structures that are larger have memory of their own.
struct Slot {
  alignas(16) std::array<std::byte, 16> bytes{};
  std::vector<std::byte> large{};
  std::size_t size = 0;
  MemoryAccess access{};  // the memory that it names

  void* address() noexcept { return large.empty() ? bytes.data() : large.data(); }
  template <class T>
  void set(const T& value) {
    std::memcpy(bytes.data(), &value, sizeof(T));
    size = sizeof(T);
  }
};

/// Arguments of one launch, on the stack unless there are many.
class Arguments {
 public:
  explicit Arguments(std::size_t count) {
    if (count > near_.size()) far_.resize(count);
  }
  Slot& operator[](std::size_t i) { return far_.empty() ? near_[i] : far_[i]; }

 private:
  std::array<Slot, 16> near_{};
  std::vector<Slot> far_{};
};

[[noreturn]] void refuse(const KernelObject& kernel, std::size_t i, const std::string& why) {
  throw nb::type_error(("kernel '" + kernel.kernel->name() + "', argument " + std::to_string(i + 1) + ": " + why).c_str());
}

[[noreturn]] void refuse_number(const KernelObject& kernel, std::size_t i, const char* type) {
  PyErr_Clear();
  throw nb::value_error(("kernel '" + kernel.kernel->name() + "', argument " + std::to_string(i + 1) +
                         ": the number is none of the parameter's type, " + type)
                            .c_str());
}

template <class T>
bool set_integer(Slot& slot, PyObject* number) {
  if constexpr (std::is_signed_v<T>) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow != 0 || value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max()) return false;
    slot.set(static_cast<T>(value));
  } else {
    const unsigned long long value = PyLong_AsUnsignedLongLong(number);
    if (value > std::numeric_limits<T>::max() || (value == ~0ULL && PyErr_Occurred() != nullptr)) return false;
    slot.set(static_cast<T>(value));
  }
  return true;
}

/// Of a parameter of which only the size is known: signed where that holds the number, as a program in C would have it.
bool set_integer_of(Slot& slot, PyObject* number, std::size_t size) {
  const auto either = [&]<class S, class U>(S, U) {
    if (set_integer<S>(slot, number)) return true;
    PyErr_Clear();
    return set_integer<U>(slot, number);
  };
  switch (size) {
    case 1: return either(std::int8_t{}, std::uint8_t{});
    case 2: return either(std::int16_t{}, std::uint16_t{});
    case 4: return either(std::int32_t{}, std::uint32_t{});
    case 8: return either(std::int64_t{}, std::uint64_t{});
    default: return false;
  }
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

/// A number of a type that is known. Throws what Python's conversion throws.
bool set_number(Slot& slot, PyObject* object, DType type) {
  switch (type.code) {
    case TypeCode::boolean: {
      const int truth = PyObject_IsTrue(object);
      if (truth < 0) throw nb::python_error();
      slot.set(static_cast<std::uint8_t>(truth));
      return true;
    }
    case TypeCode::integer:
    case TypeCode::unsigned_integer: {
      const nb::object number = nb::steal(PyNumber_Index(object));
      if (!number.is_valid()) throw nb::python_error();
      const bool is_signed = type.code == TypeCode::integer;
      switch (type.bits) {
        case 8:
          return is_signed ? set_integer<std::int8_t>(slot, number.ptr()) : set_integer<std::uint8_t>(slot, number.ptr());
        case 16:
          return is_signed ? set_integer<std::int16_t>(slot, number.ptr()) : set_integer<std::uint16_t>(slot, number.ptr());
        case 32:
          return is_signed ? set_integer<std::int32_t>(slot, number.ptr()) : set_integer<std::uint32_t>(slot, number.ptr());
        default:
          return is_signed ? set_integer<std::int64_t>(slot, number.ptr()) : set_integer<std::uint64_t>(slot, number.ptr());
      }
    }
    case TypeCode::complex: {
      const nb::object number = nb::borrow(object);
      const double real = nb::cast<double>(number.attr("real")), imaginary = nb::cast<double>(number.attr("imag"));
      if (type.bits == 128)
        slot.set(std::array{real, imaginary});
      else
        slot.set(std::array{static_cast<float>(real), static_cast<float>(imaginary)});
      return true;
    }
    case TypeCode::floating:
    case TypeCode::bfloat: {
      const double value = PyFloat_AsDouble(object);
      if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
      if (type.bits == 64)
        slot.set(value);
      else if (type.bits == 32)
        slot.set(static_cast<float>(value));
      else
        slot.set(type.code == TypeCode::bfloat ? bfloat_of(static_cast<float>(value)) : half_of(value));
      return true;
    }
  }
  return false;
}

void set_buffer(Slot& slot, const KernelObject& kernel, std::size_t i, const BufferObject& buffer,
                const Parameter& parameter) {
  if (parameter.kind == Kind::number || parameter.kind == Kind::floating)
    refuse(kernel, i, "it is a Buffer, and the parameter is a number");
  if (parameter.type && *parameter.type != buffer.dtype) {
    refuse(kernel, i,
           std::string("it is a Buffer of ") + name_of(buffer.dtype) + ", and the parameter points to " +
               name_of(*parameter.type) + "; Buffer.view() takes the same memory for another type");
  }
  slot.set(buffer.data);
  slot.access = {buffer.data, buffer.size_bytes(), buffer.read_only ? AccessKind::read : AccessKind::read_write};
}

/// A value with a type of its own, that of numpy's and ctypes' scalars: its bytes.
bool set_bytes(Slot& slot, PyObject* object) {
  if (!PyObject_CheckBuffer(object)) return false;
  const HostMemory memory(object, HostMemory::Access::read);
  if (memory.dimensions() != 0) return false;
  slot.size = memory.size_bytes();
  if (slot.size > slot.bytes.size()) slot.large.resize(slot.size);
  std::memcpy(slot.address(), memory.data(), slot.size);
  return true;
}

/// A weir.float32(2), which tells its type.
std::optional<DType> type_of_scalar(PyObject* object) {
  static const nb::handle metaclass = nb::object(nb::module_::import_("weir.dtypes").attr("dtype")).release();
  if (reinterpret_cast<PyObject*>(Py_TYPE(reinterpret_cast<PyObject*>(Py_TYPE(object)))) != metaclass.ptr()) return {};
  return dtype_of(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object))));
}

void pack(Slot& slot, const KernelObject& kernel, std::size_t i, PyObject* object, const Parameter& parameter) {
  static const nb::handle buffer_type = nb::type<BufferObject>();
  if (reinterpret_cast<PyObject*>(Py_TYPE(object)) == buffer_type.ptr())
    return set_buffer(slot, kernel, i, *nb::inst_ptr<BufferObject>(object), parameter);
  if (parameter.kind == Kind::number) {
    const bool is_plain = PyLong_CheckExact(object) || PyFloat_CheckExact(object);
    // Weir's own scalars, and those of ctypes, have a value.
    const nb::object value = is_plain ? nb::borrow(object) : nb::getattr(nb::borrow(object), "value", nb::borrow(object));
    if (!set_number(slot, value.ptr(), *parameter.type)) refuse_number(kernel, i, name_of(*parameter.type));
    return;
  }
  if (object == Py_None) return slot.set<void*>(nullptr);
  if (PyLong_CheckExact(object)) {
    if (parameter.kind == Kind::floating) refuse(kernel, i, "it is an int, and the parameter a floating-point number");
    if (parameter.kind == Kind::pointer) {
      if (!set_integer<std::uint64_t>(slot, object)) refuse_number(kernel, i, "an address");
    } else if (parameter.size == 0) {
      refuse(kernel, i, "an int, and the driver does not tell the parameter's type; give weir.int32(…), or numpy.int32(…)");
    } else if (!set_integer_of(slot, object, parameter.size)) {
      refuse_number(kernel, i, ("an integer of " + std::to_string(parameter.size) + " bytes").c_str());
    }
    return;
  }
  if (PyFloat_CheckExact(object)) {
    if (parameter.kind == Kind::integer || parameter.kind == Kind::pointer)
      refuse(kernel, i, "it is a float, and the parameter is none");
    if (parameter.size != 4 && parameter.size != 8)
      refuse(kernel, i, "a float, and the parameter's type is not known; give weir.float32(…), or numpy.float32(…)");
    set_number(slot, object, {TypeCode::floating, static_cast<std::uint8_t>(8 * parameter.size)});
    return;
  }
  if (const auto type = type_of_scalar(object)) {
    if (!set_number(slot, nb::object(nb::borrow(object).attr("value")).ptr(), *type))
      refuse_number(kernel, i, name_of(*type));
    return;
  }
  if (PyBool_Check(object)) return slot.set(static_cast<std::uint8_t>(object == Py_True));
  void* address = nullptr;
  if (foreign_address_of(object, address)) {
    slot.set(address);
    slot.access = {address, 1, AccessKind::read_write};
    return;
  }
  if (set_bytes(slot, object)) return;
  refuse(kernel, i,
         "no kernel takes this: give a weir.Buffer, a number, an address, or an array of a GPU library; memory of "
         "the host must be copied to a Buffer");
}

}  // namespace

void launch(Stream& stream, const LaunchConfig& config, const KernelObject& kernel, PyObject* const* arguments,
            std::size_t count) {
  if (kernel.is_counted && count != kernel.parameters.size()) {
    throw nb::type_error(("kernel '" + kernel.kernel->name() + "' takes " + std::to_string(kernel.parameters.size()) +
                          " arguments, and " + std::to_string(count) + " were given")
                             .c_str());
  }
  constexpr std::size_t usual = 16;
  Arguments slots(count);
  std::array<void*, usual> near_addresses;
  std::array<std::size_t, usual> near_sizes;
  std::vector<void*> far_addresses(count > usual ? count : 0);
  std::vector<std::size_t> far_sizes(count > usual ? count : 0);
  void** const addresses = count > usual ? far_addresses.data() : near_addresses.data();
  std::size_t* const sizes = count > usual ? far_sizes.data() : near_sizes.data();
  for (std::size_t i = 0; i < count; ++i) {
    pack(slots[i], kernel, i, arguments[i], i < kernel.parameters.size() ? kernel.parameters[i] : Parameter{});
    addresses[i] = slots[i].address();
    sizes[i] = slots[i].size;
  }
  const WithoutGil released;
  if (detail::tools_look()) [[unlikely]] {
    std::vector<MemoryAccess> accesses;
    for (std::size_t i = 0; i < count; ++i)
      if (slots[i].access.bytes != 0) accesses.push_back(slots[i].access);
    detail::declare_touches(accesses);
  }
  stream.launch_raw(kernel.kernel, config, {addresses, count}, {sizes, count});
}

}  // namespace weir::python
