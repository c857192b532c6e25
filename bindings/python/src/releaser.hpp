// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bindings/python/src/common.hpp"
#include "weir/memory.hpp"

/// Frees memory and drops Python references on a thread that nothing waits for. Freeing memory may wait for all work of a
/// device. A thread that holds the GIL, and the host-function thread, must not do that: the work may wait for a host
/// function. In a forked child and at interpreter shutdown nothing can be freed, so it is leaked.
namespace weir::python {

/// Frees the memory if this is its last owner. From any thread, with or without the GIL.
void release_later(AllocationPtr memory) noexcept;
/// Drops a reference. From any thread, with or without the GIL. Waits until `device`, if any, is idle, since its work may
/// use memory that the object owns. While a capture forbids that wait, the object stays.
void release_later(PyObject* object, Device* device = nullptr) noexcept;

}  // namespace weir::python
