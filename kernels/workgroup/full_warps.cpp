// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/full_warps.hpp"

#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include <optional>

#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/llvm_names.hpp"
#include "kernels/workgroup/passes.hpp"
#include "kernels/workgroup/regions.hpp"
#include "kernels/workgroup/warp_structure.hpp"

namespace weir::workgroup {
namespace {

constexpr const char* full_warp = "weir.full_warp.";
constexpr std::size_t most_instructions = 100;

struct RowLoop : LatchedLoop {
  llvm::CmpInst::Predicate predicate{};  // the loop continues while `index` compares to `bound` in this way
  Value* index = nullptr;
  Value* bound = nullptr;
  llvm::BranchInst* guard = nullptr;  // the branch around the loop, if it compares in this way, too
};

// Whether code gains by running without masks: it has accesses, is small, and does nothing but compute.
bool gains(const std::vector<BasicBlock*>& blocks) {
  std::size_t instructions = 0;
  bool has_accesses = false;
  for (const BasicBlock* block : blocks) {
    instructions += block->size();
    for (const Instruction& instruction : *block) {
      if (is_acting_call(instruction) || instruction.isAtomic() || instruction.isVolatile()) return false;
      has_accesses |= llvm::getLoadStorePointerOperand(&instruction) != nullptr;
    }
  }
  return has_accesses && instructions <= most_instructions;
}

// Whether the value rises by a constant from each lane to the next, as far as that is easily seen.
bool is_line(const Value* value, const Uniformity& uniformity, unsigned depth = 0) {
  const auto* const instruction = dyn_cast<Instruction>(value);
  if (instruction == nullptr || !uniformity.is_divergent(*value) || called_builtin(value) == Builtin::lane) return true;
  const auto* const binary = dyn_cast<llvm::BinaryOperator>(value);
  const unsigned opcode = binary != nullptr ? binary->getOpcode() : 0;
  const bool adds = opcode == Instruction::Add || opcode == Instruction::Or;
  const bool scales =
      (opcode == Instruction::Mul || opcode == Instruction::Shl) && isa<llvm::ConstantInt>(binary->getOperand(1));
  return depth < 8 && (adds || scales || isa<llvm::CastInst>(value)) &&
         llvm::all_of(instruction->operands(),
                      [&](const llvm::Use& use) { return is_line(use.get(), uniformity, depth + 1); });
}

// Whether the comparison holds for all lanes or for none in most warps: it has a bound that is no small constant.
bool holds_for_most(const llvm::ICmpInst& comparison, const Uniformity& uniformity) {
  const Value* const bound = comparison.getOperand(1);
  const auto* const constant = dyn_cast<llvm::ConstantInt>(bound);
  return comparison.isRelational() && (bound->getType()->isIntegerTy(32) || bound->getType()->isIntegerTy(64)) &&
         uniformity.is_divergent(comparison) && !uniformity.is_divergent(*bound) &&
         (constant == nullptr || constant->getValue().uge(256)) && is_line(comparison.getOperand(0), uniformity);
}

bool is_row_loop(const llvm::Loop& loop, const Uniformity& uniformity, RowLoop& found) {
  if (!found.assign(loop)) return false;
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
  if (const BasicBlock* const before = found.preheader->getSinglePredecessor(); before != nullptr) {
    auto* const guard = dyn_cast<llvm::BranchInst>(const_cast<Instruction*>(before->getTerminator()));
    const auto* const first =
        guard != nullptr && guard->isConditional() ? dyn_cast<llvm::ICmpInst>(guard->getCondition()) : nullptr;
    if (first != nullptr && holds_for_most(*first, uniformity)) found.guard = guard;
  }
  return gains(found.blocks);
}

// A branch whose condition holds for all lanes of most warps, such as `if (i < n)`, around one basic block.
struct RowGuard {
  llvm::BranchInst* branch;
  llvm::ICmpInst* condition;
  BasicBlock* then;
};

std::optional<RowGuard> find_guard(BasicBlock& block, const Uniformity& uniformity) {
  auto* const branch = dyn_cast<llvm::BranchInst>(block.getTerminator());
  auto* const condition =
      branch != nullptr && branch->isConditional() ? dyn_cast<llvm::ICmpInst>(branch->getCondition()) : nullptr;
  if (condition == nullptr || !holds_for_most(*condition, uniformity)) return std::nullopt;
  for (unsigned k = 0; k < 2; ++k) {
    BasicBlock* const then = branch->getSuccessor(k);
    if (then->getSinglePredecessor() == &block && then->getSingleSuccessor() == branch->getSuccessor(1 - k) &&
        !then->getSingleSuccessor()->isEHPad() && gains({then}))
      return RowGuard{branch, condition, then};
  }
  return std::nullopt;
}

// Builds the question whether all lanes of the warp run here, and `a` compares to `b` in this way in each of them.
Value* ask(llvm::IRBuilder<>& builder, llvm::CmpInst::Predicate predicate, Value* a, Value* b) {
  llvm::Type* const type = a->getType();
  const llvm::FunctionCallee callee = builder.GetInsertBlock()->getModule()->getOrInsertFunction(
      full_warp + std::to_string(type->getIntegerBitWidth()),
      llvm::FunctionType::get(builder.getInt1Ty(), {builder.getInt32Ty(), type, type}, false));
  llvm::CallInst* const call = builder.CreateCall(callee, {builder.getInt32(predicate), a, b});
  call->setConvergent();
  call->setOnlyAccessesInaccessibleMemory();
  call->setDoesNotThrow();
  return call;
}

// Copies the block behind a guard, for warps in which all lanes run it.
void copy_for_full_warps(const RowGuard& guard) {
  BasicBlock* const head = guard.branch->getParent();
  BasicBlock* const join = guard.then->getSingleSuccessor();
  const bool if_true = guard.branch->getSuccessor(0) == guard.then;
  BasicBlock* const some = llvm::SplitBlockPredecessors(join, {head, guard.then}, ".some");
  llvm::ValueToValueMapTy map;
  BasicBlock* const full = llvm::CloneBasicBlock(guard.then, map, ".full", head->getParent());
  llvm::remapInstructionsInBlocks(llvm::SmallVector<BasicBlock*, 1>{full}, map);
  full->getTerminator()->setSuccessor(0, join);
  for (llvm::PHINode& phi : join->phis()) {
    Value* value = phi.getIncomingValueForBlock(some);
    if (auto* const of_some = dyn_cast<llvm::PHINode>(value); of_some != nullptr && of_some->getParent() == some)
      value = of_some->getIncomingValueForBlock(guard.then);
    phi.addIncoming(map.count(value) != 0 ? static_cast<Value*>(map[value]) : value, full);
  }
  BasicBlock* const rest = llvm::SplitBlock(head, guard.branch);
  llvm::IRBuilder<> builder(head->getTerminator());
  const auto predicate = if_true ? guard.condition->getPredicate() : guard.condition->getInversePredicate();
  builder.CreateCondBr(ask(builder, predicate, guard.condition->getOperand(0), guard.condition->getOperand(1)), full, rest);
  head->getTerminator()->eraseFromParent();
  // Only the other warps compare in each lane.
  Instruction* const comparison = guard.condition->clone();
  comparison->insertBefore(guard.branch);
  guard.branch->setCondition(comparison);
}

class FullWarps {
 public:
  explicit FullWarps(RowLoop& loop) : loop_(loop), builder_(loop.header->getContext()) {}

