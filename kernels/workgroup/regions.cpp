// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/regions.hpp"

#include <llvm/Analysis/PostDominators.h>
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
  const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  if (call == nullptr || call->getCalledFunction() == nullptr) return false;
  return builtin(*call->getCalledFunction()) == Builtin::block_barrier ||
         call->getCalledFunction()->getName() == rejoin_name;
}

bool waits_in(const llvm::Loop& loop) {
  return llvm::any_of(loop.blocks(), [](const llvm::BasicBlock* block) {
    return llvm::any_of(*block, [](const llvm::Instruction& instruction) { return is_region_boundary(instruction); });
  });
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

bool may_diverge(BlockFunction& block, const Regions& regions, const Uniformity& uniformity) {
  const llvm::PostDominatorTree post_dominators(*block.function);
  // Whether there is a barrier, or the end, on the paths from a branch before these paths join again.
  const auto leaves = [&](llvm::BasicBlock* branch) {
    const auto* const node = post_dominators.getNode(branch);
    const llvm::BasicBlock* const meeting =
        node != nullptr && node->getIDom() != nullptr ? node->getIDom()->getBlock() : nullptr;
    llvm::SetVector<llvm::BasicBlock*> visited;
    const auto visit_successors = [&](llvm::BasicBlock* from) {
      for (llvm::BasicBlock* next : llvm::successors(from)) {
        if (next != meeting) visited.insert(next);
      }
    };
    visit_successors(branch);
    for (unsigned i = 0; i < visited.size(); ++i) {
      if (regions.of_entry.count(visited[i]) != 0 || llvm::isa<llvm::ReturnInst>(visited[i]->getTerminator())) return true;
      visit_successors(visited[i]);
    }
    return false;
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
