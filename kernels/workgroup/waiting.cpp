// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/waiting.hpp"

#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>

#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/llvm_names.hpp"

namespace weir::workgroup {
namespace {

// A loop of a kernel. Finds whether threads may wait in it for other threads.
class Loop {
 public:
  Loop(const llvm::Loop& loop, const llvm::DominatorTree& dominators, const llvm::PostDominatorTree& post_dominators)
      : loop_(loop), dominators_(dominators), post_dominators_(post_dominators) {
    for (const llvm::BasicBlock* block : loop.blocks())
      fences_ |= llvm::any_of(*block, [](const Instruction& instruction) { return isa<llvm::FenceInst>(instruction); });
  }

  // Searches the values that decide whether the loop continues for an access that waits. These are the conditions of the
  // loop's exits, the conditions of branches that lead to an exit, and all values in the loop on which those depend.
  const Instruction* find_wait() {
    if (all_meet()) return nullptr;
    llvm::SmallVector<llvm::BasicBlock*> exiting;
    loop_.getExitingBlocks(exiting);
    for (const llvm::BasicBlock* block : exiting) {
      add_condition(block);
      for (const auto* node = dominators_.getNode(block)->getIDom(); node != nullptr && loop_.contains(node->getBlock());
           node = node->getIDom()) {
        if (!post_dominators_.dominates(block, node->getBlock())) add_condition(node->getBlock());
      }
    }
    for (unsigned i = 0; i < deciding_.size(); ++i) {
      const auto* const instruction = dyn_cast<Instruction>(deciding_[i]);
      if (instruction == nullptr || !loop_.contains(instruction)) continue;
      if (may_wait(*instruction)) return instruction;
      for (const llvm::Value* operand : instruction->operands()) deciding_.insert(operand);
      if (const auto* const phi = dyn_cast<llvm::PHINode>(instruction)) add_branches_to(*phi);
    }
    return nullptr;
  }

 private:
  // Whether each iteration has a barrier at which all threads of the block meet.
  bool all_meet() const {
    llvm::SmallVector<llvm::BasicBlock*> latches;
    loop_.getLoopLatches(latches);
    return llvm::any_of(loop_.blocks(), [&](const llvm::BasicBlock* block) {
      const bool barrier = llvm::any_of(*block, [](const Instruction& instruction) {
        const Builtin kind = called_builtin(&instruction);
        return kind == Builtin::block_barrier || kind == Builtin::block_count;
      });
      return barrier && llvm::all_of(latches, [&](llvm::BasicBlock* latch) { return dominators_.dominates(block, latch); });
    });
  }

  void add_condition(const llvm::BasicBlock* block) {
    const Instruction* const end = block->getTerminator();
    if (end->getNumSuccessors() > 1) deciding_.insert(end->getOperand(0));
  }

  // Adds the branches that select the path on which the phi is reached.
  void add_branches_to(const llvm::PHINode& phi) {
    if (phi.getParent() == loop_.getHeader()) return;
    const auto* const above = dominators_.getNode(phi.getParent())->getIDom();
    for (const llvm::BasicBlock* from : phi.blocks()) {
      for (const auto* node = dominators_.getNode(from); node != nullptr; node = node->getIDom()) {
        add_condition(node->getBlock());
        if (node == above) break;
      }
    }
  }

  // Whether a loop may use this access to wait: repeating the access has another result only if another thread has written
  // in between.
  bool may_wait(const Instruction& instruction) const {
    if (const auto* const load = dyn_cast<llvm::LoadInst>(&instruction)) {
      // After a fence a plain load may see writes of other threads.
      return load->isAtomic() || load->isVolatile() || (fences_ && !load->hasMetadata(llvm::LLVMContext::MD_invariant_load));
    }
    if (const auto* const update = dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      const auto* const by = dyn_cast<llvm::ConstantInt>(update->getValOperand());
      const bool counts =
          update->getOperation() == llvm::AtomicRMWInst::Add || update->getOperation() == llvm::AtomicRMWInst::Sub;
      return !counts || by == nullptr || by->isZero();
    }
    // A compare-exchange that expects the value read just before is a retry: it ends as soon as no other thread interferes,
    // so it does not wait.
    const auto* const exchange = dyn_cast<llvm::AtomicCmpXchgInst>(&instruction);
    if (exchange == nullptr) return false;
    const auto* const expected = dyn_cast<Instruction>(exchange->getCompareOperand());
    return expected == nullptr || !loop_.contains(expected);
  }

  const llvm::Loop& loop_;
  const llvm::DominatorTree& dominators_;
  const llvm::PostDominatorTree& post_dominators_;
  bool fences_ = false;
  llvm::SetVector<const llvm::Value*> deciding_;
};

}  // namespace

const Instruction* find_wait(llvm::Function& kernel) {
  llvm::DominatorTree dominators(kernel);
  const llvm::PostDominatorTree post_dominators(kernel);
  llvm::LoopInfo loops(dominators);
  for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
    if (const Instruction* const wait = Loop(*loop, dominators, post_dominators).find_wait()) return wait;
  }
  return nullptr;
}

}  // namespace weir::workgroup
