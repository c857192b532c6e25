// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/thread_loops.hpp"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/faults.hpp"
#include "kernels/workgroup/guards.hpp"
#include "kernels/workgroup/llvm_names.hpp"
#include "kernels/workgroup/refusal.hpp"

namespace weir::workgroup {
namespace {

constexpr std::uint64_t most_context_bytes = 64 * 1024;  // for one thread
constexpr std::uint64_t context_alignment = 64;

/// An array in the block's context that keeps one value for each thread. The values of neighbouring threads are adjacent.
struct ContextArray {
  llvm::Type* type = nullptr;
  std::uint64_t size = 0;
  llvm::Align alignment;
  Value* begin = nullptr;
};

class ThreadLoops {
 public:
  ThreadLoops(BlockFunction& block, const Regions& regions, const KeptValues& kept, Value* const (&counts)[3])
      : block_(block), regions_(regions), kept_(kept), counts_(counts), builder_(block.function->getContext()) {}

  void make() {
    for (BasicBlock& old : *block_.function) {
      if (&old != block_.top) old_blocks_.push_back(&old);
    }
    lay_out();
    done_ = make_return(false);
    for (unsigned i = 0; i < regions_.all.size(); ++i) prologues_.push_back(make_block("region" + llvm::Twine(i)));
    block_.top->getTerminator()->setSuccessor(0, prologues_[0]);
    for (unsigned i = 0; i < regions_.all.size(); ++i) make_region(i);
    for (BasicBlock* old : old_blocks_) old->dropAllReferences();
    for (BasicBlock* old : old_blocks_) old->eraseFromParent();
    for (Instruction* variable : replaced_) variable->eraseFromParent();
  }

 private:
  // A row of a region's threads along x. The loops over y and z run once for each row.
  struct Rows {
    unsigned region = 0;
    KnownValues uniform;
    BasicBlock* first = nullptr;
    BasicBlock* next = nullptr;
    Row row{};
    Value* thread = nullptr;  // number of the row's first thread in the block
  };

  // The basic blocks of one loop over the threads of a row, and the state needed while the loop is built.
  struct Loops {
    unsigned region = 0;
    BasicBlock* latch = nullptr;
    Value* begin = nullptr;  // number of the first thread along x
    Value* end = nullptr;
    Value* index[3] = {};  // the thread's index along each axis, 32 bits
    Value* thread = nullptr;
    llvm::MDNode* group = nullptr;  // marks accesses of a parallel loop; null if the loop may not be parallel
    bool rare = false;              // the loop runs rarely and is not worth optimizing
    llvm::ValueToValueMapTy map;
    // The loop's variables for kept values, by the number of the kept value.
    llvm::DenseMap<unsigned, llvm::AllocaInst*> variables;
    llvm::DenseMap<int, BasicBlock*> exits;
  };

  // For each branch at which all threads of a loop go the same way: that way.
  using Ways = llvm::SmallVector<std::pair<llvm::BranchInst*, bool>, 4>;

  BasicBlock* make_block(const llvm::Twine& name) {
    return BasicBlock::Create(block_.function->getContext(), name, block_.function);
  }
  BasicBlock* make_return(bool failed) {
    BasicBlock* const result = make_block(failed ? "failed" : "done");
    llvm::ReturnInst::Create(result->getContext(), builder_.getInt1(failed), result);
    return result;
  }

