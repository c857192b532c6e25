// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/workgroup/builtins.hpp"

namespace weir::workgroup {

/// Makes of each refused kernel a function for one thread, and runs it on fibers: the calls of entries that the pass has not
/// replaced become calls of the prelude's functions for fibers (kernels/fiber_threads.hpp). Where these are not there, the
/// kernels stay as they are. To be called once, when all other kernels are formed.
void run_on_fibers(llvm::Module& module, const Functions& refused, const Variables& shared);

}  // namespace weir::workgroup
