// SPDX-License-Identifier: Apache-2.0
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Support/KnownBits.h>
#include <llvm/Support/MathExtras.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Utils/Mem2Reg.h>

#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/full_warps.hpp"
#include "kernels/workgroup/llvm_names.hpp"
#include "kernels/workgroup/passes.hpp"
#include "kernels/workgroup/private_arrays.hpp"
#include "kernels/workgroup/refusal.hpp"
#include "kernels/workgroup/regions.hpp"
#include "kernels/workgroup/warp_vectorizer.hpp"

namespace weir::workgroup {
namespace {

// Throws `Refused` for calls that name lanes within a divergent loop. There the pass cannot determine which lanes have left
// the loop, so the call could name lanes that never arrive or have ended.
void throw_if_calls_in_divergent_loops(const LaneMasks& masks) {
  for (BasicBlock* block : masks.blocks()) {
    bool divergent = false;
    for (int at = masks.mask_of(block); at != LaneMasks::all; at = masks.mask(at).parent)
      divergent |= masks.mask(at).loop != nullptr;
    if (!divergent) continue;
    for (Instruction& instruction : *block) {
      const Builtin kind = called_builtin(&instruction);
      const bool names = is_warp_operation(kind) && kind != Builtin::lane && kind != Builtin::active_lanes;
      const auto* const mask =
          names ? dyn_cast<llvm::ConstantInt>(cast<llvm::CallInst>(instruction).getArgOperand(0)) : nullptr;
      if (kind == Builtin::block_barrier || (mask != nullptr && !mask->isZero()))
        throw Refused("threads are asked for in a loop that lanes of a warp leave at different times", &instruction);
    }
  }
}

Value* first_thread(llvm::IRBuilder<>& builder, const BlockFunction& block) {
  const unsigned lanes = block.threads_in_step;
  return builder.CreateMul(call_builtin(builder, "__weir_tid", {builder.getInt32(0)}, 1024 / lanes), builder.getInt32(lanes),
                           "", true, true);
}

// Replaces thread indices. From here on, the index of a "thread" in the loops is the index of a warp.
void replace_thread_index(BlockFunction& block, WarpVersion version) {
  const unsigned lanes = block.threads_in_step;
  const auto calls =
      calls_in(*block.function, [](llvm::CallInst& call) { return called_builtin(&call) == Builtin::thread_index; });
  for (llvm::CallInst* call :
       calls_in(*block.function, [](llvm::CallInst& call) { return called_builtin(&call) == Builtin::lane; })) {
    call->setMetadata(llvm::LLVMContext::MD_range,
                      llvm::MDBuilder(call->getContext()).createRange(llvm::APInt(32, 0), llvm::APInt(32, lanes)));
  }
  if (version == WarpVersion::whole_rows) {
    // Lets LLVM see which low bits of the size are 0.
    llvm::IRBuilder<> builder(block.top->getTerminator());
    auto* const size = cast<Instruction>(block.block_size[0]);
    Value* const rows = builder.CreateUDiv(size, builder.getInt32(lanes));
    Value* const whole = builder.CreateMul(rows, builder.getInt32(lanes), "block.size", true, true);
    size->replaceUsesWithIf(whole, [&](llvm::Use& use) { return use.getUser() != rows; });
    block.block_size[0] = whole;
  }
  for (llvm::CallInst* call : calls) {
    const std::uint64_t axis = cast<llvm::ConstantInt>(call->getArgOperand(0))->getZExtValue();
    if (version == WarpVersion::whole_rows && axis != 0) continue;
    llvm::IRBuilder<> builder(call);
    Value* index =
        builder.CreateAdd(first_thread(builder, block), call_builtin(builder, "__weir_lane", {}, lanes), "", true, true);
    if (version == WarpVersion::any_block) {
      if (axis == 0) {
        index = builder.CreateURem(index, block.block_size[0]);
      } else {
        index = builder.CreateUDiv(index, block.block_size[0]);
        index = axis == 1 ? builder.CreateURem(index, block.block_size[1]) : builder.CreateUDiv(index, block.block_size[1]);
      }
    }
    call->replaceAllUsesWith(index);
    call->eraseFromParent();
  }
}

Value* all_threads(llvm::IRBuilder<>& builder, const BlockFunction& block) {
  return builder.CreateMul(builder.CreateMul(block.block_size[0], block.block_size[1]), block.block_size[2]);
}

const Value* without_cast(const Value* value) {
  const auto* const cast = dyn_cast<llvm::BitCastInst>(value);
  return cast != nullptr ? cast->getOperand(0) : value;
}

// Whether the value is a sum, a product or the like over a whole warp, which all lanes have: to the value of each lane comes
// that of the lane whose number differs in one bit, for each bit once.
bool is_of_whole_warp(const Value* value, const LaneMasks& masks, const llvm::DataLayout& layout) {
  unsigned bits = 0;
  while (bits != warp_size - 1) {
    const auto* const sum = dyn_cast<llvm::BinaryOperator>(value);
    if (sum == nullptr || !sum->isCommutative() ||
        !masks.is_full(masks.mask_of(const_cast<BasicBlock*>(sum->getParent()))))
      return false;
    const unsigned before = bits;
    for (unsigned k = 0; k < 2 && bits == before; ++k) {
      const Value* const other = without_cast(sum->getOperand(k));
      const Value* const own = sum->getOperand(1 - k);
      if (called_builtin(other) != Builtin::shuffle) continue;
      const auto& shuffle = *cast<llvm::CallInst>(other);
      if (without_cast(shuffle.getArgOperand(1)) != own ||
          !masks.is_full(masks.mask_of(const_cast<BasicBlock*>(shuffle.getParent()))))
        continue;
      const auto from = values_of_lanes(shuffle.getArgOperand(2), layout);
      const auto bit = from ? static_cast<unsigned>((*from)[0]) : 0;
      bool all = bit < warp_size && llvm::isPowerOf2_32(bit) && (bits & bit) == 0;
      for (unsigned lane = 0; all && lane < warp_size; ++lane) all = (*from)[lane] == (lane ^ bit);
      if (!all) continue;
      bits |= bit;
      value = own;
    }
    if (bits == before) return false;
  }
  return true;
}

// Repeats the analysis while it finds more uniform values: a shuffle is uniform if all lanes read one lane, and so is a vote
// with a uniform mask, and a sum over a whole warp.
std::unique_ptr<LaneMasks> find_masks(llvm::Function& function, WarpDivergence& rules, bool has_all_lanes) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  for (;;) {
    auto masks = std::make_unique<LaneMasks>(function, rules);
    bool found = false;
    for (Instruction& instruction : llvm::instructions(function)) {
      if (has_all_lanes && isa<llvm::BinaryOperator>(instruction) && masks->uniformity().is_divergent(instruction) &&
          is_of_whole_warp(&instruction, *masks, layout))
        found |= rules.add_uniform(instruction);
      const Builtin kind = called_builtin(&instruction);
      if (kind != Builtin::shuffle && kind != Builtin::ballot) continue;
      Value* const from = cast<llvm::CallInst>(instruction).getArgOperand(kind == Builtin::shuffle ? 2 : 0);
      if (isa<Instruction>(from) && masks->uniformity().is_divergent(*from)) continue;
      if (kind == Builtin::ballot) {
        found |= rules.add_uniform(instruction);
        continue;
      }
      // With a lane number outside of the warp, each lane gets its own value.
      const llvm::KnownBits known = llvm::computeKnownBits(from, layout);
      if (known.getMaxValue().ult(warp_size)) found |= rules.add_uniform(instruction);
    }
    if (!found) return masks;
  }
}

// Whether vectors make the kernel faster: in a thread's own loops, neighbouring lanes must access neighbouring elements or
// compute much. LLVM does not vectorize a loop over threads around such a loop.
bool is_worthwhile(const LaneMasks& masks, const Shapes& shapes, const llvm::DataLayout& layout) {
  unsigned together = 0, apart = 0, computing = 0;
  for (BasicBlock* block : masks.blocks()) {
    const llvm::Loop* const loop = masks.loops().getLoopFor(block);
    if (loop == nullptr || waits_in(*loop)) continue;
    for (const Instruction& instruction : *block) {
      if (instruction.isAtomic()) ++apart;
      if (instruction.getType()->isFloatingPointTy() && shapes.is_varying(&instruction) && !isa<llvm::LoadInst>(instruction))
        ++computing;
      const Value* const address = llvm::getLoadStorePointerOperand(&instruction);
      if (address == nullptr || shapes.is_uniform(address)) continue;
      const auto size = static_cast<std::int64_t>(
          layout.getTypeStoreSize(llvm::getLoadStoreType(const_cast<Instruction*>(&instruction))).getFixedValue());
      const Shape shape = shapes.of(address);
      ++(shape.kind == Shape::strided && shape.stride == size ? together : apart);
    }
  }
  return apart == 0 ? together > 0 || computing >= 2 : together >= apart;
}

}  // namespace

