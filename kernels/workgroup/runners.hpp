// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/Module.h>

namespace weir::workgroup {

/// Gives each kernel of a whole program the function that runs it, and its record in the module.
///
/// For a source of kernels, the front end writes both as C++ text, because it knows every kernel's name. In a whole program
/// it does not: host code instantiates kernel templates and launches lambdas. There the kernels have the annotation
/// "weir.program", and are found after Clang has compiled the program's device half. How a parameter reaches the function
/// depends on the processor's calling convention: a structure may arrive in several registers, and an empty one not at all.
/// So each parameter is found by its debug information, which has its number and its place in memory.
void make_runners(llvm::Module& module);

}  // namespace weir::workgroup
