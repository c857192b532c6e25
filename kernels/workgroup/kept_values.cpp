// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/kept_values.hpp"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/Local.h>

#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/llvm_names.hpp"

namespace weir::workgroup {
namespace {

using ValueSet = llvm::SmallPtrSet<Instruction*, 16>;

// The basic block in which a use needs its value. For a phi, that is the end of the incoming block.
BasicBlock* block_of(const llvm::Use& use) {
  auto* const user = cast<Instruction>(use.getUser());
  const auto* const phi = dyn_cast<llvm::PHINode>(user);
  return phi != nullptr ? phi->getIncomingBlock(use) : user->getParent();
}

class Keeper {
 public:
  Keeper(BlockFunction& block, const Regions& regions, const Uniformity& uniformity) : block_(block), regions_(regions) {
    for (Instruction& instruction : llvm::instructions(*block.function)) {
      if (!instruction.getType()->isVoidTy() && uniformity.is_divergent(instruction)) divergent_.insert(&instruction);
    }
  }

  KeptValues run() {
    for (Instruction* value : order(live_at_barriers())) {
      if (divergent_.count(value) != 0 && cost(value, 0) <= most_cost) compute_again(value);
    }
    const std::vector<ValueSet> live = live_at_barriers();
    KeptValues kept;
    llvm::DenseMap<Instruction*, unsigned> number;
    for (Instruction* value : order(live)) {
      number[value] = static_cast<unsigned>(kept.all.size());
      kept.all.push_back(make_variable(value));
    }
    for (const ValueSet& values : live) {
      kept.live_in.emplace_back();
      for (Instruction* value : values) kept.live_in.back().push_back(number[value]);
      llvm::sort(kept.live_in.back());
    }
    return kept;
  }

 private:
  static constexpr unsigned most_cost = 12;
  static constexpr unsigned too_much = 1000;

  // Whether the value is computed in a region. Values computed in `top` are available in all regions.
  bool is_local(const Value* value) const {
    const auto* const instruction = dyn_cast<Instruction>(value);
    return instruction != nullptr && instruction->getParent() != block_.top;
  }

  // Computes the values needed at each region's entry, by backward data-flow analysis.
  std::vector<ValueSet> live_at_barriers() const {
    std::vector<ValueSet> result(regions_.all.size());
    if (regions_.all.size() == 1) return result;
    llvm::DenseMap<BasicBlock*, ValueSet> live_in;
    const llvm::SmallVector<BasicBlock*> blocks(llvm::post_order(block_.function));
    for (bool changed = true; changed;) {
      changed = false;
      for (BasicBlock* block : blocks) {
        ValueSet live;
        for (BasicBlock* next : llvm::successors(block)) {
          live.insert(live_in[next].begin(), live_in[next].end());
          for (llvm::PHINode& phi : next->phis()) {
            if (Value* const value = phi.getIncomingValueForBlock(block); is_local(value))
              live.insert(cast<Instruction>(value));
          }
        }
        for (Instruction& instruction : llvm::reverse(*block)) {
          live.erase(&instruction);
          if (isa<llvm::PHINode>(instruction)) continue;
          for (Value* operand : instruction.operands()) {
            if (is_local(operand)) live.insert(cast<Instruction>(operand));
          }
        }
        if (live.size() != live_in[block].size()) {
          live_in[block] = std::move(live);
          changed = true;
        }
      }
    }
    for (unsigned i = 1; i < regions_.all.size(); ++i) result[i] = live_in[regions_.all[i].entry];
    return result;
  }

  // Returns the values in the order of the code, so that each compilation gives the same result.
  std::vector<Instruction*> order(const std::vector<ValueSet>& live) const {
    ValueSet all;
    for (const ValueSet& values : live) all.insert(values.begin(), values.end());
    std::vector<Instruction*> ordered;
    for (Instruction& instruction : llvm::instructions(*block_.function)) {
      if (all.count(&instruction) != 0) ordered.push_back(&instruction);
    }
    return ordered;
  }

