// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/warp_structure.hpp"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/Scalarizer.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/FixIrreducible.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>
#include <llvm/Transforms/Utils/LowerSwitch.h>
#include <llvm/Transforms/Utils/UnifyLoopExits.h>

#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/full_warps.hpp"
#include "kernels/workgroup/llvm_names.hpp"
#include "kernels/workgroup/passes.hpp"
#include "kernels/workgroup/refusal.hpp"
#include "kernels/workgroup/regions.hpp"

namespace weir::workgroup {
namespace {

constexpr const char* lane_end = "weir.lane_end";

// Gives the function one end that all paths reach, which the structurizer requires. Each path that leads directly to this
// end gets its own mark.
void unify_ends(llvm::Function& function) {
  llvm::SmallVector<BasicBlock*> ends;
  for (BasicBlock& block : function) {
    if (isa<llvm::ReturnInst>(block.getTerminator()) || isa<llvm::UnreachableInst>(block.getTerminator()))
      ends.push_back(&block);
  }
  BasicBlock* const end = BasicBlock::Create(function.getContext(), "end", &function);
  llvm::ReturnInst::Create(function.getContext(), end);
  const llvm::FunctionCallee mark = function.getParent()->getOrInsertFunction(
      lane_end, llvm::FunctionType::get(llvm::Type::getVoidTy(function.getContext()), false));
  const auto mark_end = [&](BasicBlock* block) {
    llvm::CallInst::Create(mark, "", block->getTerminator())->setConvergent();
  };
  for (BasicBlock* block : ends) {
    llvm::Instruction* const last = block->getTerminator();
    llvm::BranchInst::Create(end, last);
    last->eraseFromParent();
    if (block->size() > 1 || llvm::pred_empty(block)) {
      mark_end(block);
      continue;
    }
    const llvm::SmallVector<BasicBlock*> from(llvm::predecessors(block));
    for (BasicBlock* before : llvm::SmallSetVector<BasicBlock*, 4>(from.begin(), from.end()))
      mark_end(llvm::SplitBlockPredecessors(block, {before}, ".ends"));
  }
}

// Splits vectors of the program into scalars, including their loads and stores, because the lanes become the elements of
// vectors.
llvm::ScalarizerPass make_scalarizer() {
#if LLVM_VERSION_MAJOR >= 17
  llvm::ScalarizerPassOptions options;
  options.ScalarizeLoadStore = true;
  options.ScalarizeVariableInsertExtract = true;
  return llvm::ScalarizerPass(options);
#else
  const auto& options = llvm::cl::getRegisteredOptions();
  const auto option = options.find("scalarize-load-store");
  if (option != options.end() && option->second->getNumOccurrences() == 0)
    option->second->addOccurrence(0, option->first(), "true");
  return llvm::ScalarizerPass();
#endif
}

// Turns conversions between a program's vector and a number into operations on the vector's elements. Clang passes a float4
// as such numbers.
void take_apart_conversions(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* const conversion = dyn_cast<llvm::BitCastInst>(&instruction);
    if (conversion == nullptr) continue;
    llvm::Value* const from = conversion->getOperand(0);
    const bool of_vector = isa<llvm::FixedVectorType>(from->getType());
    auto* const vector = dyn_cast<llvm::FixedVectorType>(of_vector ? from->getType() : conversion->getType());
    if (vector == nullptr || !(of_vector ? conversion->getType() : from->getType())->isIntegerTy()) continue;
    llvm::IRBuilder<> builder(conversion);
    const unsigned bits = vector->getScalarSizeInBits();
    llvm::Type* const element = builder.getIntNTy(bits);
    llvm::Type* const number = of_vector ? conversion->getType() : from->getType();
    llvm::Value* made =
        of_vector ? static_cast<llvm::Value*>(llvm::ConstantInt::get(number, 0)) : llvm::PoisonValue::get(vector);
    for (unsigned k = 0; k < vector->getNumElements(); ++k) {
      if (of_vector) {
        llvm::Value* const part = builder.CreateBitCast(builder.CreateExtractElement(from, k), element);
        made = builder.CreateOr(made, builder.CreateShl(builder.CreateZExt(part, number), k * bits));
      } else {
        llvm::Value* const part = builder.CreateTrunc(builder.CreateLShr(from, k * bits), element);
        made = builder.CreateInsertElement(made, builder.CreateBitCast(part, vector->getElementType()), k);
      }
    }
    conversion->replaceAllUsesWith(made);
    conversion->eraseFromParent();
  }
}

}  // namespace

bool is_lane_end(const llvm::Value* value) { return called_name(value) == lane_end; }

