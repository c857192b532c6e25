// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/strided_loops.hpp"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <optional>

#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/llvm_names.hpp"
#include "kernels/workgroup/passes.hpp"
#include "kernels/workgroup/regions.hpp"
#include "kernels/workgroup/uniformity.hpp"

namespace weir::workgroup {
namespace {

// A loop in LLVM's form: a guard decides on the first iteration, and the latch decides on each later one.
struct StridedLoop : LatchedLoop {
  llvm::BranchInst* guard = nullptr;
  llvm::PHINode* index = nullptr;
  Value* step = nullptr;
  Value* bound = nullptr;  // right side of the guard's comparison
  // The first index in the guard's comparison is base + threadIdx.x; null if it is threadIdx.x alone.
  Value* base = nullptr;
  bool is_signed = false;
  // Instructions in the preheader that may run only if there is an iteration: loads, and their users.
  llvm::SmallSetVector<Instruction*, 4> only_with_turns;
};

Value* without_extension(Value* value) {
  return isa<llvm::ZExtInst>(value) || isa<llvm::SExtInst>(value) ? cast<Instruction>(value)->getOperand(0) : value;
}

bool is_thread_index(const Value* value) { return is_along_x(value, Builtin::thread_index); }

class Finder {
 public:
  explicit Finder(llvm::Function& function)
      : function_(function),
        dominators_(function),
        post_dominators_(function),
        loops_(dominators_),
        uniformity_(function, rules_) {}

  std::vector<StridedLoop> find() {
    std::vector<StridedLoop> found;
    for (llvm::Loop* loop : loops_.getLoopsInPreorder()) {
      StridedLoop strided;
      if (!is_strided(*loop, strided)) continue;
      // The original loop remains, for indices that wrap.
      loop->setLoopAlreadyUnrolled();
      llvm::addStringMetadataToLoop(loop, "llvm.loop.vectorize.enable", 0);
      found.push_back(std::move(strided));
    }
    return found;
  }

 private:
  bool is_uniform(const Value* value) const { return !isa<Instruction>(value) || !uniformity_.is_divergent(*value); }

  // Whether all threads of the block reach this basic block, because no divergent branch is on the way.
  bool is_for_all(BasicBlock* block) {
    return llvm::none_of(function_, [&](BasicBlock& branch) {
      return uniformity_.has_divergent_branch(branch) && blocks_before_join(&branch, post_dominators_).count(block) != 0;
    });
  }

  bool has_structure(const llvm::Loop& loop, StridedLoop& found) {
    if (!found.assign(loop) || waits_in(loop)) return false;
    for (BasicBlock* block : found.blocks) {
      for (Instruction& instruction : *block) {
        if (instruction.isVolatile() || is_acting_call(instruction)) return false;
      }
    }
    for (Instruction& instruction : *found.preheader) {
      if (instruction.isTerminator()) continue;
      const auto* const load = dyn_cast<llvm::LoadInst>(&instruction);
      const bool safe = llvm::isSafeToSpeculativelyExecute(&instruction);
      const bool needs_others = llvm::any_of(instruction.operands(), [&](const llvm::Use& use) {
        const auto* const operand = dyn_cast<Instruction>(use.get());
        return operand != nullptr && found.only_with_turns.count(const_cast<Instruction*>(operand)) != 0;
      });
      if (!safe && (load == nullptr || !load->isSimple() || !is_uniform(load))) return false;
      if (!safe || needs_others) found.only_with_turns.insert(&instruction);
    }
    BasicBlock* const before = found.preheader->getSinglePredecessor();
    found.guard = before != nullptr ? dyn_cast<llvm::BranchInst>(before->getTerminator()) : nullptr;
    return found.guard != nullptr && found.guard->isConditional() && found.guard->getSuccessor(0) == found.preheader &&
           isa<llvm::PHINode>(found.exit->front()) == (found.exit->size() > 1) &&
           found.exit->getFirstNonPHI() == found.exit->getTerminator() &&
           found.exit->getSingleSuccessor() == found.guard->getSuccessor(1) && is_for_all(before);
  }

