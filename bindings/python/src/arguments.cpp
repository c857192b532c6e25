// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include <array>
#include <cstring>

#include "bindings/python/src/captures.hpp"
#include "bindings/python/src/dtype.hpp"
#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/host_memory.hpp"
#include "bindings/python/src/kernel.hpp"
#include "bindings/python/src/objects.hpp"
#include "weir/annotation.hpp"
#include "weir/backend.hpp"
#include "weir/error.hpp"
#include "weir/graph_changes.hpp"
#include "weir/plugin/tool.hpp"
#include "weir/stream.hpp"

// Converts Python objects to kernel arguments.
namespace weir::python {
namespace {

/// The bytes of one argument. Numbers fit into `bytes`, up to complex128; larger structures are in `large`.
struct Slot {
  alignas(16) std::array<std::byte, 16> bytes{};
  std::vector<std::byte> large{};
  std::size_t size = 0;
  ParameterKind kind = ParameterKind::value;
  MemoryAccess access{};  // the memory that a pointer argument points to

  void* address() noexcept { return large.empty() ? bytes.data() : large.data(); }
  template <class T>
  void set(const T& value) {
    std::memcpy(bytes.data(), &value, sizeof(T));
    size = sizeof(T);
  }
  void set_address(const void* address) {
    set(address);
    kind = ParameterKind::address;
  }
};

[[noreturn]] void throw_bad_argument(const KernelObject& kernel, std::size_t i, const std::string& why) {
  throw nb::type_error(("kernel '" + kernel->name() + "', argument " + std::to_string(i + 1) + ": " + why).c_str());
}

[[noreturn]] void throw_bad_number(const KernelObject& kernel, std::size_t i, const char* type) {
  throw nb::value_error(("kernel '" + kernel->name() + "', argument " + std::to_string(i + 1) +
                         ": the number does not fit the parameter's type, " + type)
                            .c_str());
}

/// Stores `number` as `type`. Returns false if it does not fit.
bool set_number(Slot& slot, nb::handle number, DType type) {
  slot.size = type.size();
  return store_number(slot.bytes.data(), number, type);
}

/// Stores a number for a parameter of known size but unknown type: as signed if it fits, else as unsigned. Returns false if
/// it fits neither.
bool set_integer(Slot& slot, nb::handle number, std::size_t size) {
  if (size != 1 && size != 2 && size != 4 && size != 8) return false;
  const auto bits = static_cast<std::uint8_t>(8 * size);
  return set_number(slot, number, {TypeCode::integer, bits}) || set_number(slot, number, {TypeCode::unsigned_integer, bits});
}

void set_buffer(Slot& slot, const KernelObject& kernel, std::size_t i, const BufferObject& buffer,
                const Parameter& parameter) {
  if (parameter.is_number() || parameter.kind == ParameterKind::floating)
    throw_bad_argument(kernel, i, "it is a Buffer, but the parameter is a number");
  if (parameter.type && *parameter.type != buffer.dtype) {
    throw_bad_argument(kernel, i,
                       std::string("it is a Buffer of ") + name_of(buffer.dtype) + ", but the parameter points to " +
                           name_of(*parameter.type) + "; Buffer.view() returns the same memory as another type");
  }
  const Device& own = kernel->device();
  const Device& its = buffer.device();
  if (&own.backend() != &its.backend()) [[unlikely]] {
    throw Error(Errc::wrong_device, "launch", "kernel '" + kernel->name() + "'",
                "argument " + std::to_string(i + 1) + " is memory of " + its.describe() + ", and the kernel is of " +
                    own.describe() + "; copy it to a Buffer of that device, or pin it there: Device.register_host");
  }
  slot.set_address(buffer.data());
  slot.access = {buffer.data(), buffer.size_bytes(), buffer.read_only ? AccessKind::read : AccessKind::read_write};
}

/// Copies the bytes of a scalar with its own type, such as numpy's and ctypes' scalars. Returns false for other objects.
bool set_bytes(Slot& slot, PyObject* object) {
  if (!PyObject_CheckBuffer(object)) return false;
  const HostMemory memory(object, HostMemory::Access::read);
  if (memory.dimensions() != 0) return false;
  slot.size = memory.size_bytes();
  if (slot.size > slot.bytes.size()) slot.large.resize(slot.size);
  std::memcpy(slot.address(), memory.data(), slot.size);
  slot.kind = ParameterKind::unknown;
  return true;
}

/// Returns the type of a Weir scalar, such as weir.float32(2); empty for other objects.
std::optional<DType> type_of_scalar(PyObject* object) noexcept { return type_of_class(nb::handle(object).type()); }

void pack(Slot& slot, const KernelObject& kernel, std::size_t i, PyObject* object, const Parameter& parameter) {
  if (nb::handle(object).type().is(type_of<BufferObject>()))
    return set_buffer(slot, kernel, i, held_by<BufferObject>(object), parameter);
  if (parameter.is_number()) {
    const bool is_plain = PyLong_CheckExact(object) || PyFloat_CheckExact(object);
    // The scalars of Weir and ctypes have an attribute `value`. Enumeration members and other objects also have one, but are
    // no numbers.
    const bool has_value = !is_plain && (type_of_scalar(object) || PyObject_CheckBuffer(object) != 0);
    const nb::object value = has_value ? nb::getattr(nb::borrow(object), "value", nb::borrow(object)) : nb::borrow(object);
    try {
      if (set_number(slot, value, *parameter.type)) return;
    } catch (nb::python_error& error) {
      if (!error.matches(PyExc_TypeError)) throw;
      throw_bad_argument(kernel, i,
                         nb::cast<std::string>(nb::str(error.value())) + "; the parameter is " + name_of(*parameter.type));
    } catch (const nb::builtin_exception& error) {
      throw_bad_argument(kernel, i, std::string(error.what()) + "; the parameter is " + name_of(*parameter.type));
    }
    throw_bad_number(kernel, i, name_of(*parameter.type));
  }
  if (object == Py_None) return slot.set_address(nullptr);
  if (PyLong_CheckExact(object)) {
    if (parameter.kind == ParameterKind::floating)
      throw_bad_argument(kernel, i, "it is an int, but the parameter is a floating-point number");
    slot.kind = parameter.is_pointer() ? ParameterKind::address : ParameterKind::unknown;
    if (parameter.is_pointer()) {
      if (!set_integer(slot, object, 8)) throw_bad_number(kernel, i, "an address");
    } else if (parameter.size == 0) {
      throw_bad_argument(kernel, i,
                         "it is an int, and the driver does not report the parameter's type; pass weir.int32(…) or "
                         "numpy.int32(…)");
    } else if (!set_integer(slot, object, parameter.size)) {
      throw_bad_number(kernel, i, ("an integer of " + std::to_string(parameter.size) + " bytes").c_str());
    }
    return;
  }
  if (PyFloat_CheckExact(object)) {
    if (parameter.kind == ParameterKind::integer || parameter.kind == ParameterKind::address)
      throw_bad_argument(kernel, i, "it is a float, but the parameter is not");
    if (parameter.size != 4 && parameter.size != 8)
      throw_bad_argument(kernel, i,
                         "it is a float, and the parameter's type is not known; pass weir.float32(…) or numpy.float32(…)");
    set_number(slot, object, {TypeCode::floating, static_cast<std::uint8_t>(8 * parameter.size)});
    return;
  }
  if (const auto type = type_of_scalar(object)) {
    if (!set_number(slot, nb::object(nb::borrow(object).attr("value")), *type)) throw_bad_number(kernel, i, name_of(*type));
    return;
  }
  if (PyBool_Check(object)) return slot.set(static_cast<std::uint8_t>(object == Py_True));
  void* address = nullptr;
  if (foreign_address_of(object, address)) {
    slot.set_address(address);
    slot.access = {address, 1, AccessKind::read_write};
    return;
  }
  if (set_bytes(slot, object)) {
    // The object is a ctypes.c_void_p.
    if (parameter.is_pointer() && slot.size == sizeof(void*)) slot.kind = ParameterKind::address;
    return;
  }
  throw_bad_argument(
      kernel, i,
      "kernels do not accept this type: pass a weir.Buffer, a number, an address, or an array of a GPU library; copy "
      "host memory to a Buffer");
}

/// An array that is on the stack unless it is long.
template <class T>
struct Few {
  explicit Few(std::size_t count) : far(count > near.size() ? count : 0), data(far.empty() ? near.data() : far.data()) {}
  std::array<T, 16> near;
  std::vector<T> far;
  T* const data;
};

/// The arguments of one launch.
class Arguments {
 public:
  Arguments(const KernelObject& kernel, PyObject* const* arguments, std::size_t count)
      : count_(count), slots_(count), addresses_(count), parameters_(count) {
    if (kernel.is_counted && count != kernel.parameters.size()) {
      throw nb::type_error(("kernel '" + kernel->name() + "' takes " + std::to_string(kernel.parameters.size()) +
                            " arguments, and " + std::to_string(count) + " were given")
                               .c_str());
    }
    for (std::size_t i = 0; i < count; ++i) {
      Slot& slot = slots_.data[i];
      pack(slot, kernel, i, arguments[i], i < kernel.parameters.size() ? kernel.parameters[i] : Parameter{});
      addresses_.data[i] = slot.address();
      parameters_.data[i] = {static_cast<std::uint32_t>(slot.size), slot.kind};
    }
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  std::span<void* const> addresses() const noexcept { return {addresses_.data, count_}; }
  std::span<const weir::Parameter> parameters() const noexcept { return {parameters_.data, count_}; }
  /// Returns, for each argument, the memory that it points to; empty if it is no pointer.
  std::vector<MemoryAccess> accesses() const {
    std::vector<MemoryAccess> all;
    for (std::size_t i = 0; i < count_; ++i) all.push_back(slots_.data[i].access);
    return all;
  }

 private:
  std::size_t count_;
  Few<Slot> slots_;
  Few<void*> addresses_;
  Few<weir::Parameter> parameters_;
};

}  // namespace

void launch(Stream& stream, const LaunchConfig& config, const KernelObject& kernel, PyObject* const* arguments,
            std::size_t count) {
  const Arguments packed(kernel, arguments, count);
  use(stream, std::span(arguments, count));
  const WithoutGil released;
  if (detail::tools_look()) [[unlikely]] {
    return stream.launch_raw(kernel.ptr, config, packed.addresses(), packed.parameters(), packed.accesses());
  }
  stream.launch_raw(kernel.ptr, config, packed.addresses(), packed.parameters());
}

void change(GraphChanges& changes, GraphNode node, const LaunchConfig& config, const KernelObject& kernel,
            PyObject* const* arguments, std::size_t count) {
  const Arguments packed(kernel, arguments, count);
  changes.launch_raw(node, kernel.ptr, config, packed.addresses(), packed.parameters(), packed.accesses());
}

}  // namespace weir::python
