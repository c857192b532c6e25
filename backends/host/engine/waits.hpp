// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "weir/plugin/waits.hpp"

/// What queues wait for: `Stream::pending`, and whether they can go on.
namespace weir::host {

class Queue;

/// The first operation of the queue that is not done.
PendingWork pending_of(Queue& queue);
/// The device's queues that have work.
std::vector<BusyStream> busy_streams(const Device& device);
/// The operations of its queues that write the value for which `wait` waits.
std::vector<ValueWriter> writers_of(const Device& device, const MemoryOperation& wait);

}  // namespace weir::host