  bool has_index(const llvm::Loop& loop, StridedLoop& found) {
    const auto* const end = cast<llvm::BranchInst>(found.latch->getTerminator());
    const auto* const again = dyn_cast<llvm::ICmpInst>(end->getCondition());
    const auto* const first = dyn_cast<llvm::ICmpInst>(found.guard->getCondition());
    if (end->getSuccessor(0) != found.header || again == nullptr || first == nullptr ||
        !llvm::ICmpInst::isLT(again->getPredicate()) || !llvm::ICmpInst::isLT(first->getPredicate())) {
      return false;
    }
    const auto* const next = dyn_cast<llvm::BinaryOperator>(again->getOperand(0));
    if (next == nullptr || next->getOpcode() != Instruction::Add) return false;
    for (unsigned k = 0; k < 2; ++k) {
      auto* const index = dyn_cast<llvm::PHINode>(next->getOperand(k));
      if (index == nullptr || index->getParent() != found.header) continue;
      found.index = index;
      found.step = next->getOperand(1 - k);
      break;
    }
    if (found.index == nullptr || found.index->getIncomingValueForBlock(found.latch) != next ||
        !loop.isLoopInvariant(found.step) || !is_uniform(found.step) ||
        (isa<Instruction>(found.step) && found.only_with_turns.count(cast<Instruction>(found.step)) != 0)) {
      return false;
    }
    // The signedness comes from the guard: LLVM may widen the loop's numbers, and its comparisons may then be unsigned.
    found.is_signed = first->isSigned();
    found.bound = first->getOperand(1);
    Value* const start = found.index->getIncomingValueForBlock(found.preheader);
    const auto fits = [&](Value* wide, Value* narrow) {
      return wide == narrow || (without_extension(wide) == narrow &&
                                (isa<llvm::SExtInst>(wide) == found.is_signed || is_thread_index(narrow)));
    };
    Value* const wide_bound = again->getOperand(1);
    if (!fits(start, first->getOperand(0)) || without_extension(wide_bound) != without_extension(found.bound) ||
        (wide_bound != found.bound && without_extension(wide_bound) != found.bound) || !is_uniform(found.bound)) {
      return false;
    }
    // After the guard has shown that the bound is positive, a signed and an unsigned comparison are equivalent.
    if (again->isSigned() != found.is_signed && !(found.is_signed && is_thread_index(first->getOperand(0)))) return false;
    return is_linear(first->getOperand(0), found.base);
  }

  bool is_linear(Value* value, Value*& base) const {
    if (is_thread_index(value)) return true;
    auto* const sum = dyn_cast<llvm::BinaryOperator>(value);
    if (sum == nullptr || sum->getOpcode() != Instruction::Add) return false;
    for (unsigned k = 0; k < 2; ++k) {
      if (!is_uniform(sum->getOperand(1 - k)) || !is_thread_index(without_extension(sum->getOperand(k)))) continue;
      base = sum->getOperand(1 - k);
      return true;
    }
    return false;
  }

  // Whether a thread that takes no iteration leaves the loop with the initial values.
  static bool has_results_without_turns(const StridedLoop& found) {
    BasicBlock* const behind = found.exit->getSingleSuccessor();
    const auto without_turns = [&](Value* value) -> Value* {
      auto* const result = dyn_cast<llvm::PHINode>(value);
      if (result == nullptr || result->getParent() != found.exit) return value;
      Value* initial = nullptr;
      for (llvm::PHINode& phi : found.header->phis()) {
        if (&phi == found.index || phi.getIncomingValueForBlock(found.latch) != result->getIncomingValue(0)) continue;
        Value* const own = phi.getIncomingValueForBlock(found.preheader);
        if (initial != nullptr && initial != own) return nullptr;  // the loop's result does not show which variable it is
        initial = own;
      }
      return initial;
    };
    for (llvm::PHINode& phi : found.exit->phis()) {
      if (phi.getNumIncomingValues() != 1 || without_turns(&phi) == nullptr) return false;
      for (const llvm::User* user : phi.users()) {
        if (!isa<llvm::PHINode>(user) || cast<Instruction>(user)->getParent() != behind) return false;
      }
    }
    return llvm::all_of(behind->phis(), [&](llvm::PHINode& phi) {
      return phi.getIncomingValueForBlock(found.guard->getParent()) ==
             without_turns(phi.getIncomingValueForBlock(found.exit));
    });
  }

