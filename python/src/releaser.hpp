// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "python/src/common.hpp"
#include "weir/memory.hpp"

/// Lets go of memory and of Python's objects on a thread that nothing waits for. Freeing memory may wait for all work of a
/// device. A caller that holds the interpreter's lock, or the thread that runs host functions, must not: the work may wait
/// for a host function. What cannot be let go any more, in a child of fork or while the interpreter ends, is leaked.
namespace weir::python {

/// Frees the memory, if this is its last owner. From any thread, with the interpreter's lock or without.
void release_later(AllocationPtr memory) noexcept;
/// Drops a reference. From any thread, with the interpreter's lock or without. `device`, if any, is idle once before, since
/// its work may use memory that the object owns: while a capture forbids to wait for it, the object stays.
void release_later(PyObject* object, Device* device = nullptr) noexcept;

}  // namespace weir::python
