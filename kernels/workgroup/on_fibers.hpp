// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/workgroup/builtins.hpp"

namespace weir::workgroup {

/// Makes refused kernels run on fibers: each becomes a function for one thread, and its calls of entries become calls of the
/// prelude's functions for fibers (kernels/fiber_threads.hpp). If the module has no such functions, the kernels stay
/// unchanged. Call this once, after all other kernels are formed.
void run_on_fibers(llvm::Module& module, const Functions& refused, const Variables& shared);

}  // namespace weir::workgroup
