// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/Instruction.h>
#include <llvm/IR/Value.h>
#include <llvm/Support/Casting.h>

/// Short names for LLVM types that the pass uses everywhere, as in mlir/Support/LLVM.h.
namespace weir::workgroup {

using llvm::BasicBlock;
using llvm::cast;
using llvm::dyn_cast;
using llvm::Instruction;
using llvm::isa;
using llvm::Value;

}  // namespace weir::workgroup
