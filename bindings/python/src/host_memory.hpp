// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "bindings/python/src/common.hpp"

/// Host memory that another object owns.
namespace weir::python {

/// The memory that an object exports by the buffer protocol, C-contiguous. The export ends with this object.
class HostMemory {
 public:
  enum class Access { read, write };

  /// Throws TypeError for an object without the protocol, BufferError for one that is not contiguous or not writable.
  HostMemory(nb::handle object, Access access) {
    if (!PyObject_CheckBuffer(object.ptr())) {
      throw nb::type_error(
          "this has no memory that the host may use: give a weir.Buffer, a numpy array, bytes or their like");
    }
    if (PyObject_GetBuffer(object.ptr(), &view_, access == Access::write ? PyBUF_CONTIG : PyBUF_CONTIG_RO) != 0)
      throw nb::python_error();
  }
  ~HostMemory() { PyBuffer_Release(&view_); }
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  void* data() const noexcept { return view_.buf; }
  std::size_t size_bytes() const noexcept { return static_cast<std::size_t>(view_.len); }
  int dimensions() const noexcept { return view_.ndim; }

 private:
  Py_buffer view_{};
};

}  // namespace weir::python