void count_warps(const BlockFunction& block, WarpVersion version, Value* (&warps)[3]) {
  llvm::IRBuilder<> builder(block.top->getTerminator());
  llvm::Type* const wide = builder.getInt64Ty();
  if (version == WarpVersion::whole_rows) {
    warps[0] = builder.CreateZExt(builder.CreateUDiv(block.block_size[0], builder.getInt32(block.threads_in_step)), wide);
    for (unsigned axis = 1; axis < 3; ++axis) warps[axis] = builder.CreateZExt(block.block_size[axis], wide);
  } else {
    Value* const rounded = builder.CreateAdd(all_threads(builder, block), builder.getInt32(block.threads_in_step - 1));
    warps[0] = builder.CreateZExt(builder.CreateUDiv(rounded, builder.getInt32(block.threads_in_step)), wide);
    warps[1] = warps[2] = builder.getInt64(1);
  }
}

void vectorize_warps(BlockFunction& block, WarpVersion version, bool needed, const llvm::TargetLibraryInfo& library) {
  llvm::Function& function = *block.function;
  llvm::Module& module = *function.getParent();
  replace_thread_index(block, version);
  if (needed && version == WarpVersion::whole_rows) step_full_warps(function);
  WarpDivergence rules;
  const Calls before_ends = structurize(function, rules);
  load_sizes(block);
  multiply_private_variables(block);
  const bool has_all_lanes = version == WarpVersion::whole_rows && block.threads_in_step == warp_size;
  const std::unique_ptr<LaneMasks> masks = find_masks(function, rules, has_all_lanes);
  throw_if_calls_in_divergent_loops(*masks);
  const Shapes shapes(function, *masks, block.threads_in_step);
  if (!needed && !is_worthwhile(*masks, shapes, module.getDataLayout()))
    throw Refused("it does not gain by it that warps run as vectors", nullptr);
  BasicBlock* const entry = block.top->getSingleSuccessor();
  if (entry == nullptr || masks->mask_of(entry) != LaneMasks::all) throw Refused("its first branch is divergent", nullptr);
  llvm::IRBuilder<> builder(&*entry->getFirstInsertionPt());
  Value* there = nullptr;
  if (version == WarpVersion::any_block) {
    Value* const left = builder.CreateSub(all_threads(builder, block), first_thread(builder, block));
    there = builder.CreateICmpULT(numbers_of_lanes(builder.getInt32Ty(), 1, block.threads_in_step),
                                  builder.CreateVectorSplat(block.threads_in_step, left), "there");
  }
  const auto variable = [&](const char* name) {
    llvm::IRBuilder<> top(block.top->getTerminator());
    llvm::AllocaInst* const made = top.CreateAlloca(top.getInt32Ty(), nullptr, name);
    builder.CreateStore(builder.getInt32(0), made);
    return made;
  };
  llvm::AllocaInst* ended = nullptr;
  if (llvm::any_of(llvm::instructions(function), [](Instruction& instruction) { return is_lane_end(&instruction); })) {
    ended = variable("ended");
  }
  llvm::AllocaInst* const ending = before_ends.empty() ? nullptr : variable("ending");
  Vectorizer(block, *masks, shapes, there, {ended, ending, before_ends}, library).run();
  run_passes(function, llvm::PromotePass(), llvm::InstCombinePass(), llvm::EarlyCSEPass(false), llvm::ADCEPass());
  load_sizes(block);
}

