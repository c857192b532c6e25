// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/full_warps.hpp"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/llvm_names.hpp"
#include "kernels/workgroup/passes.hpp"
#include "kernels/workgroup/warp_structure.hpp"

namespace weir::workgroup {
namespace {

constexpr const char* full_warp = "weir.full_warp.";
constexpr std::size_t most_instructions = 100;

struct RowLoop {
  std::vector<BasicBlock*> blocks;
  BasicBlock* preheader = nullptr;
  BasicBlock* header = nullptr;
  BasicBlock* latch = nullptr;
  BasicBlock* exit = nullptr;
  llvm::CmpInst::Predicate predicate{};  // the loop continues while `index` compares to `bound` in this way
  Value* index = nullptr;
  Value* bound = nullptr;
};

bool is_row_loop(const llvm::Loop& loop, const Uniformity& uniformity, RowLoop& found) {
  found.blocks.assign(loop.block_begin(), loop.block_end());
  found.preheader = loop.getLoopPreheader();
  found.header = loop.getHeader();
  found.latch = loop.getLoopLatch();
  found.exit = loop.getExitBlock();
  if (!loop.isInnermost() || found.preheader == nullptr || found.latch == nullptr || found.exit == nullptr ||
      loop.getExitingBlock() != found.latch || !loop.hasDedicatedExits()) {
    return false;
  }
  const auto* const end = dyn_cast<llvm::BranchInst>(found.latch->getTerminator());
  const auto* const again = end != nullptr ? dyn_cast<llvm::ICmpInst>(end->getCondition()) : nullptr;
  if (again == nullptr || !again->isRelational() || !uniformity.is_divergent(*again)) return false;
  found.predicate = end->getSuccessor(0) == found.header ? again->getPredicate() : again->getInversePredicate();
  found.index = again->getOperand(0);
  found.bound = again->getOperand(1);
  if (!loop.isLoopInvariant(found.bound)) {
    std::swap(found.index, found.bound);
    found.predicate = llvm::CmpInst::getSwappedPredicate(found.predicate);
  }
  if (!loop.isLoopInvariant(found.bound) || loop.isLoopInvariant(found.index) ||
      !(found.index->getType()->isIntegerTy(32) || found.index->getType()->isIntegerTy(64)))
    return false;
  std::size_t instructions = 0;
  bool has_accesses = false;
  for (const BasicBlock* block : found.blocks) {
    instructions += block->size();
    for (const Instruction& instruction : *block) {
      const bool acts = isa<llvm::CallBase>(instruction) && instruction.mayHaveSideEffects() && !is_hint(instruction);
      if (acts || instruction.isAtomic() || instruction.isVolatile()) return false;
      has_accesses |= llvm::getLoadStorePointerOperand(&instruction) != nullptr;
    }
  }
  return has_accesses && instructions <= most_instructions;
}

class FullWarps {
 public:
  explicit FullWarps(RowLoop& loop) : loop_(loop), builder_(loop.header->getContext()) {}

