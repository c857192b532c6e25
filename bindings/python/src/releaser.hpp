// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bindings/python/src/common.hpp"
#include "weir/memory.hpp"

/// Frees memory and drops Python references on a thread of its own. Freeing memory may wait for all work of a device, and
/// that work may wait for a host function. So a thread that holds the GIL must not free memory itself, nor must the
/// host-function thread. In a forked child and at interpreter shutdown nothing can be freed, so it is leaked.
namespace weir::python {

/// Frees the memory if this is its last owner. Any thread may call it, with or without the GIL.
void release_later(AllocationPtr memory) noexcept;
/// Drops a reference. Any thread may call it, with or without the GIL. If there is a `device`, first waits until it is idle,
/// because its work may use memory that the object owns. While a capture forbids that wait, the reference is kept.
void release_later(PyObject* object, Device* device = nullptr) noexcept;

}  // namespace weir::python