  void lay_out() {
    const llvm::DataLayout& layout = block_.function->getParent()->getDataLayout();
    llvm::IRBuilder<> top(block_.top->getTerminator());
    threads_ = top.CreateMul(top.CreateMul(counts_[0], counts_[1], "", true, true), counts_[2], "threads", true, true);
    llvm::SmallPtrSet<const Value*, 16> variables;
    for (const KeptValue& value : kept_.all) variables.insert(value.variable);
    llvm::SmallVector<ContextArray*> arrays;
    const auto add = [&](ContextArray& array, llvm::Type* type, std::uint64_t count, llvm::Align alignment) {
      array.type = type;
      array.alignment = std::min(alignment, llvm::Align(context_alignment));
      array.size = llvm::alignTo(count * layout.getTypeAllocSize(type).getFixedValue(), array.alignment);
      arrays.push_back(&array);
    };
    kept_arrays_.resize(kept_.all.size());
    scalars_.resize(kept_.all.size());
    for (unsigned i = 0; i < kept_.all.size(); ++i) {
      llvm::Type* type = kept_.all[i].variable->getAllocatedType();
      if (kept_.all[i].uniform) {
        scalars_[i] = top.CreateAlloca(type, nullptr, "uniform");
      } else {
        if (type->isIntegerTy(1)) type = top.getInt8Ty();
        add(kept_arrays_[i], type, 1, layout.getABITypeAlign(type));
      }
      replaced_.push_back(kept_.all[i].variable);
    }
    for (Instruction& instruction : *block_.top) {
      auto* const variable = dyn_cast<llvm::AllocaInst>(&instruction);
      if (variable == nullptr || variables.count(variable) != 0 || llvm::is_contained(scalars_, variable)) continue;
      private_.push_back(variable);
      replaced_.push_back(variable);
    }
    private_arrays_.resize(private_.size());
    for (unsigned i = 0; i < private_.size(); ++i) {
      const auto* const size = cast<llvm::ConstantInt>(private_[i]->getArraySize());
      add(private_arrays_[i], private_[i]->getAllocatedType(), size->getZExtValue(), private_[i]->getAlign());
    }
    if (regions_.diverge) add(states_, top.getInt32Ty(), 1, llvm::Align(4));
    llvm::stable_sort(arrays, [](const ContextArray* a, const ContextArray* b) { return a->alignment > b->alignment; });
    for (ContextArray* array : arrays) {
      Value* const offset = top.CreateMul(threads_, top.getInt64(block_.context_bytes), "", true, true);
      array->begin = top.CreateInBoundsGEP(top.getInt8Ty(), block_.parameter(BlockFunction::context), offset);
      block_.context_bytes += array->size;
    }
    if (block_.context_bytes > most_context_bytes) {
      throw Refused("each of its threads needs " + std::to_string(block_.context_bytes) +
                        " bytes for local arrays and for "
                        "values kept across barriers, and " +
                        std::to_string(most_context_bytes) + " are the most",
                    nullptr);
    }
    if (regions_.diverge) {
      first_ = top.CreateAlloca(top.getInt32Ty(), nullptr, "first");
      last_ = top.CreateAlloca(top.getInt32Ty(), nullptr, "last");
    } else {
      next_ = top.CreateAlloca(top.getInt32Ty(), nullptr, "next");
    }
  }

  Value* place(const ContextArray& array, const Loops& loops) {
    Value* const offset = builder_.CreateMul(loops.thread, builder_.getInt64(array.size), "", true, true);
    return builder_.CreateInBoundsGEP(builder_.getInt8Ty(), array.begin, offset);
  }
  void mark_parallel(Instruction& access, const Loops& loops) {
    if (loops.group != nullptr) access.setMetadata(llvm::LLVMContext::MD_access_group, loops.group);
  }
  Value* load_kept(unsigned number, const Loops& loops) {
    const ContextArray& array = kept_arrays_[number];
    llvm::LoadInst* const load = builder_.CreateAlignedLoad(array.type, place(array, loops), array.alignment);
    mark_context_access(block_, *load);
    mark_parallel(*load, loops);
    llvm::Type* const type = kept_.all[number].variable->getAllocatedType();
    return type == array.type ? static_cast<Value*>(load) : builder_.CreateTrunc(load, type);
  }
  void store_kept(unsigned number, Value* value, const Loops& loops) {
    const ContextArray& array = kept_arrays_[number];
    if (value->getType() != array.type) value = builder_.CreateZExt(value, array.type);
    llvm::StoreInst* const store = builder_.CreateAlignedStore(value, place(array, loops), array.alignment);
    mark_context_access(block_, *store);
    mark_parallel(*store, loops);
  }

  // Whether the threads of a region are independent. Between barriers, threads may not access the same memory if one of them
  // writes, except with atomics. So threads are independent in a region without atomics and without calls that may write.
  bool is_parallel(const Region& region) const {
    for (const BasicBlock* block : region.blocks) {
      for (const Instruction& instruction : *block) {
        if (is_region_boundary(instruction) || is_hint(instruction)) continue;
        if (instruction.isAtomic() || instruction.isVolatile() || instruction.hasMetadata(once_atomic)) return false;
        if (isa<llvm::CallBase>(instruction) && !isa<llvm::MemIntrinsic>(instruction) && instruction.mayWriteToMemory())
          return false;
      }
    }
    return true;
  }

