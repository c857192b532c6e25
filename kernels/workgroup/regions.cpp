// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/regions.hpp"

#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "kernels/workgroup/builtins.hpp"

namespace weir::workgroup {
namespace {

constexpr const char* rejoin_name = "weir.rejoin";

}  // namespace

llvm::FunctionCallee rejoin_function(llvm::Module& module) {
  return module.getOrInsertFunction(rejoin_name, llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), false));
}

bool is_region_boundary(const llvm::Instruction& instruction) {
  return called_builtin(&instruction) == Builtin::block_barrier || called_name(&instruction) == rejoin_name;
}

bool waits_in(const llvm::Loop& loop) {
  return llvm::any_of(loop.blocks(), [](const llvm::BasicBlock* block) {
    return llvm::any_of(*block, [](const llvm::Instruction& instruction) { return is_region_boundary(instruction); });
  });
}

bool LatchedLoop::assign(const llvm::Loop& loop) {
  blocks.assign(loop.block_begin(), loop.block_end());
  preheader = loop.getLoopPreheader();
  header = loop.getHeader();
  latch = loop.getLoopLatch();
  exit = loop.getExitBlock();
  return loop.isInnermost() && preheader != nullptr && latch != nullptr && exit != nullptr &&
         loop.getExitingBlock() == latch && loop.hasDedicatedExits();
}

llvm::SmallVector<llvm::BasicBlock*> LatchedLoop::copy(llvm::ValueToValueMapTy& map, const llvm::Twine& suffix) const {
  llvm::SmallVector<llvm::BasicBlock*> copies;
  for (llvm::BasicBlock* block : blocks) {
    copies.push_back(llvm::CloneBasicBlock(block, map, suffix, header->getParent()));
    map[block] = copies.back();
  }
  return copies;
}

Regions split_at_barriers(BlockFunction& block) {
  llvm::SmallVector<llvm::Instruction*> barriers;
  for (llvm::Instruction& instruction : llvm::instructions(*block.function)) {
    if (is_region_boundary(instruction)) barriers.push_back(&instruction);
  }
  Regions regions;
  regions.all.emplace_back();
  regions.all.back().entry = block.top->getSingleSuccessor();
  for (llvm::Instruction* barrier : barriers) {
    llvm::BasicBlock* const own = llvm::SplitBlock(barrier->getParent(), barrier);
    llvm::SplitBlock(own, barrier->getNextNode());
    own->setName("barrier");
    regions.of_entry[own] = static_cast<unsigned>(regions.all.size());
    regions.all.emplace_back();
    regions.all.back().entry = own;
    regions.all.back().barrier = source_position(*barrier);
  }
  for (Region& region : regions.all) {
    region.blocks.insert(region.entry);
    for (unsigned i = 0; i < region.blocks.size(); ++i) {
      llvm::BasicBlock* const visited = region.blocks[i];
      if (llvm::isa<llvm::ReturnInst>(visited->getTerminator())) region.ends = true;
      for (llvm::BasicBlock* next : llvm::successors(visited)) {
        const auto other = regions.of_entry.find(next);
        if (other == regions.of_entry.end()) {
          region.blocks.insert(next);
        } else {
          region.exits.insert(other->second);
        }
      }
    }
  }
  return regions;
}

llvm::SetVector<llvm::BasicBlock*> blocks_before_join(llvm::BasicBlock* branch,
                                                     const llvm::PostDominatorTree& post_dominators) {
  const auto* const node = post_dominators.getNode(branch);
  const llvm::BasicBlock* const join = node != nullptr && node->getIDom() != nullptr ? node->getIDom()->getBlock() : nullptr;
  llvm::SetVector<llvm::BasicBlock*> found;
  const auto add_successors = [&](llvm::BasicBlock* from) {
    for (llvm::BasicBlock* next : llvm::successors(from)) {
      if (next != join) found.insert(next);
    }
  };
  add_successors(branch);
  for (unsigned i = 0; i < found.size(); ++i) add_successors(found[i]);
  return found;
}

const llvm::Instruction* branch_between_barriers(BlockFunction& block, const Regions& regions,
                                                 const Uniformity& uniformity) {
  const llvm::PostDominatorTree post_dominators(*block.function);
  for (llvm::BasicBlock& branch : *block.function) {
    if (!uniformity.has_divergent_branch(branch)) continue;
    const llvm::SetVector<llvm::BasicBlock*> before_join = blocks_before_join(&branch, post_dominators);
    llvm::SmallPtrSet<llvm::BasicBlock*, 8> others;  // the next barriers of the sides before
    for (llvm::BasicBlock* side : llvm::successors(&branch)) {
      llvm::SetVector<llvm::BasicBlock*> reached, barriers;
      const auto reach = [&](llvm::BasicBlock* next) {
        if (before_join.contains(next)) (regions.of_entry.count(next) != 0 ? barriers : reached).insert(next);
      };
      reach(side);
      for (unsigned i = 0; i < reached.size(); ++i) llvm::for_each(llvm::successors(reached[i]), reach);
      const bool shares = llvm::any_of(barriers, [&](llvm::BasicBlock* barrier) { return others.count(barrier) != 0; });
      if (!others.empty() && !barriers.empty() && !shares) return branch.getTerminator();
      others.insert(barriers.begin(), barriers.end());
    }
  }
  return nullptr;
}

bool may_diverge(BlockFunction& block, const Regions& regions, const Uniformity& uniformity) {
  const llvm::PostDominatorTree post_dominators(*block.function);
  const auto leaves = [&](llvm::BasicBlock* branch) {
    return llvm::any_of(blocks_before_join(branch, post_dominators), [&](llvm::BasicBlock* on_path) {
      return regions.of_entry.count(on_path) != 0 || llvm::isa<llvm::ReturnInst>(on_path->getTerminator());
    });
  };
  for (const Region& region : regions.all) {
    if (region.exits.size() + (region.ends ? 1 : 0) < 2) continue;
    for (llvm::BasicBlock* inside : region.blocks) {
      if (uniformity.has_divergent_branch(*inside) && leaves(inside)) return true;
    }
  }
  return false;
}

}  // namespace weir::workgroup