  void make() {
    BasicBlock* const enter = make_block("full.enter");
    BasicBlock* const left = make_block("full.left");
    BasicBlock* const between = make_block("full.end");
    BasicBlock* const rest = make_block("rest");
    llvm::SmallVector<BasicBlock*> copies;
    for (BasicBlock* block : loop_.blocks) {
      copies.push_back(llvm::CloneBasicBlock(block, map_, ".full", function()));
      map_[block] = copies.back();
    }
    map_[loop_.preheader] = enter;
    llvm::remapInstructionsInBlocks(copies, map_);
    auto* const header = cast<BasicBlock>(&*map_[loop_.header]);
    auto* const latch = cast<BasicBlock>(&*map_[loop_.latch]);
    Instruction* const begin = loop_.preheader->getTerminator();
    builder_.SetInsertPoint(begin);
    Value* const zero = llvm::ConstantInt::get(loop_.index->getType(), 0);
    builder_.CreateCondBr(ask(llvm::CmpInst::ICMP_EQ, zero, zero), enter, between);
    begin->eraseFromParent();
    builder_.SetInsertPoint(enter);
    builder_.CreateBr(header);
    Instruction* const end = latch->getTerminator();
    builder_.SetInsertPoint(end);
    builder_.CreateCondBr(ask(loop_.predicate, copy_of(loop_.index), loop_.bound), header, left);
    end->eraseFromParent();
    // Code between the loop for full warps and the original loop. It repeats the comparison, so that the first loop need not
    // compute it for each lane.
    builder_.SetInsertPoint(between);
    llvm::PHINode* const more = builder_.CreatePHI(builder_.getInt1Ty(), 2, "more");
    const auto join = [&](Value* without_turns, Value* value) {
      builder_.SetInsertPoint(left, left->begin());
      llvm::PHINode* const leaving = builder_.CreatePHI(value->getType(), 1);
      leaving->addIncoming(copy_of(value), latch);
      builder_.SetInsertPoint(between, between->begin());
      llvm::PHINode* const joined = builder_.CreatePHI(value->getType(), 2);
      joined->addIncoming(without_turns, loop_.preheader);
      joined->addIncoming(leaving, left);
      return joined;
    };
    for (llvm::PHINode& phi : loop_.header->phis()) {
      llvm::PHINode* const joined =
          join(phi.getIncomingValueForBlock(loop_.preheader), phi.getIncomingValueForBlock(loop_.latch));
      const int place = phi.getBasicBlockIndex(loop_.preheader);
      phi.setIncomingValue(static_cast<unsigned>(place), joined);
      phi.setIncomingBlock(static_cast<unsigned>(place), rest);
    }
    for (llvm::PHINode& phi : loop_.exit->phis()) {
      Value* const value = phi.getIncomingValueForBlock(loop_.latch);
      phi.addIncoming(join(llvm::PoisonValue::get(value->getType()), value), between);
    }
    builder_.SetInsertPoint(left, left->begin());
    llvm::PHINode* const index = builder_.CreatePHI(loop_.index->getType(), 1);
    index->addIncoming(copy_of(loop_.index), latch);
    builder_.SetInsertPoint(left);
    more->addIncoming(builder_.getTrue(), loop_.preheader);
    more->addIncoming(builder_.CreateICmp(loop_.predicate, index, loop_.bound), left);
    builder_.CreateBr(between);
    builder_.SetInsertPoint(between);
    builder_.CreateCondBr(more, rest, loop_.exit);
    builder_.SetInsertPoint(rest);
    builder_.CreateBr(loop_.header);
  }

 private:
  llvm::Function* function() const { return loop_.header->getParent(); }
  BasicBlock* make_block(const char* name) {
    return BasicBlock::Create(builder_.getContext(), name, function(), loop_.header);
  }
  Value* copy_of(Value* value) { return map_.count(value) != 0 ? static_cast<Value*>(map_[value]) : value; }

  Value* ask(llvm::CmpInst::Predicate predicate, Value* a, Value* b) {
    llvm::Type* const type = a->getType();
    const llvm::FunctionCallee callee = function()->getParent()->getOrInsertFunction(
        full_warp + std::to_string(type->getIntegerBitWidth()),
        llvm::FunctionType::get(builder_.getInt1Ty(), {builder_.getInt32Ty(), type, type}, false));
    llvm::CallInst* const call = builder_.CreateCall(callee, {builder_.getInt32(predicate), a, b});
    call->setConvergent();
    call->setOnlyAccessesInaccessibleMemory();
    call->setDoesNotThrow();
    return call;
  }

  RowLoop& loop_;
  llvm::IRBuilder<> builder_;
  llvm::ValueToValueMapTy map_;
};

}  // namespace

void step_full_warps(llvm::Function& function) {
  run_passes(function, llvm::LoopSimplifyPass(), llvm::LCSSAPass());
  std::vector<RowLoop> found;
  {
    const llvm::DominatorTree dominators(function);
    llvm::LoopInfo loops(dominators);
    const WarpDivergence rules;
    const Uniformity uniformity(function, rules);
    for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
      RowLoop row;
      if (is_row_loop(*loop, uniformity, row)) found.push_back(std::move(row));
    }
  }
  for (RowLoop& loop : found) FullWarps(loop).make();
}

bool asks_for_full_warp(const llvm::Value* value) {
  const auto* const call = dyn_cast<llvm::CallInst>(value);
  return call != nullptr && call->getCalledFunction() != nullptr &&
         call->getCalledFunction()->getName().starts_with(full_warp);
}

}  // namespace weir::workgroup
