// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/joined_blocks.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/llvm_names.hpp"

namespace weir::workgroup {
namespace {

const Value* before_widening(const Value* value) {
  const auto* const extension = dyn_cast<llvm::ZExtInst>(value);
  return extension != nullptr ? extension->getOperand(0) : value;
}

// Returns the instructions that use the value or an extension of it to more bits.
llvm::SmallVector<llvm::User*> users_of(Value& value) {
  llvm::SmallVector<llvm::User*> users;
  for (llvm::User* user : value.users()) {
    if (isa<llvm::ZExtInst>(user)) {
      users.append(user->user_begin(), user->user_end());
    } else {
      users.push_back(user);
    }
  }
  return users;
}

bool is_operation_of(const Value* value, unsigned opcode, llvm::function_ref<bool(const Value*)> first,
                     llvm::function_ref<bool(const Value*)> second) {
  const auto* const operation = dyn_cast<llvm::BinaryOperator>(value);
  if (operation == nullptr || operation->getOpcode() != opcode) return false;
  const Value* const left = operation->getOperand(0);
  const Value* const right = operation->getOperand(1);
  return (first(left) && second(right)) || (first(right) && second(left));
}

// Whether the value is blockIdx.x * blockDim.x.
bool is_block_begin(const Value* value) {
  return is_operation_of(
      value, Instruction::Mul,
      [](const Value* left) { return is_along_x(before_widening(left), Builtin::block_index); },
      [](const Value* right) { return is_along_x(before_widening(right), Builtin::block_size); });
}

bool is_global_index(const Value* value) {
  return is_operation_of(value, Instruction::Add, is_block_begin, [](const Value* thread) {
    return is_along_x(before_widening(thread), Builtin::thread_index);
  });
}

// Whether the instruction has the same effect if its thread belongs to a wider block. Uses of the indices along x and of
// shared memory are checked elsewhere.
bool is_for_itself(const Instruction& instruction) {
  if (isa<llvm::AllocaInst>(instruction) || isa<llvm::FenceInst>(instruction) || instruction.isVolatile()) return false;
  const auto* const call = dyn_cast<llvm::CallBase>(&instruction);
  if (call == nullptr) return true;
  switch (called_builtin(call)) {
    case Builtin::thread_index:
    case Builtin::block_index:
    case Builtin::block_size:
    case Builtin::grid_size: return isa<llvm::ConstantInt>(call->getArgOperand(0));
    case Builtin::none: return !call->mayHaveSideEffects() || isa<llvm::IntrinsicInst>(call);
    default: return false;
  }
}

}  // namespace

bool can_join_blocks(llvm::Function& kernel) {
  if (uses_any_of(kernel, shared_variables(*kernel.getParent()))) return false;
  llvm::SmallSetVector<Instruction*, 2> sums;
  for (Instruction& instruction : llvm::instructions(kernel)) {
    if (!is_for_itself(instruction)) return false;
    if (is_along_x(&instruction, Builtin::thread_index)) {
      const auto users = users_of(instruction);
      if (!llvm::all_of(users, is_global_index)) return false;
      for (llvm::User* sum : users) sums.insert(cast<Instruction>(sum));
    }
    if (!is_along_x(&instruction, Builtin::block_index)) continue;
    for (llvm::User* begin : users_of(instruction)) {
      if (!is_block_begin(begin) || !llvm::all_of(users_of(*begin), is_global_index)) return false;
    }
  }
  for (Instruction* sum : sums) sum->dropPoisonGeneratingFlags();
  return !sums.empty();
}

}  // namespace weir::workgroup
