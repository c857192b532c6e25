// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "python/src/host_thread.hpp"
#include "weir/event.hpp"

/// Functions that are called once an event is complete, for `await`.
namespace weir::python {

/// Calls `call`, with None or the error as its argument, on the thread of functions, soon after `event` is complete. A
/// thread asks the driver from time to time, so that no stream and no thread waits for the function.
void when_complete(EventPtr event, nb::handle callable);

}  // namespace weir::python
