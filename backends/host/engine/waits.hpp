// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "weir/plugin/waits.hpp"

/// Reports what queues wait for, for `Stream::pending`, and whether they can continue.
namespace weir::host {

class Queue;

/// The queue's first operation that is not done.
PendingWork pending_of(Queue& queue);
/// The device's queues that have work.
std::vector<BusyStream> busy_streams(const Device& device);
/// The operations of its queues that write the value that `wait` waits for.
std::vector<ValueWriter> writers_of(const Device& device, const MemoryOperation& wait);

}  // namespace weir::host