  bool is_strided(const llvm::Loop& loop, StridedLoop& found) {
    return has_structure(loop, found) && has_index(loop, found) && has_results_without_turns(found);
  }

  llvm::Function& function_;
  llvm::DominatorTree dominators_;
  llvm::PostDominatorTree post_dominators_;
  llvm::LoopInfo loops_;
  BlockDivergence rules_;
  Uniformity uniformity_;
};

// Adds a loop that all threads of the block run together: in each iteration, the threads whose index is below the bound run
// the body.
class Stepper {
 public:
  Stepper(BlockFunction& block, const StridedLoop& loop)
      : block_(block), loop_(loop), builder_(block.function->getContext()), type_(loop.index->getType()) {}

  void make() {
    BasicBlock* const before = loop_.guard->getParent();
    // Moves instructions of the preheader to a place before the guard, because both loops need their values.
    for (Instruction& computed : llvm::make_early_inc_range(*loop_.preheader)) {
      if (computed.isTerminator() || loop_.only_with_turns.count(&computed) != 0) continue;
      computed.dropPoisonGeneratingFlags();
      computed.moveBefore(loop_.guard);
    }
    BasicBlock* const alone = llvm::SplitBlock(before, loop_.guard);
    BasicBlock* const enter = make_block("together");
    BasicBlock* const head = make_block("turn");
    BasicBlock* const join = make_block("turned");
    Instruction* const old = before->getTerminator();
    builder_.SetInsertPoint(old);
    const auto widen = [&](Value* value, llvm::Type* type) {
      return loop_.is_signed ? builder_.CreateSExt(value, type) : builder_.CreateZExt(value, type);
    };
    Value* const bound = widen(loop_.bound, type_);
    Value* const base =
        loop_.base != nullptr ? widen(loop_.base, type_) : static_cast<Value*>(llvm::ConstantInt::get(type_, 0));
    // It is enough to test the first thread: if any thread takes an iteration, the first one does.
    builder_.CreateCondBr(builder_.CreateAnd(no_index_wraps(widen), builder_.CreateICmp(less(), base, bound)), enter, alone);
    old->eraseFromParent();
    builder_.SetInsertPoint(enter);
    llvm::ValueToValueMapTy map;
    for (Instruction& computed : *loop_.preheader) {
      if (computed.isTerminator()) continue;
      Instruction* const copy = builder_.Insert(computed.clone());
      llvm::RemapInstruction(copy, map, llvm::RF_IgnoreMissingLocals | llvm::RF_NoModuleLevelChanges);
      map[&computed] = copy;
    }
    const auto mapped = [&](Value* value) { return map.count(value) != 0 ? static_cast<Value*>(map[value]) : value; };
    builder_.CreateBr(head);
    builder_.SetInsertPoint(head);
    std::vector<std::pair<llvm::PHINode*, llvm::PHINode*>> kept;
    llvm::PHINode* const first = builder_.CreatePHI(type_, 2, "first");
    first->addIncoming(base, enter);
    for (llvm::PHINode& phi : loop_.header->phis()) {
      if (&phi == loop_.index) continue;
      llvm::PHINode* const made = builder_.CreatePHI(phi.getType(), 2, phi.getName());
      made->addIncoming(mapped(phi.getIncomingValueForBlock(loop_.preheader)), enter);
      map[&phi] = made;
      kept.emplace_back(&phi, made);
    }
    Value* const thread = call_builtin(builder_, "__weir_tid", {builder_.getInt32(0)},
                                       1U << 16U);  // blocks that run as one have so many threads
    Value* const index = builder_.CreateAdd(first, builder_.CreateZExtOrTrunc(thread, type_), "index");
    map[loop_.index] = index;
    BasicBlock* const body = copy_body(map, join);
    builder_.CreateCondBr(builder_.CreateICmp(less(), index, bound), body, join);
    builder_.SetInsertPoint(join);
    auto* const last = cast<BasicBlock>(&*map[loop_.latch]);
    llvm::DenseMap<Value*, llvm::PHINode*> results;
    for (const auto& [phi, made] : kept) {
      Value* const old_value = phi->getIncomingValueForBlock(loop_.latch);
      llvm::PHINode* const joined = builder_.CreatePHI(phi->getType(), 2);
      joined->addIncoming(made, head);
      joined->addIncoming(mapped(old_value), last);
      made->addIncoming(joined, join);
      results[old_value] = joined;
    }
    builder_.CreateCall(rejoin_function(*block_.function->getParent()));
    Value* const next = builder_.CreateAdd(first, loop_.step, "next");
    first->addIncoming(next, join);
    builder_.CreateCondBr(builder_.CreateICmp(less(), next, bound), head, loop_.exit);
    for (llvm::PHINode& phi : loop_.exit->phis()) phi.addIncoming(results.lookup(phi.getIncomingValue(0)), join);
  }

