// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/workgroup/block_function.hpp"

namespace weir::workgroup {

/// Whether the kernel has a private array whose elements can be interleaved over the lanes of a warp.
bool has_interleavable_arrays(llvm::Function& kernel);

/// Gives each of `threads_in_step` lanes its own copy of the private variables. If each access reads or writes a whole
/// element, element i of all lanes is contiguous, so that an access at a uniform index is a vector access. Otherwise the
/// lanes' copies follow each other.
void multiply_private_variables(BlockFunction& block);

}  // namespace weir::workgroup
