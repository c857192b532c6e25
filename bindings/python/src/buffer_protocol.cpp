// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <new>

#include "bindings/python/src/gil.hpp"
#include "bindings/python/src/objects.hpp"
#include "weir/memory.hpp"

// Implements the buffer protocol, so that numpy, memoryview and others can access host memory without a copy, and what the
// garbage collector asks of a buffer.
namespace weir::python {
namespace {

/// The data that a Py_buffer points to.
struct Exported {
  std::vector<Py_ssize_t> shape, strides;
  AllocationPtr memory;  // the buffer may be closed before the exported view is released
};

int get_buffer(PyObject* object, Py_buffer* view, int flags) noexcept {
  view->obj = nullptr;
  if (!nb::inst_ready(object)) {
    PyErr_SetString(PyExc_BufferError, "the buffer is not initialized: only __new__ was called");
    return -1;
  }
  const BufferObject& self = *nb::inst_ptr<BufferObject>(nb::handle(object));
  if (self.is_closed()) {
    PyErr_SetString(PyExc_ValueError, "the buffer is closed");
    return -1;
  }
  if (!self.memory()->host_accessible() || ((flags & PyBUF_WRITABLE) != 0 && self.read_only)) {
    PyErr_SetString(PyExc_BufferError, self.read_only
                                           ? "the buffer is read-only"
                                           : "the host may not touch memory of the kind 'device': use Buffer.get(), or "
                                             "allocate memory of the kind 'pinned' or 'managed'");
    return -1;
  }
  if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && self.size() != 0 &&
      std::count_if(self.shape.begin(), self.shape.end(), [](std::int64_t extent) { return extent > 1; }) > 1) {
    PyErr_SetString(PyExc_BufferError, "the buffer is in C's order, not in Fortran's");
    return -1;
  }
  if (detail::tools_watch.load(std::memory_order_relaxed) && self.size() != 0) {
    try {
      const Caller caller;
      detail::note_host_access(*self.memory(), self.data(), self.size_bytes());
    } catch (...) {  // a tool has refused the access, or memory is exhausted
      return set_python_error(), -1;
    }
  }
  auto* const exported = new (std::nothrow) Exported;
  if (exported == nullptr) return PyErr_NoMemory(), -1;
  exported->memory = self.memory();
  exported->shape.assign(self.shape.begin(), self.shape.end());
  exported->strides.resize(self.shape.size());
  PyBuffer_FillContiguousStrides(static_cast<int>(self.shape.size()), exported->shape.data(), exported->strides.data(),
                                 static_cast<int>(self.dtype.size()), 'C');
  view->buf = self.data();
  view->obj = Py_NewRef(object);
  view->len = static_cast<Py_ssize_t>(self.size_bytes());
  view->readonly = self.read_only ? 1 : 0;
  view->itemsize = static_cast<Py_ssize_t>(self.dtype.size());
  view->format = (flags & PyBUF_FORMAT) != 0 ? const_cast<char*>(format_of(self.dtype)) : nullptr;
  view->ndim = static_cast<int>(self.shape.size());
  view->shape = (flags & PyBUF_ND) != 0 ? exported->shape.data() : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? exported->strides.data() : nullptr;
  view->suboffsets = nullptr;
  view->internal = exported;
  return 0;
}

void release_buffer(PyObject*, Py_buffer* view) noexcept {
  const std::unique_ptr<Exported> exported(static_cast<Exported*>(view->internal));
  release(exported->memory);
}

// For the garbage collector: the memory may belong to an object that refers to the buffer, as in `array.on_device =
// weir.from_dlpack(array)`. The allocation, which several buffers may share, keeps that object alive.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const BufferObject& buffer = *nb::inst_ptr<BufferObject>(self);
  if (buffer.is_only_owner()) Py_VISIT(buffer.owner);
  return 0;
}

PyType_Slot all_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                           {Py_bf_getbuffer, reinterpret_cast<void*>(&get_buffer)},
                           {Py_bf_releasebuffer, reinterpret_cast<void*>(&release_buffer)},
                           {0, nullptr}};

}  // namespace

PyType_Slot* buffer_slots() noexcept { return all_slots; }

}  // namespace weir::python
