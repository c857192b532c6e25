// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "kernels/workgroup/places.hpp"

namespace weir::workgroup {

/// Thrown where a kernel is found that the pass does not form. The kernel stays as it is, and a remark says why and where.
struct Refused {
  std::string why;
  const llvm::DILocation* where;  ///< null if it is the kernel as a whole
  Refused(std::string reason, const llvm::Instruction* at)
      : why(std::move(reason)), where(at != nullptr ? place_in_program(at->getDebugLoc()) : nullptr) {}
};

}  // namespace weir::workgroup
