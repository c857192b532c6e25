// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/workgroup/builtins.hpp"

namespace weir::workgroup {

/// Turns each refused kernel into a function for one thread and runs it on fibers: remaining calls of entries become calls
/// of the prelude's functions for fibers (kernels/fiber_threads.hpp). If the module has no such functions, the kernels stay
/// unchanged. Call it once, after all other kernels are formed.
void run_on_fibers(llvm::Module& module, const Functions& refused, const Variables& shared);

}  // namespace weir::workgroup
