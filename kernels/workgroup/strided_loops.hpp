// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/workgroup/block_function.hpp"

namespace weir::workgroup {

/// Of loops such as `for (i = base + threadIdx.x; i < n; i += step)` all threads of the block take a turn before any takes
/// the next one: so neighbours use neighbouring memory. Where an index wraps, each thread runs its loop to the end. Returns
/// how many loops there are.
unsigned step_together(BlockFunction& block);

}  // namespace weir::workgroup
