// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/workgroup/block_function.hpp"

namespace weir::workgroup {

/// Makes the threads of a block run loops such as `for (i = base + threadIdx.x; i < n; i += step)` together: all threads
/// take an iteration before any takes the next. So neighbouring threads access neighbouring memory one after the other. If
/// an index wraps, each thread runs its loop to the end instead. Returns the number of such loops.
unsigned step_together(BlockFunction& block);

}  // namespace weir::workgroup