Vectorizer::Vectorizer(BlockFunction& block, const LaneMasks& masks, const Shapes& shapes, Value* lanes_there,
                       const Ends& ends, const llvm::TargetLibraryInfo& library)
    : block_(block),
      function_(*block.function),
      layout_(function_.getParent()->getDataLayout()),
      masks_(masks),
      shapes_(shapes),
      lanes_there_(lanes_there),
      lane_ends_(ends),
      library_(library),
      lanes_(block.threads_in_step),
      builder_(function_.getContext()) {}

void Vectorizer::run() {
  remember();
  mask_values_[LaneMasks::all] =
      lanes_there_ != nullptr ? lanes_there_ : llvm::ConstantInt::getTrue(vector_of(builder_.getInt1Ty()));
  make_phis();
  for (BasicBlock* block : masks_.blocks()) vectorize_block(block);
  for (const auto& [phi, made] : phis_) blend(*phi, *made);
  for (BasicBlock* block : masks_.blocks()) {
    if (masks_.is_divergent_branch(block)) rewrite_branch(block);
  }
  clean_up();
}

// Stores what the analyses have found for the basic blocks, because the blocks are split from here on.
void Vectorizer::remember() {
  for (BasicBlock* block : masks_.blocks()) {
    instructions_.emplace_back();
    for (Instruction& instruction : *block) instructions_.back().push_back(&instruction);
    ends_[block] = block->getTerminator();
    if (const llvm::Loop* const loop = masks_.loops().getLoopFor(block); loop != nullptr && loop->getHeader() == block) {
      latches_[loop] = loop->getLoopLatch();
      preheaders_[loop] = loop->getLoopPreheader();
    }
    for (llvm::PHINode& phi : block->phis()) {
      if (phi.getNumIncomingValues() != 1) continue;
      if (llvm::Loop* const left = masks_.divergent_loop_left(phi.getIncomingBlock(0), block)) loop_results_[&phi] = left;
    }
  }
}