  // Builds the loops for (z) for (y) …, between the blocks `before` and `after`. Each loop runs at least once.
  void make_rows(Rows& rows, BasicBlock* before, BasicBlock* after) {
    BasicBlock* from = before;
    llvm::PHINode* induction[3];
    BasicBlock* headers[3];
    for (const unsigned axis : {2U, 1U}) {
      headers[axis] = make_block(llvm::StringRef("xyz").substr(axis, 1));
      induction[axis] = begin_loop(from, headers[axis], builder_.getInt64(0), axis);
      rows.row.index[axis] = builder_.CreateTrunc(induction[axis], builder_.getInt32Ty());
      from = headers[axis];
    }
    Value* const above = builder_.CreateMul(induction[2], counts_[1], "", true, true);
    Value* const row = builder_.CreateAdd(above, induction[1], "", true, true);
    rows.thread = builder_.CreateMul(row, counts_[0], "row", true, true);
    rows.row.threads = counts_[0];
    rows.first = from;
    BasicBlock* const ends[] = {nullptr, make_block("next.y"), make_block("next.z")};
    rows.next = ends[1];
    for (const unsigned axis : {1U, 2U}) {
      BasicBlock* const behind = axis == 1 ? ends[2] : after;
      mark_loop(*end_loop(ends[axis], induction[axis], counts_[axis], headers[axis], behind),
                {loop_fact("llvm.loop.unroll.disable")});
    }
  }

  // Builds the loop for (x), which runs at least once. Returns the basic block of its body.
  BasicBlock* make_loop(const Rows& rows, Loops& loops, BasicBlock* before, BasicBlock* after) {
    BasicBlock* const header = make_block("x");
    llvm::PHINode* const induction = begin_loop(before, header, loops.begin, 0);
    loops.index[0] = builder_.CreateTrunc(induction, builder_.getInt32Ty());
    for (const unsigned axis : {1U, 2U}) loops.index[axis] = rows.row.index[axis];
    loops.thread = builder_.CreateAdd(rows.thread, induction, "thread", true, true);
    loops.latch = make_block("next.x");
    llvm::SmallVector<llvm::Metadata*> facts;
    if (loops.group != nullptr) facts.push_back(loop_fact("llvm.loop.parallel_accesses", loops.group));
    if (loops.rare) {
      facts.push_back(loop_fact("llvm.loop.unroll.disable"));
      facts.push_back(loop_fact("llvm.loop.vectorize.enable", llvm::ConstantAsMetadata::get(builder_.getFalse())));
    }
    mark_loop(*end_loop(loops.latch, induction, loops.end, header, after), facts);
    return header;
  }

  llvm::PHINode* begin_loop(BasicBlock* from, BasicBlock* header, Value* begin, unsigned axis) {
    builder_.SetInsertPoint(from);
    builder_.CreateBr(header);
    builder_.SetInsertPoint(header);
    llvm::PHINode* const induction =
        builder_.CreatePHI(builder_.getInt64Ty(), 2, llvm::Twine("thread.") + llvm::Twine("xyz"[axis]));
    induction->addIncoming(begin, from);
    return induction;
  }
  llvm::BranchInst* end_loop(BasicBlock* latch, llvm::PHINode* induction, Value* end, BasicBlock* header,
                             BasicBlock* after) {
    builder_.SetInsertPoint(latch);
    Value* const next = builder_.CreateAdd(induction, builder_.getInt64(1), "", true, true);
    induction->addIncoming(next, latch);
    return builder_.CreateCondBr(builder_.CreateICmpULT(next, end), header, after);
  }

  llvm::Metadata* loop_fact(const char* name, llvm::Metadata* value = nullptr) {
    llvm::LLVMContext& context = block_.function->getContext();
    llvm::SmallVector<llvm::Metadata*, 2> words{llvm::MDString::get(context, name)};
    if (value != nullptr) words.push_back(value);
    return llvm::MDNode::get(context, words);
  }

  void mark_loop(llvm::BranchInst& back, llvm::ArrayRef<llvm::Metadata*> more) {
    llvm::SmallVector<llvm::Metadata*> facts{nullptr, loop_fact("llvm.loop.mustprogress")};
    facts.append(more.begin(), more.end());
    llvm::MDNode* const id = llvm::MDNode::getDistinct(back.getContext(), facts);
    id->replaceOperandWith(0, id);
    back.setMetadata(llvm::LLVMContext::MD_loop, id);
  }