bool WarpDivergence::is_source(const llvm::Value& value) const {
  switch (called_builtin(&value)) {
    case Builtin::lane: return true;
    case Builtin::thread_index: return false;  // uniform from here on: an index of the warp
    case Builtin::ballot:
    case Builtin::shuffle: return !is_always_uniform(value);
    default: return BlockDivergence().is_source(value) && !is_always_uniform(value);
  }
}

bool WarpDivergence::is_always_uniform(const llvm::Value& value) const {
  const Builtin kind = called_builtin(&value);
  return kind == Builtin::active_lanes || asks_for_full_warp(&value) || uniform_.count(&value) != 0;
}

namespace {

// Whether the program names lanes in this call, or means all lanes that have not ended.
bool asks_for_lanes(const llvm::Instruction& instruction) {
  const Builtin kind = called_builtin(&instruction);
  return kind == Builtin::block_barrier || kind == Builtin::ballot || kind == Builtin::shuffle ||
         kind == Builtin::warp_barrier;
}

bool is_barrier(const llvm::Instruction& instruction) {
  const Builtin kind = called_builtin(&instruction);
  return kind == Builtin::block_barrier || kind == Builtin::warp_barrier;
}

using CallPairs = std::vector<std::pair<llvm::Instruction*, llvm::Instruction*>>;

using BlockSet = llvm::SmallPtrSet<const BasicBlock*, 16>;

BlockSet blocks_from(const BasicBlock* first) {
  BlockSet reached{first};
  for (llvm::SmallVector<const BasicBlock*> work{first}; !work.empty();) {
    for (const BasicBlock* next : llvm::successors(work.pop_back_val())) {
      if (reached.insert(next).second) work.push_back(next);
    }
  }
  return reached;
}

// Finds pairs of a lane end and a call from which control flow cannot reach that lane end. A barrier is in no pair with an
// end that only other warps take.
CallPairs find_early_ends(llvm::Function& function, const DivergenceRules& rules) {
  llvm::SmallVector<llvm::Instruction*> ends, calls;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (is_lane_end(&instruction)) ends.push_back(&instruction);
    if (asks_for_lanes(instruction)) calls.push_back(&instruction);
  }
  const Uniformity uniformity(function, rules);
  const llvm::PostDominatorTree post_dominators(function);
  // Whether lanes of one warp may part, some to the end and others to the call.
  const auto may_part = [&](llvm::Instruction* end, llvm::Instruction* call) {
    return llvm::any_of(function, [&](BasicBlock& branch) {
      return uniformity.has_divergent_branch(branch) &&
             blocks_before_join(&branch, post_dominators).count(end->getParent()) != 0 &&
             blocks_from(&branch).count(call->getParent()) != 0;
    });
  };
  CallPairs pairs;
  for (llvm::Instruction* end : ends) {
    for (llvm::Instruction* call : calls) {
      if (llvm::isPotentiallyReachable(call, end) || (is_barrier(*call) && !may_part(end, call))) continue;
      pairs.emplace_back(end, call);
    }
  }
  return pairs;
}

// Finds calls that some lanes skip. The path on which they skip the call has no further calls and later joins the path of
// the other lanes; often it joins in the tail that several returns share. Lanes that skip the call count as ended there,
// unless they might write, on that path, values that must be visible after a barrier.
Calls find_passed_calls(llvm::Function& function, const DivergenceRules& rules) {
  std::vector<std::pair<const llvm::Instruction*, BlockSet>> calls;
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    if (asks_for_lanes(instruction)) calls.emplace_back(&instruction, blocks_from(instruction.getParent()));
  }
  Calls passed;
  if (calls.empty()) return passed;
  const Uniformity uniformity(function, rules);
  BlockSet apart;  // basic blocks that only some lanes may run
  for (const BasicBlock& branch : function) {
    if (!uniformity.has_divergent_branch(branch)) continue;
    const BlockSet behind = blocks_from(&branch);
    apart.insert(behind.begin(), behind.end());
  }
  for (const BasicBlock& branch : function) {
    if (apart.count(&branch) == 0 || branch.getTerminator()->getNumSuccessors() < 2) continue;
    const BlockSet behind = blocks_from(&branch);
    for (const BasicBlock* next : llvm::successors(&branch)) {
      const BlockSet there = blocks_from(next);
      if (llvm::any_of(calls, [&](const auto& call) { return there.count(call.first->getParent()) != 0; })) continue;
      for (const auto& [call, after] : calls) {
        if (behind.count(call->getParent()) == 0) continue;
        const bool joined = llvm::any_of(there, [&after = after](const BasicBlock* block) {
          return after.count(block) != 0 && llvm::any_of(*block, [](const llvm::Instruction& i) { return is_lane_end(&i); });
        });
        if (is_barrier(*call) ? after.count(next) != 0 : joined) passed.insert(call);
      }
    }
  }
  return passed;
}