void Vectorizer::make_phis() {
  for (BasicBlock* block : masks_.blocks()) {
    if (masks_.is_header_of_divergent_loop(block)) {
      builder_.SetInsertPoint(block, block->begin());
      mask_values_[masks_.mask_of(block)] = builder_.CreatePHI(vector_of(builder_.getInt1Ty()), 2, "here");
    }
    for (Instruction* instruction : instructions_[masks_.order(block)]) {
      auto* const phi = dyn_cast<llvm::PHINode>(instruction);
      if (phi == nullptr || !shapes_.is_varying(phi) || loop_results_.count(phi) != 0) continue;
      builder_.SetInsertPoint(phi);
      llvm::PHINode* const made = builder_.CreatePHI(vector_of(phi->getType()), phi->getNumIncomingValues(), phi->getName());
      phis_[phi] = made;
      vectors_[phi] = made;
    }
  }
}

void Vectorizer::vectorize_block(BasicBlock* block) {
  const int number = masks_.mask_of(block);
  if (masks_.mask(number).full) {
    mask_values_[number] = llvm::ConstantInt::getTrue(vector_of(builder_.getInt1Ty()));
  } else if (mask_values_.count(number) == 0) {
    const LaneMasks::Mask& mask = masks_.mask(number);
    builder_.SetInsertPoint(ends_[mask.branch]);
    Value* condition = lanes(cast<llvm::BranchInst>(ends_[mask.branch])->getCondition());
    if (!mask.taken) condition = builder_.CreateNot(condition);
    mask_values_[number] = both(mask_values_.lookup(mask.parent), condition);
  }
  mask_ = mask_values_.lookup(number);
  for (Instruction* instruction : instructions_[masks_.order(block)]) {
    if (auto* const phi = dyn_cast<llvm::PHINode>(instruction)) {
      if (shapes_.is_varying(phi) && loop_results_.count(phi) != 0) make_loop_result(*phi, loop_results_[phi]);
    } else {
      builder_.SetInsertPoint(instruction);
      emit(*instruction);
    }
  }
}

// Keeps, for each lane, the value from the iteration in which the lane leaves the loop, while other lanes continue.
void Vectorizer::make_loop_result(llvm::PHINode& phi, llvm::Loop* loop) {
  BasicBlock* const header = loop->getHeader();
  BasicBlock* const latch = latches_[loop];
  llvm::Type* const type = vector_of(phi.getType());
  builder_.SetInsertPoint(header, header->begin());
  llvm::PHINode* const kept = builder_.CreatePHI(type, 2, "left");
  builder_.SetInsertPoint(ends_[latch]);
  Value* const now = builder_.CreateSelect(mask(latch), lanes(phi.getIncomingValue(0)), kept);
  kept->addIncoming(now, end_of(latch));
  kept_.push_back({kept, loop});
  vectors_[&phi] = now;
}

Value* Vectorizer::edge_mask(BasicBlock* from, BasicBlock* to) {
  if (!masks_.is_divergent_branch(from)) return mask(from);
  const auto* const branch = cast<llvm::BranchInst>(ends_[from]);
  Value* const condition = lanes(branch->getCondition());
  return both(mask(from), branch->getSuccessor(0) == to ? condition : builder_.CreateNot(condition));
}