  void make_region(unsigned number) {
    const Region& region = regions_.all[number];
    builder_.SetInsertPoint(prologues_[number]);
    builder_.SetCurrentDebugLocation({});
    if (regions_.diverge) {
      builder_.CreateStore(builder_.getInt32(0x7fffffff), first_);
      builder_.CreateStore(builder_.getInt32(0xffffffffU), last_);
    }
    Rows rows;
    rows.region = number;
    for (const unsigned live : kept_.live_in[number]) {
      const llvm::AllocaInst* const variable = kept_.all[live].variable;
      if (kept_.all[live].uniform)
        rows.uniform[variable] = builder_.CreateLoad(variable->getAllocatedType(), scalars_[live]);
    }
    BasicBlock* const after = make_block("after");
    make_rows(rows, prologues_[number], after);
    Decision decision;
    if (is_parallel(region) && is_small(region)) decision = find_decision(block_, region, rows.uniform);
    Ways ways;
    run_ways(decision, rows, rows.first, ways);
    builder_.SetInsertPoint(after);
    go_on(region);
  }

  // Builds the code that runs a row, beginning at the block `before`. Each way through the decisions gets its own loop,
  // because loops without branches vectorize well.
  void run_ways(const Decision& decision, const Rows& rows, BasicBlock* before, Ways& ways) {
    Value* const none = builder_.getInt64(0);
    Value* const all = rows.row.threads;
    if (decision.branch == nullptr) {
      run_threads(rows, before, rows.next, none, all, ways);
      return;
    }
    const auto run_where = [&](bool condition, auto&& run) {
      ways.emplace_back(decision.branch, condition);
      run();
      ways.pop_back();
    };
    builder_.SetInsertPoint(before);
    if (!decision.guard) {
      BasicBlock* const sides[] = {make_block("if"), make_block("else")};
      builder_.CreateCondBr(copy_condition(block_, decision, rows.uniform, rows.row, builder_), sides[0], sides[1]);
      for (unsigned k = 0; k < 2; ++k) run_where(k == 0, [&] { run_ways(decision.ways[k], rows, sides[k], ways); });
      return;
    }
    const Split split = split_threads(block_, decision, rows.uniform, rows.row, builder_);
    BasicBlock* const one_by_one = make_block("wraps");
    BasicBlock* at = make_block("separate");
    builder_.CreateCondBr(split.wraps, one_by_one, at);
    run_threads(rows, one_by_one, rows.next, none, all, ways, true);
    const auto run_part = [&](Value* begin, Value* end, bool inside, bool last) {
      BasicBlock* const some = make_block(inside ? "inside" : "outside");
      BasicBlock* const behind = last ? rows.next : make_block("behind");
      builder_.SetInsertPoint(at);
      builder_.CreateCondBr(builder_.CreateICmpULT(begin, end), some, behind);
      run_where(inside == decision.guard->condition_inside, [&] { run_threads(rows, some, behind, begin, end, ways); });
      at = behind;
    };
    const auto& [from_first, to_last] = std::pair(decision.guard->from_first, decision.guard->to_last);
    if (!from_first) run_part(none, split.begin, false, false);
    run_part(split.begin, to_last ? all : split.end, true, to_last);
    if (!to_last) run_part(split.end, all, false, true);
  }

  bool is_small(const Region& region) const {
    std::size_t instructions = 0;
    for (const BasicBlock* block : region.blocks) instructions += block->size();
    return instructions <= 200;
  }