  // How many instructions are needed to compute the value again from the thread's index and uniform values.
  unsigned cost(Value* value, unsigned depth) {
    auto* const instruction = dyn_cast<Instruction>(value);
    if (instruction == nullptr || !is_local(value)) return 0;
    if (called_builtin(value) == Builtin::thread_index) return 1;
    if (divergent_.count(instruction) == 0) return 0;
    if (depth > 8) return too_much;
    const auto known = costs_.find(instruction);
    if (known != costs_.end()) return known->second;
    unsigned result = too_much;
    const bool integer = isa<llvm::BinaryOperator>(instruction) && !instruction->getType()->isFPOrFPVectorTy() &&
                         llvm::isSafeToSpeculativelyExecute(instruction);
    if (integer || isa<llvm::CastInst>(instruction) || isa<llvm::GetElementPtrInst>(instruction) ||
        isa<llvm::SelectInst>(instruction) || isa<llvm::ICmpInst>(instruction) ||
        isa<llvm::InsertElementInst>(instruction) || isa<llvm::ShuffleVectorInst>(instruction)) {
      result = 1;
      for (Value* operand : instruction->operands()) result += cost(operand, depth + 1);
    }
    return costs_[instruction] = std::min(result, too_much);
  }

  Value* copy(Value* value, Instruction* before) {
    auto* const instruction = dyn_cast<Instruction>(value);
    if (instruction == nullptr || !is_local(value) || divergent_.count(instruction) == 0) return value;
    Instruction* const made = instruction->clone();
    for (llvm::Use& operand : made->operands()) operand.set(copy(operand.get(), before));
    made->insertBefore(before);
    made->setDebugLoc({});
    divergent_.insert(made);
    return made;
  }

  void compute_again(Instruction* value) {
    llvm::SmallVector<llvm::Use*> uses;
    for (llvm::Use& use : value->uses()) uses.push_back(&use);
    llvm::DenseMap<BasicBlock*, Value*> made;
    for (llvm::Use* use : uses) {
      BasicBlock* const block = block_of(*use);
      if (block == value->getParent()) continue;
      Value*& again = made[block];
      if (again == nullptr) {
        // Inserts after the barrier, if the block begins with one.
        Instruction* const before =
            regions_.of_entry.count(block) != 0 ? block->getTerminator() : &*block->getFirstInsertionPt();
        again = copy(value, before);
      }
      use->set(again);
    }
    if (llvm::isInstructionTriviallyDead(value)) value->eraseFromParent();
  }

  KeptValue make_variable(Instruction* value) {
    KeptValue kept{nullptr, {}, divergent_.count(value) == 0};
    kept.variable =
        new llvm::AllocaInst(value->getType(), block_.function->getParent()->getDataLayout().getAllocaAddrSpace(),
                             value->getName() + ".kept", block_.top->getTerminator());
    llvm::SmallVector<llvm::Use*> uses;
    for (llvm::Use& use : value->uses()) uses.push_back(&use);
    llvm::DenseMap<BasicBlock*, Value*> at_end;  // values at the end of a phi's incoming blocks
    for (llvm::Use* use : uses) {
      auto* const user = cast<Instruction>(use->getUser());
      const auto load = [&](Instruction* before) {
        return new llvm::LoadInst(value->getType(), kept.variable, value->getName(), before);
      };
      if (isa<llvm::PHINode>(user)) {
        BasicBlock* const from = block_of(*use);
        Value*& loaded = at_end[from];
        if (loaded == nullptr) loaded = load(from->getTerminator());
        use->set(loaded);
      } else {
        use->set(load(user));
      }
    }
    Instruction* const behind =
        isa<llvm::PHINode>(value) ? &*value->getParent()->getFirstInsertionPt() : value->getNextNode();
    new llvm::StoreInst(value, kept.variable, behind);
    kept.set_in.insert(value->getParent());
    return kept;
  }

  BlockFunction& block_;
  const Regions& regions_;
  llvm::SmallPtrSet<const Value*, 32> divergent_;
  llvm::DenseMap<Instruction*, unsigned> costs_;
};

}  // namespace

KeptValues keep_values(BlockFunction& block, const Regions& regions, const Uniformity& uniformity) {
  return Keeper(block, regions, uniformity).run();
}

}  // namespace weir::workgroup