// The structurizer visits the second successor of a branch first, so make that the one that ends lanes.
void put_ends_first(llvm::Function& function) {
  for (BasicBlock& block : function) {
    auto* const branch = dyn_cast<llvm::BranchInst>(block.getTerminator());
    if (branch == nullptr || !branch->isConditional()) continue;
    const auto ends = [](BasicBlock* at) {
      for (unsigned steps = 0; at != nullptr && steps < 4; ++steps, at = at->getSingleSuccessor()) {
        if (llvm::any_of(*at, [](llvm::Instruction& instruction) { return is_lane_end(&instruction); })) return true;
      }
      return false;
    };
    if (!ends(branch->getSuccessor(0)) || ends(branch->getSuccessor(1))) continue;
    llvm::IRBuilder<> builder(branch);
    branch->setCondition(builder.CreateNot(branch->getCondition()));
    branch->swapSuccessors();
  }
}

}  // namespace

Calls structurize(llvm::Function& function, const DivergenceRules& rules) {
  unify_ends(function);
  take_apart_conversions(function);
  run_passes(function, llvm::InstCombinePass(), make_scalarizer(), llvm::InstCombinePass(), llvm::EarlyCSEPass(false),
             llvm::ADCEPass(), llvm::LowerSwitchPass(), llvm::LoopSimplifyPass(), llvm::FixIrreduciblePass(),
             llvm::UnifyLoopExitsPass(), llvm::LoopSimplifyPass());
  const CallPairs early_ends = find_early_ends(function, rules);
  Calls before_ends = find_passed_calls(function, rules);
  put_ends_first(function);
  llvm::legacy::FunctionPassManager manager(function.getParent());
  manager.add(llvm::createTargetTransformInfoWrapperPass(divergence_target(function.getParent()->getDataLayout(), rules)));
  manager.add(llvm::createStructurizeCFGPass(true));
  manager.doInitialization();
  manager.run(function);
  manager.doFinalization();
  run_passes(function, llvm::LoopSimplifyPass(), llvm::LCSSAPass());
  for (const auto& [end, call] : early_ends) {
    if (!llvm::isPotentiallyReachable(call, end)) continue;
    // Writes of lanes that end must be visible after a barrier, so a kernel with a barrier here is refused.
    if (is_barrier(*call)) throw Refused("lanes of a warp return while others go on", end);
    before_ends.insert(call);
  }
  return before_ends;
}

LaneMasks::LaneMasks(llvm::Function& function, const DivergenceRules& rules)
    : function_(function),
      uniformity_(std::make_unique<Uniformity>(function, rules)),
      dominators_(function),
      post_dominators_(function),
      loops_(dominators_) {
  for (BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function)) {
    order_[block] = static_cast<unsigned>(blocks_.size());
    blocks_.push_back(block);
    const auto* const branch = dyn_cast<llvm::BranchInst>(block->getTerminator());
    if (branch == nullptr || !branch->isConditional()) continue;
    if (uniformity_->has_divergent_branch(*block) || uniformity_->is_divergent(*branch->getCondition()))
      divergent_branches_.insert(block);
  }
  find_divergent_loops();
  number_masks();
  check_joins();
  check_loops();
}

void LaneMasks::find_divergent_loops() {
  for (llvm::Loop* loop : loops_.getLoopsInPreorder()) {
    llvm::SmallVector<BasicBlock*> exiting;
    loop->getExitingBlocks(exiting);
    if (llvm::none_of(exiting, [&](BasicBlock* block) { return is_divergent_branch(block); })) continue;
    divergent_loops_.insert(loop);
    if (exiting.size() != 1 || exiting[0] != loop->getLoopLatch() || loop->getLoopPreheader() == nullptr ||
        loop->getExitBlock() == nullptr || !loop->hasDedicatedExits()) {
      throw Refused("lanes leave a loop in several ways", loop->getHeader()->getTerminator());
    }
  }
}

namespace {

bool begins_full_warps(const BasicBlock& branch, const BasicBlock& block) {
  const auto* const end = dyn_cast<llvm::BranchInst>(branch.getTerminator());
  return end != nullptr && end->isConditional() && asks_for_full_warp(end->getCondition()) &&
         end->getSuccessor(0) == &block && block.getSinglePredecessor() == &branch;
}

}  // namespace