  // Builds the code that runs the threads of a row from `begin` to `end`.
  void run_threads(const Rows& rows, BasicBlock* before, BasicBlock* after, Value* begin, Value* end, const Ways& ways,
                   bool rare = false) {
    const unsigned number = rows.region;
    const Region& region = regions_.all[number];
    Loops loops;
    loops.region = number;
    loops.begin = begin;
    loops.end = end;
    loops.rare = rare;
    if (is_parallel(region)) loops.group = llvm::MDNode::getDistinct(block_.function->getContext(), {});
    BasicBlock* const body = make_loop(rows, loops, before, after);
    BasicBlock* const bring = make_block("thread");
    builder_.SetInsertPoint(body);
    if (regions_.diverge && number != 0) {
      llvm::LoadInst* const state = builder_.CreateLoad(builder_.getInt32Ty(), place(states_, loops));
      mark_context_access(block_, *state);
      mark_parallel(*state, loops);
      builder_.CreateCondBr(builder_.CreateICmpSGE(state, builder_.getInt32(0)), bring, loops.latch);
    } else {
      builder_.CreateBr(bring);
    }
    builder_.SetInsertPoint(bring);
    llvm::IRBuilder<> top(block_.top->getTerminator());
    for (unsigned i = 0; i < kept_.all.size(); ++i) {
      loops.variables[i] = top.CreateAlloca(kept_.all[i].variable->getAllocatedType());
      loops.map[kept_.all[i].variable] = loops.variables[i];
    }
    for (const unsigned live : kept_.live_in[number]) {
      const KeptValue& value = kept_.all[live];
      builder_.CreateStore(value.uniform ? rows.uniform.lookup(value.variable) : load_kept(live, loops),
                           loops.variables[live]);
    }
    for (unsigned i = 0; i < private_.size(); ++i) loops.map[private_[i]] = place(private_arrays_[i], loops);
    copy_code(region, loops);
    for (const auto& [branch, condition] : ways) {
      auto* const copy = cast<llvm::BranchInst>(cast<BasicBlock>(&*loops.map[branch->getParent()])->getTerminator());
      copy->setCondition(builder_.getInt1(condition));
    }
    builder_.SetInsertPoint(bring);
    builder_.CreateBr(cast<BasicBlock>(&*loops.map[region.entry]));
  }

  void copy_code(const Region& region, Loops& loops) {
    llvm::SmallVector<BasicBlock*> copies;
    for (BasicBlock* block : region.blocks) {
      BasicBlock* const made = llvm::CloneBasicBlock(block, loops.map, "." + llvm::Twine(loops.region), block_.function);
      loops.map[block] = made;
      copies.push_back(made);
    }
    for (unsigned i = 0; i < copies.size(); ++i) adapt(region, *region.blocks[i], *copies[i], loops);
  }

  void adapt(const Region& region, BasicBlock& original, BasicBlock& made, Loops& loops) {
    llvm::SmallVector<Instruction*> dropped;
    for (Instruction& instruction : made) {
      if (auto* const phi = dyn_cast<llvm::PHINode>(&instruction)) {
        for (unsigned k = phi->getNumIncomingValues(); k-- > 0;) {
          if (region.blocks.count(phi->getIncomingBlock(k)) == 0) phi->removeIncomingValue(k, false);
        }
      }
      llvm::RemapInstruction(&instruction, loops.map, llvm::RF_IgnoreMissingLocals | llvm::RF_NoModuleLevelChanges);
      if (is_region_boundary(instruction)) {
        dropped.push_back(&instruction);
      } else if (called_builtin(&instruction) == Builtin::thread_index) {
        const auto* const axis = cast<llvm::ConstantInt>(cast<llvm::CallInst>(instruction).getArgOperand(0));
        instruction.replaceAllUsesWith(loops.index[axis->getZExtValue()]);
        dropped.push_back(&instruction);
      } else if (llvm::getLoadStorePointerOperand(&instruction) != nullptr || isa<llvm::MemIntrinsic>(instruction)) {
        mark_parallel(instruction, loops);
      }
    }
    Instruction* const end = made.getTerminator();
    if (isa<llvm::ReturnInst>(end)) {
      BasicBlock* const out = exit_to(-1, region, loops);
      end->eraseFromParent();
      builder_.SetInsertPoint(&made);
      builder_.CreateBr(out);
    } else {
      for (unsigned k = 0; k < end->getNumSuccessors(); ++k) {
        const auto other = regions_.of_entry.find(original.getTerminator()->getSuccessor(k));
        if (other != regions_.of_entry.end()) end->setSuccessor(k, exit_to(static_cast<int>(other->second), region, loops));
      }
    }
    for (Instruction* instruction : dropped) instruction->eraseFromParent();
  }