 private:
  BasicBlock* make_block(const char* name) {
    return BasicBlock::Create(block_.function->getContext(), name, block_.function, loop_.header);
  }
  llvm::CmpInst::Predicate less() const { return loop_.is_signed ? llvm::CmpInst::ICMP_SLT : llvm::CmpInst::ICMP_ULT; }

  // Computed with twice as many bits, so that this itself cannot wrap.
  template <class Widen>
  Value* no_index_wraps(const Widen& widen) {
    const unsigned bits = type_->getIntegerBitWidth();
    llvm::Type* const wide = builder_.getIntNTy(2 * bits);
    const auto most = [&](unsigned of_bits) {
      const llvm::APInt value =
          loop_.is_signed ? llvm::APInt::getSignedMaxValue(of_bits) : llvm::APInt::getMaxValue(of_bits);
      return llvm::ConstantInt::get(wide, value.zext(2 * bits));
    };
    Value* const step = widen(loop_.step, wide);
    Value* const threads = builder_.CreateZExtOrTrunc(
        block_.joins_blocks ? block_.parameter(BlockFunction::row) : block_.block_size[0], wide);
    // The first thread is below the bound when the others compute their indices, also those beyond the bound.
    Value* const end = builder_.CreateAdd(widen(loop_.bound, wide),
                                          builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, step, threads));
    Value* fits = builder_.CreateAnd(builder_.CreateICmpSGT(step, llvm::ConstantInt::get(wide, 0)),
                                     builder_.CreateICmpSLE(end, most(bits)));
    if (loop_.base == nullptr) return fits;
    Value* const last = builder_.CreateAdd(widen(loop_.base, wide), threads);
    return builder_.CreateAnd(fits, builder_.CreateICmpSLE(last, most(loop_.base->getType()->getIntegerBitWidth())));
  }

  BasicBlock* copy_body(llvm::ValueToValueMapTy& map, BasicBlock* join) {
    // Phis of the loop's header, and the values that replace them.
    llvm::SmallVector<std::pair<llvm::PHINode*, Value*>> known;
    for (llvm::PHINode& phi : loop_.header->phis()) known.emplace_back(&phi, map[&phi]);
    const llvm::SmallVector<BasicBlock*> copies = loop_.copy(map, "");
    for (const auto& [phi, value] : known) {
      cast<Instruction>(&*map[phi])->eraseFromParent();
      map[phi] = value;
    }
    llvm::remapInstructionsInBlocks(copies, map);
    auto* const last = cast<BasicBlock>(&*map[loop_.latch]);
    Instruction* const end = last->getTerminator();
    llvm::BranchInst::Create(join, end);
    end->eraseFromParent();
    return cast<BasicBlock>(&*map[loop_.header]);
  }

  BlockFunction& block_;
  const StridedLoop& loop_;
  llvm::IRBuilder<> builder_;
  llvm::Type* const type_;
};

}  // namespace

unsigned step_together(BlockFunction& block) {
  const std::vector<StridedLoop> loops = Finder(*block.function).find();
  for (const StridedLoop& loop : loops) Stepper(block, loop).make();
  if (!loops.empty()) run_passes(*block.function, llvm::LoopSimplifyPass(), llvm::LCSSAPass());
  return static_cast<unsigned>(loops.size());
}

}  // namespace weir::workgroup