void LaneMasks::number_masks() {
  masks_.emplace_back();
  const auto add = [&](BasicBlock* block, const Mask& mask) {
    mask_of_[block] = static_cast<int>(masks_.size());
    masks_.push_back(mask);
  };
  for (BasicBlock* block : blocks_) {
    if (block == &function_.getEntryBlock()) {
      mask_of_[block] = all;
      continue;
    }
    if (is_header_of_divergent_loop(block)) {
      llvm::Loop* const loop = loops_.getLoopFor(block);
      add(block, {mask_of(loop->getLoopPreheader()), nullptr, false, loop});
      continue;
    }
    BasicBlock* const dominator = dominators_.getNode(block)->getIDom()->getBlock();
    if (const llvm::Loop* const left = divergent_loop_left(dominator, block)) {
      if (left->getExitBlock() != block)
        throw Refused("control flow behind a loop is not structured", block->getTerminator());
      mask_of_[block] = mask_of(left->getLoopPreheader());
    } else if (is_divergent_branch(dominator) && !post_dominators_.dominates(block, dominator)) {
      const auto* const branch = llvm::cast<llvm::BranchInst>(dominator->getTerminator());
      if (block->getSinglePredecessor() != dominator || branch->getSuccessor(0) == branch->getSuccessor(1))
        throw Refused("control flow is not structured", block->getTerminator());
      add(block, {mask_of(dominator), dominator, branch->getSuccessor(0) == block, nullptr});
    } else if (mask_of(dominator) != all && begins_full_warps(*dominator, *block)) {
      add(block, {mask_of(dominator), dominator, true, nullptr, true});
    } else {
      mask_of_[block] = mask_of(dominator);
    }
  }
}

// Checks joins of paths: all lanes of the mask must arrive, each lane on one of the paths.
void LaneMasks::check_joins() const {
  for (BasicBlock* block : blocks_) {
    const llvm::Loop* const loop = loops_.getLoopFor(block);
    const bool header = loop != nullptr && loop->getHeader() == block;
    for (BasicBlock* from : llvm::predecessors(block)) {
      if (header && loop->contains(from)) {
        if (mask_of(from) != mask_of(block)) throw Refused("lanes get lost in a loop", from->getTerminator());
        continue;
      }
      if (header && is_divergent_loop(loop)) continue;
      const Mask& own = mask(mask_of(block));
      if (own.full && own.branch == from) continue;
      if (is_divergent_branch(from)) {
        if (own.branch == from && own.loop == nullptr) continue;
        if (!post_dominators_.dominates(block, from) && divergent_loop_left(from, block) == nullptr)
          throw Refused("control flow joins from the side", from->getTerminator());
      }
      for (int at = mask_of(from); at != mask_of(block); at = mask(at).parent) {
        const bool whole = at > all && (mask(at).loop != nullptr ? !mask(at).loop->contains(block)
                                                                 : post_dominators_.dominates(block, mask(at).branch));
        if (!whole) throw Refused("lanes get lost where paths meet", from->getTerminator());
      }
    }
  }
}

void LaneMasks::check_loops() const {
  for (const llvm::Loop* loop : const_cast<llvm::LoopInfo&>(loops_).getLoopsInPreorder()) {
    if (is_divergent_loop(loop)) continue;
    llvm::SmallVector<BasicBlock*> exiting;
    loop->getExitingBlocks(exiting);
    for (BasicBlock* block : exiting) {
      if (mask_of(block) != mask_of(loop->getHeader())) throw Refused("some lanes leave a loop", block->getTerminator());
    }
  }
}

llvm::Loop* LaneMasks::divergent_loop_left(BasicBlock* from, BasicBlock* to) const {
  llvm::Loop* left = nullptr;
  for (llvm::Loop* loop = loops_.getLoopFor(from); loop != nullptr && !loop->contains(to); loop = loop->getParentLoop()) {
    if (is_divergent_loop(loop)) left = loop;
  }
  return left;
}

bool LaneMasks::is_header_of_divergent_loop(BasicBlock* block) const {
  const llvm::Loop* const loop = loops_.getLoopFor(block);
  return loop != nullptr && loop->getHeader() == block && is_divergent_loop(loop);
}

// The mask that contains the same lanes: a full-warp mask is replaced by the mask of which it is a part.
int LaneMasks::mask_it_is(BasicBlock* block) const {
  int number = mask_of(block);
  while (number != all && mask(number).full) number = mask(number).parent;
  return number;
}

bool LaneMasks::comes_whole(BasicBlock* from, BasicBlock* to) const {
  const llvm::Loop* const loop = loops_.getLoopFor(to);
  if (loop != nullptr && loop->getHeader() == to && (loop->contains(from) || is_divergent_loop(loop))) return true;
  return !is_divergent_branch(from) && mask_it_is(from) == mask_it_is(to);
}

}  // namespace weir::workgroup
