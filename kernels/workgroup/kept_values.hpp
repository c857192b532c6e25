// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/workgroup/regions.hpp"

namespace weir::workgroup {

/// A value that a thread computes before a barrier and needs behind it.
struct KeptValue {
  llvm::AllocaInst* variable;  ///< in `top`; each region has a copy of its own
  llvm::SmallPtrSet<llvm::BasicBlock*, 4> set_in;
  bool uniform;  ///< one for the block; else one for each thread, in the context
};

struct KeptValues {
  std::vector<KeptValue> all;
  std::vector<llvm::SmallVector<unsigned>> live_in;  ///< of each region
};

/// Finds these values. What is cheap is computed again behind the barrier instead.
KeptValues keep_values(BlockFunction& block, const Regions& regions, const Uniformity& uniformity);

}  // namespace weir::workgroup
