// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/workgroup/regions.hpp"

namespace weir::workgroup {

/// A value that a thread computes before a barrier and needs after it.
struct KeptValue {
  llvm::AllocaInst* variable;  ///< in `top`; each region has its own copy
  llvm::SmallPtrSet<llvm::BasicBlock*, 4> set_in;
  bool uniform;  ///< one value for the block; otherwise one for each thread, in the context
};

struct KeptValues {
  std::vector<KeptValue> all;
  std::vector<llvm::SmallVector<unsigned>> live_in;  ///< of each region
};

/// Finds these values. A value that is cheap to compute is computed again after the barrier instead.
KeptValues keep_values(BlockFunction& block, const Regions& regions, const Uniformity& uniformity);

}  // namespace weir::workgroup
