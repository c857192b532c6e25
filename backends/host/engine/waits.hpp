// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "weir/plugin/waits.hpp"

/// Reports what queues wait for and whether they can continue, for `Stream::pending`.
namespace weir::host {

class Queue;

/// Describes the first operation of the queue that is not done, and what it waits for.
PendingWork pending_of(Queue& queue);
/// The streams of a device that have work.
std::vector<BusyStream> busy_streams(const Device& device);
/// The operations on the device's queues that write the value for which `wait` waits.
std::vector<ValueWriter> writers_of(const Device& device, const MemoryOperation& wait);

}  // namespace weir::host
