// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "kernels/workgroup/places.hpp"

namespace weir::workgroup {

/// Thrown if the pass refuses a kernel. The kernel stays unchanged, and a remark reports the reason and the place.
struct Refused {
  std::string why;
  const llvm::DILocation* where;  ///< location in the source; null if the reason concerns the whole kernel
  Refused(std::string reason, const llvm::Instruction* at)
      : why(std::move(reason)), where(at != nullptr ? position_in_program(at->getDebugLoc()) : nullptr) {}
};

}  // namespace weir::workgroup
