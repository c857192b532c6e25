// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/lockstep.hpp"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include <vector>

#include "kernels/workgroup/llvm_names.hpp"

namespace weir::workgroup {
namespace {

class SharedMemory {
 public:
  SharedMemory(llvm::Function& kernel, const Variables& shared)
      : dominators_(kernel), loops_(dominators_), shared_(shared) {}

  // Visits what may run behind the store and before the next barrier.
  void check(llvm::StoreInst& store) {
    if (objects(store.getPointerOperand()).empty()) return;
    std::vector<llvm::BasicBlock::iterator> begins = {std::next(store.getIterator())};
    llvm::SmallPtrSet<const llvm::BasicBlock*, 16> seen;
    while (!begins.empty()) {
      llvm::BasicBlock::iterator at = begins.back();
      llvm::BasicBlock& block = *at->getParent();
      begins.pop_back();
      while (at != block.end() && !separates(*at)) {
        if (auto* const load = dyn_cast<llvm::LoadInst>(&*at); load != nullptr && may_exchange(store, *load)) {
          store.setVolatile(true);
          load->setVolatile(true);
        }
        ++at;
      }
      if (at != block.end()) continue;
      for (llvm::BasicBlock* next : successors(&block)) {
        if (seen.insert(next).second) begins.push_back(next->begin());
      }
    }
  }

 private:
  static bool separates(const Instruction& instruction) {
    const Builtin kind = called_builtin(&instruction);
    return kind == Builtin::block_barrier || kind == Builtin::block_count || is_warp_operation(kind);
  }

  // The variables in shared memory that the address may be in.
  llvm::SmallPtrSet<const llvm::Value*, 4> objects(const llvm::Value* address) const {
    llvm::SmallVector<const llvm::Value*> found;
    llvm::getUnderlyingObjects(address, found, nullptr, 0);
    llvm::SmallPtrSet<const llvm::Value*, 4> result;
    for (const llvm::Value* object : found) {
      const auto* const variable = dyn_cast<llvm::GlobalVariable>(object);
      if (variable != nullptr && shared_.contains(const_cast<llvm::GlobalVariable*>(variable))) result.insert(object);
    }
    return result;
  }

  // Whether one lane may load what another one stored: from one variable, at another address. An address that is computed in
  // a loop differs from one iteration to the next.
  bool may_exchange(const llvm::StoreInst& store, const llvm::LoadInst& load) const {
    const llvm::Value* const address = store.getPointerOperand();
    const auto* const computed = dyn_cast<Instruction>(address);
    const auto* const other = dyn_cast<Instruction>(load.getPointerOperand());
    if (load.getPointerOperand() == address || (computed != nullptr && other != nullptr && computed->isIdenticalTo(other))) {
      const bool is_later = store.getParent() == load.getParent()
                                ? !store.comesBefore(&load)
                                : !dominators_.dominates(store.getParent(), load.getParent());
      if (!is_later || computed == nullptr || loops_.getLoopFor(computed->getParent()) == nullptr) return false;
    }
    const auto stored = objects(address);
    return llvm::any_of(objects(load.getPointerOperand()),
                        [&](const llvm::Value* object) { return stored.contains(object); });
  }

  llvm::DominatorTree dominators_;
  llvm::LoopInfo loops_;
  const Variables& shared_;
};

}  // namespace

void keep_lockstep(llvm::Function& kernel, const Variables& shared) {
  SharedMemory memory(kernel, shared);
  for (llvm::Instruction& instruction : llvm::instructions(kernel)) {
    if (auto* const store = dyn_cast<llvm::StoreInst>(&instruction)) memory.check(*store);
  }
}

}  // namespace weir::workgroup
