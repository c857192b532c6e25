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

/// The memory that an object exports by the buffer protocol; it must be C-contiguous. The export ends when this is
/// destroyed.
class HostMemory {
 public:
  enum class Access { read, write };

  /// Throws TypeError if the object does not support the protocol. Throws BufferError if it is not contiguous, not writable,
  /// or contains references to Python objects.
  HostMemory(nb::handle object, Access access) {
    if (!PyObject_CheckBuffer(object.ptr())) {
      throw nb::type_error(
          "this object has no memory that the host can access: pass a weir.Buffer, a numpy array, bytes or similar");
    }
    const int flags = (access == Access::write ? PyBUF_CONTIG : PyBUF_CONTIG_RO) | PyBUF_FORMAT;
    if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nb::python_error();
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
  /// Returns the element type; empty if Weir has no such type.
  std::optional<DType> dtype() const { return type_of_format(view_.format); }
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
