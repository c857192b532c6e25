// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "bindings/python/src/common.hpp"
#include "bindings/python/src/dtype.hpp"

/// Accesses host memory that another object owns.
namespace weir::python {

[[noreturn]] inline void throw_gaps() {
  throw nb::buffer_error(
      "the array is not contiguous in C's order, as buffers are; make it so (numpy.ascontiguousarray, tensor.contiguous())");
}

/// The memory that an object exports by the buffer protocol; it must be C-contiguous. The export ends when this is
/// destroyed.
class HostMemory {
 public:
  enum class Access { read, write, any };  // any: with `is_read_only`

  /// Throws TypeError if the object does not support the protocol. Throws BufferError if it is not contiguous, not writable,
  /// or contains references to Python objects.
  HostMemory(nb::handle object, Access access) {
    if (!PyObject_CheckBuffer(object.ptr())) {
      throw nb::type_error(
          "this object has no memory that the host can access: pass a weir.Buffer, a numpy array, bytes or similar");
    }
    const auto get = [&](int flags) { return PyObject_GetBuffer(object.ptr(), &view_, flags | PyBUF_FORMAT) == 0; };
    bool has = access != Access::read && get(PyBUF_CONTIG);
    if (!has && access != Access::write) PyErr_Clear(), has = get(PyBUF_CONTIG_RO);
    if (!has) {
      if (access == Access::write || PyErr_ExceptionMatches(PyExc_ValueError) == 0) throw nb::python_error();
      PyErr_Clear();  // numpy's error for an array with gaps, replaced by a clearer one
      throw_gaps();
    }
    if (!holds_objects()) return;
    PyBuffer_Release(&view_);
    throw nb::buffer_error("the array's elements are Python objects: their addresses mean nothing elsewhere");
  }
  ~HostMemory() { PyBuffer_Release(&view_); }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  void* data() const noexcept { return view_.buf; }
  std::size_t size_bytes() const noexcept { return static_cast<std::size_t>(view_.len); }
  int dimensions() const noexcept { return view_.ndim; }
  bool is_read_only() const noexcept { return view_.readonly != 0; }
  /// The object whose memory it is.
  PyObject* owner() const noexcept { return view_.obj; }
  /// Returns the element type; empty if Weir has no such type.
  std::optional<DType> dtype() const {
    const auto type = type_of_format(view_.format);
    return type && view_.itemsize == static_cast<Py_ssize_t>(type->size()) ? type : std::nullopt;
  }
  std::string format() const { return view_.format != nullptr ? view_.format : "B"; }
  std::span<const std::int64_t> shape() const noexcept {
    return {view_.shape, view_.shape != nullptr ? static_cast<std::size_t>(view_.ndim) : 0};
  }

 private:
  /// Whether the format contains an `O`, a Python object. Names of structure fields are between colons and do not count.
  bool holds_objects() const noexcept {
    if (view_.format == nullptr) return false;
    bool in_name = false;
    for (const char* c = view_.format; *c != 0; ++c) {
      if (*c == ':') in_name = !in_name;
      if (*c == 'O' && !in_name) return true;
    }
    return false;
  }

  Py_buffer view_{};
};

}  // namespace weir::python