  // The basic block in which a thread stores the values that the region `next` needs. `next`: -1 if the thread returns.
  BasicBlock* exit_to(int next, const Region& region, Loops& loops) {
    BasicBlock*& exit = loops.exits[next];
    if (exit != nullptr) return exit;
    exit = make_block("leave");
    builder_.SetInsertPoint(exit);
    if (next >= 0) {
      for (const unsigned live : kept_.live_in[static_cast<unsigned>(next)]) {
        const KeptValue& value = kept_.all[live];
        if (llvm::none_of(value.set_in, [&](BasicBlock* block) { return region.blocks.count(block) != 0; })) continue;
        Value* const current = builder_.CreateLoad(value.variable->getAllocatedType(), loops.variables[live]);
        if (value.uniform) {
          builder_.CreateStore(current, scalars_[live]);
        } else {
          store_kept(live, current, loops);
        }
      }
    }
    Value* const state = builder_.getInt32(static_cast<std::uint32_t>(next));
    if (regions_.diverge) {
      llvm::StoreInst* const store = builder_.CreateStore(state, place(states_, loops));
      mark_context_access(block_, *store);
      mark_parallel(*store, loops);
      if (next >= 0) {
        for (const auto& [variable, which] :
             {std::pair{first_, llvm::Intrinsic::smin}, std::pair{last_, llvm::Intrinsic::smax}}) {
          Value* const others = builder_.CreateLoad(builder_.getInt32Ty(), variable);
          builder_.CreateStore(builder_.CreateBinaryIntrinsic(which, others, state), variable);
        }
      }
    } else if (region.exits.size() + (region.ends ? 1 : 0) > 1) {
      builder_.CreateStore(state, next_);
    }
    builder_.CreateBr(loops.latch);
    return exit;
  }

  // Builds the branch to the next region after the loops of a region.
  void go_on(const Region& region) {
    const auto choose = [&](Value* state, BasicBlock* otherwise, llvm::ArrayRef<unsigned> targets) {
      llvm::SwitchInst* const choice = builder_.CreateSwitch(state, otherwise, static_cast<unsigned>(targets.size()));
      for (const unsigned target : targets) choice->addCase(builder_.getInt32(target), prologues_[target]);
    };
    if (region.exits.empty()) {
      if (region.ends) {
        builder_.CreateBr(done_);
      } else {
        builder_.CreateUnreachable();
      }
    } else if (!regions_.diverge) {
      if (region.exits.size() == 1 && !region.ends) {
        builder_.CreateBr(prologues_[region.exits[0]]);
      } else {
        const llvm::ArrayRef<unsigned> exits = region.exits.getArrayRef();
        Value* const next = builder_.CreateLoad(builder_.getInt32Ty(), next_);
        choose(next, region.ends ? done_ : prologues_[exits[0]], region.ends ? exits : exits.drop_front());
      }
    } else {
      BasicBlock* const some = make_block("some");
      BasicBlock* const together = make_block("together");
      BasicBlock* const diverged = make_block("diverged");
      Value* const first = builder_.CreateLoad(builder_.getInt32Ty(), first_);
      Value* const last = builder_.CreateLoad(builder_.getInt32Ty(), last_);
      builder_.CreateCondBr(builder_.CreateICmpSLT(last, builder_.getInt32(0)), done_, some);
      builder_.SetInsertPoint(some);
      builder_.CreateCondBr(builder_.CreateICmpEQ(first, last), together, diverged);
      builder_.SetInsertPoint(together);
      const llvm::ArrayRef<unsigned> exits = region.exits.getArrayRef();
      choose(first, prologues_[exits[0]], exits.drop_front());
      builder_.SetInsertPoint(diverged);
      report_divergence(block_, regions_, builder_, states_.begin, threads_, first, last);
      builder_.CreateBr(make_return(true));
    }
  }

  BlockFunction& block_;
  const Regions& regions_;
  const KeptValues& kept_;
  Value* const (&counts_)[3];
  llvm::IRBuilder<> builder_;
  Value* threads_ = nullptr;
  std::vector<ContextArray> kept_arrays_;
  std::vector<llvm::AllocaInst*> scalars_;
  std::vector<llvm::AllocaInst*> private_;
  std::vector<ContextArray> private_arrays_;
  std::vector<Instruction*> replaced_;
  ContextArray states_;  // if regions diverge: for each thread the region that it enters next, or -1
  llvm::AllocaInst* first_ = nullptr;
  llvm::AllocaInst* last_ = nullptr;
  llvm::AllocaInst* next_ = nullptr;
  std::vector<BasicBlock*> old_blocks_;
  std::vector<BasicBlock*> prologues_;
  BasicBlock* done_ = nullptr;
};

}  // namespace

void make_thread_loops(BlockFunction& block, const Regions& regions, const KeptValues& kept, Value* const (&threads)[3]) {
  ThreadLoops(block, regions, kept, threads).make();
}

}  // namespace weir::workgroup