  void make() {
    BasicBlock* const enter = make_block("full.enter");
    BasicBlock* const left = make_block("full.left");
    BasicBlock* const between = make_block("full.end");
    BasicBlock* const rest = make_block("rest");
    const llvm::SmallVector<BasicBlock*> copies = loop_.copy(map_, ".full");
    map_[loop_.preheader] = enter;
    llvm::remapInstructionsInBlocks(copies, map_);
    auto* const header = cast<BasicBlock>(&*map_[loop_.header]);
    auto* const latch = cast<BasicBlock>(&*map_[loop_.latch]);
    Instruction* const begin = loop_.preheader->getTerminator();
    builder_.SetInsertPoint(begin);
    Value* const zero = llvm::ConstantInt::get(loop_.index->getType(), 0);
    const auto* const first =
        loop_.guard != nullptr ? dyn_cast<llvm::ICmpInst>(loop_.guard->getCondition()) : nullptr;
    Value* const full = first != nullptr ? ask_at_guard(*first) : ask(builder_, llvm::CmpInst::ICMP_EQ, zero, zero);
    builder_.SetInsertPoint(begin);
    builder_.CreateCondBr(full, enter, between);
    begin->eraseFromParent();
    builder_.SetInsertPoint(enter);
    builder_.CreateBr(header);
    Instruction* const end = latch->getTerminator();
    builder_.SetInsertPoint(end);
    builder_.CreateCondBr(ask(builder_, loop_.predicate, copy_of(loop_.index), loop_.bound), header, left);
    end->eraseFromParent();
    // Code between the loop for full warps and the original loop. It repeats the comparison, so that the first loop need not
    // compute it for each lane.
    builder_.SetInsertPoint(between);
    llvm::PHINode* const more = builder_.CreatePHI(builder_.getInt1Ty(), 2, "more");
    const auto leave = [&](Value* value) {
      builder_.SetInsertPoint(left, left->begin());
      llvm::PHINode* const leaving = builder_.CreatePHI(value->getType(), 1);
      leaving->addIncoming(copy_of(value), latch);
      return leaving;
    };
    const auto join = [&](Value* without_turns, Value* leaving) {
      builder_.SetInsertPoint(between, between->begin());
      llvm::PHINode* const joined = builder_.CreatePHI(leaving->getType(), 2);
      joined->addIncoming(without_turns, loop_.preheader);
      joined->addIncoming(leaving, left);
      return joined;
    };
    for (llvm::PHINode& phi : loop_.header->phis()) {
      llvm::PHINode* const joined =
          join(phi.getIncomingValueForBlock(loop_.preheader), leave(phi.getIncomingValueForBlock(loop_.latch)));
      const int place = phi.getBasicBlockIndex(loop_.preheader);
      phi.setIncomingValue(static_cast<unsigned>(place), joined);
      phi.setIncomingBlock(static_cast<unsigned>(place), rest);
    }
    for (llvm::PHINode& phi : loop_.exit->phis()) {
      Value* const value = phi.getIncomingValueForBlock(loop_.latch);
      phi.addIncoming(join(llvm::PoisonValue::get(value->getType()), leave(value)), between);
    }
    llvm::PHINode* const index = leave(loop_.index);
    builder_.SetInsertPoint(left);
    llvm::BranchInst* const to_rest = builder_.CreateBr(between);
    more->addIncoming(builder_.getTrue(), loop_.preheader);
    // Often no lane has an iteration left.
    builder_.SetInsertPoint(to_rest);
    Value* const none = ask(builder_, llvm::CmpInst::getInversePredicate(loop_.predicate), index, loop_.bound);
    Value* const some = compare_unless(none, false, *to_rest, loop_.predicate, index, loop_.bound);
    more->addIncoming(some, to_rest->getParent());
    builder_.SetInsertPoint(between);
    builder_.CreateCondBr(more, rest, loop_.exit);
    builder_.SetInsertPoint(rest);
    builder_.CreateBr(loop_.header);
  }