// Lanes may reach a phi on several paths. Each path adds the values of its lanes to the values from earlier paths.
void Vectorizer::blend(llvm::PHINode& phi, llvm::PHINode& made) {
  BasicBlock* const block = phi.getParent();
  bool whole = true;
  // Pairs: position of the incoming block in the code, and its index in the phi.
  std::vector<std::pair<unsigned, unsigned>> order;
  std::vector<BasicBlock*> from(phi.getNumIncomingValues());
  for (unsigned k = 0; k < phi.getNumIncomingValues(); ++k) {
    from[k] = original(phi.getIncomingBlock(k));
    if (ends_.count(from[k]) == 0) throw Refused("control flow that the masks do not cover", &phi);
    whole &= masks_.comes_whole(from[k], block);
    order.emplace_back(masks_.order(from[k]), k);
  }
  llvm::sort(order);
  std::vector<std::pair<BasicBlock*, Value*>> done;
  for (const auto& [position, k] : order) {
    Value* const value = phi.getIncomingValue(k);
    builder_.SetInsertPoint(ends_[from[k]]);
    Value* before = nullptr;
    for (const auto& [earlier, blended] : done) {
      if (masks_.dominators().dominates(earlier, from[k])) before = blended;
    }
    Value* now = nullptr;
    if (whole || before == nullptr) {
      now = lanes(value);
    } else if (isa<llvm::UndefValue>(value)) {
      now = before;
    } else {
      now = builder_.CreateSelect(edge_mask(from[k], block), lanes(value), before);
    }
    done.emplace_back(from[k], now);
    made.addIncoming(now, end_of(from[k]));
  }
}

// Turns a divergent branch into a uniform one that skips code without an active lane.
void Vectorizer::rewrite_branch(BasicBlock* block) {
  auto* const branch = cast<llvm::BranchInst>(ends_[block]);
  builder_.SetInsertPoint(branch);
  branch->setMetadata(llvm::LLVMContext::MD_prof, nullptr);
  const llvm::Loop* const loop = masks_.loops().getLoopFor(block);
  if (loop != nullptr && masks_.is_divergent_loop(loop) && latches_[loop] == block) {
    BasicBlock* const header = loop->getHeader();
    Value* const stay = edge_mask(block, header);
    auto* const here = cast<llvm::PHINode>(mask(header));
    here->addIncoming(stay, end_of(block));
    here->addIncoming(mask(preheaders_[loop]), end_of(preheaders_[loop]));
    if (branch->getSuccessor(0) != header) branch->swapSuccessors();
    branch->setCondition(any(stay));
    return;
  }
  const bool second_is_join = masks_.post_dominators().dominates(branch->getSuccessor(1), block);
  if (!second_is_join && !masks_.post_dominators().dominates(branch->getSuccessor(0), block))
    throw Refused("a branch has two sides", branch);
  Value* const taken = edge_mask(block, branch->getSuccessor(second_is_join ? 0 : 1));
  if (!second_is_join) branch->swapSuccessors();
  branch->setCondition(any(taken));
}

// Finds "or" instructions that act as additions: in active lanes, their operands have no bit in common. Lane 0 may be
// inactive, but its value must be added correctly, so these instructions become additions.
std::vector<Instruction*> Vectorizer::find_disjoint_ors() const {
  std::vector<Instruction*> found;
  for (const std::vector<Instruction*>& instructions : instructions_) {
    for (Instruction* instruction : instructions) {
      if (instruction->getOpcode() == Instruction::Or && shapes_.of(instruction).kind == Shape::strided &&
          llvm::any_of(instruction->operands(), [&](const llvm::Use& use) { return shapes_.of(use.get()).stride != 0; }))
        found.push_back(instruction);
    }
  }
  return found;
}

void Vectorizer::clean_up() {
  for (const LoopResult& result : kept_) {
    BasicBlock* const preheader = end_of(preheaders_[result.loop]);
    result.kept->addIncoming(llvm::PoisonValue::get(result.kept->getType()), preheader);
  }
  llvm::SetVector<Instruction*> gone(dropped_.begin(), dropped_.end());
  const std::vector<Instruction*> sums = find_disjoint_ors();
  for (const std::vector<Instruction*>& instructions : instructions_) {
    for (Instruction* instruction : instructions) {
      if (instruction->getType()->isVoidTy()) continue;
      if (shapes_.is_varying(instruction)) gone.insert(instruction);
      if (called_builtin(instruction) == Builtin::lane) {
        instruction->replaceAllUsesWith(llvm::ConstantInt::get(instruction->getType(), 0));
        gone.insert(instruction);
      } else if (shapes_.of(instruction).kind == Shape::strided) {
        // Drops the flags: they hold for active lanes, and lane 0 may be inactive.
        instruction->dropPoisonGeneratingFlags();
      }
    }
  }
  for (Instruction* either : sums) {
    builder_.SetInsertPoint(either);
    either->replaceAllUsesWith(builder_.CreateAdd(either->getOperand(0), either->getOperand(1)));
    gone.insert(either);
  }
  for (Instruction* instruction : gone) {
    if (!instruction->getType()->isVoidTy()) instruction->replaceAllUsesWith(llvm::PoisonValue::get(instruction->getType()));
  }
  for (Instruction* instruction : gone) instruction->eraseFromParent();
}

}  // namespace weir::workgroup
