// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/workgroup/regions.hpp"

namespace weir::workgroup {

/// A value that a thread computes before a barrier and needs after the barrier.
struct KeptValue {
  llvm::AllocaInst* variable;  ///< allocated in `top`; each region has its own copy
  llvm::SmallPtrSet<llvm::BasicBlock*, 4> set_in;
  bool uniform;  ///< true: one value for the block; false: one for each thread, stored in the context
};

struct KeptValues {
  std::vector<KeptValue> all;
  /// For each region, the indices of the values that it needs at its entry.
  std::vector<llvm::SmallVector<unsigned>> live_in;
};

/// Finds the values to keep across barriers. A value that is cheap to compute is not kept but computed again after the
/// barrier.
KeptValues keep_values(BlockFunction& block, const Regions& regions, const Uniformity& uniformity);

}  // namespace weir::workgroup