 private:
  BasicBlock* make_block(const char* name) {
    return BasicBlock::Create(builder_.getContext(), name, loop_.header->getParent(), loop_.header);
  }
  Value* copy_of(Value* value) { return map_.count(value) != 0 ? static_cast<Value*>(map_[value]) : value; }

  // Asks at the guard whether all lanes enter the loop. If so, the guard's comparison is not computed in each lane.
  Value* ask_at_guard(const llvm::ICmpInst& first) {
    const bool if_true = loop_.guard->getSuccessor(0) == loop_.preheader;
    Value* const a = first.getOperand(0);
    Value* const b = first.getOperand(1);
    builder_.SetInsertPoint(loop_.guard);
    Value* const full = ask(builder_, if_true ? first.getPredicate() : first.getInversePredicate(), a, b);
    loop_.guard->setCondition(compare_unless(full, if_true, *loop_.guard, first.getPredicate(), a, b));
    return full;
  }

  // Builds a comparison that is computed in each lane only if its result is not `known` already.
  Value* compare_unless(Value* known, bool result, Instruction& before, llvm::CmpInst::Predicate predicate, Value* a,
                        Value* b) {
    BasicBlock* const from = before.getParent();
    builder_.SetInsertPoint(&before);
    llvm::MDNode* const rarely = llvm::MDBuilder(builder_.getContext()).createBranchWeights(1, 1 << 20);
    Instruction* const end = llvm::SplitBlockAndInsertIfThen(builder_.CreateNot(known), &before, false, rarely);
    builder_.SetInsertPoint(end);
    Value* const comparison = builder_.CreateICmp(predicate, a, b);
    builder_.SetInsertPoint(&before);
    llvm::PHINode* const made = builder_.CreatePHI(builder_.getInt1Ty(), 2);
    made->addIncoming(builder_.getInt1(result), from);
    made->addIncoming(comparison, end->getParent());
    return made;
  }

  RowLoop& loop_;
  llvm::IRBuilder<> builder_;
  llvm::ValueToValueMapTy map_;
};

}  // namespace

void step_full_warps(llvm::Function& function) {
  run_passes(function, llvm::LoopSimplifyPass(), llvm::LCSSAPass());
  std::vector<RowLoop> found;
  std::vector<RowGuard> guards;
  {
    const llvm::DominatorTree dominators(function);
    llvm::LoopInfo loops(dominators);
    const WarpDivergence rules;
    const Uniformity uniformity(function, rules);
    for (const llvm::Loop* loop : loops.getLoopsInPreorder()) {
      RowLoop row;
      if (is_row_loop(*loop, uniformity, row)) found.push_back(std::move(row));
    }
    for (BasicBlock& block : function) {
      if (std::optional<RowGuard> guard = find_guard(block, uniformity)) guards.push_back(*guard);
    }
  }
  for (RowLoop& loop : found) FullWarps(loop).make();
  for (const RowGuard& guard : guards) copy_for_full_warps(guard);
}

bool asks_for_full_warp(const llvm::Value* value) { return called_name(value).starts_with(full_warp); }

}  // namespace weir::workgroup
