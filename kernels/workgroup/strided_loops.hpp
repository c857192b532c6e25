// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/workgroup/block_function.hpp"

namespace weir::workgroup {

/// In loops such as `for (i = base + threadIdx.x; i < n; i += step)`, makes all threads of the block take an iteration
/// before any takes the next, so that neighbours access neighbouring memory. Where an index wraps, each thread runs its loop
/// to the end. Returns the number of such loops.
unsigned step_together(BlockFunction& block);

}  // namespace weir::workgroup
