// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/Instruction.h>
#include <llvm/IR/Value.h>
#include <llvm/Support/Casting.h>

/// LLVM's names that the pass says all the time, as mlir/Support/LLVM.h has them.
namespace weir::workgroup {

using llvm::BasicBlock;
using llvm::cast;
using llvm::dyn_cast;
using llvm::Instruction;
using llvm::isa;
using llvm::Value;

}  // namespace weir::workgroup
