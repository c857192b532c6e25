// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/workgroup/block_function.hpp"

namespace weir::workgroup {

/// Whether the kernel has a private array whose elements can be interleaved: element i of all lanes together.
bool has_interleavable_arrays(llvm::Function& kernel);

/// Gives each of `threads_in_step` lanes its own copy of the private variables. If every access to an array reads or writes
/// a whole element, the elements are interleaved: element i of all lanes is contiguous, so an access with a uniform index is
/// one vector access. Otherwise the copies of the lanes follow each other.
void multiply_private_variables(BlockFunction& block);

}  // namespace weir::workgroup
