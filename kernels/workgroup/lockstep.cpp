// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/lockstep.hpp"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include <vector>

#include "kernels/workgroup/llvm_names.hpp"
#include "kernels/workgroup/uniformity.hpp"

namespace weir::workgroup {
namespace {

class SharedMemory {
 public:
  SharedMemory(llvm::Function& kernel, const Variables& shared)
      : dominators_(kernel), loops_(dominators_), shared_(shared), uniformity_(kernel, rules_) {}

  // Visits what may run behind the access and before the next barrier.
  void check(Instruction& first, Exchanges& found) const {
    if (!is_shared(first)) return;
    std::vector<llvm::BasicBlock::iterator> begins = {std::next(first.getIterator())};
    llvm::SmallPtrSet<const llvm::BasicBlock*, 16> seen;
    while (!begins.empty()) {
      llvm::BasicBlock::iterator at = begins.back();
      llvm::BasicBlock& block = *at->getParent();
      begins.pop_back();
      while (at != block.end() && !separates(*at)) {
        if (is_load(first) != is_load(*at) && is_shared(*at) && may_exchange(first, *at)) {
          found.insert(&first);
          found.insert(&*at);
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
  static const llvm::Value* address_of(const Instruction& access) {
    if (const auto* const atomic = dyn_cast<llvm::AtomicRMWInst>(&access)) return atomic->getPointerOperand();
    if (const auto* const exchange = dyn_cast<llvm::AtomicCmpXchgInst>(&access)) return exchange->getPointerOperand();
    return llvm::getLoadStorePointerOperand(&access);
  }

  // Atomic accesses count as stores.
  static bool is_load(const Instruction& access) { return isa<llvm::LoadInst>(access); }

  bool is_shared(const Instruction& access) const {
    const llvm::Value* const address = address_of(access);
    return address != nullptr && !objects(address).empty();
  }

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

  // Whether the accesses of two lanes may meet: in one variable, at another address or at one that lanes have in common. An
  // address that is computed in a loop differs from one iteration to the next.
  bool may_exchange(const Instruction& first, const Instruction& second) const {
    const llvm::Value* const address = address_of(first);
    const llvm::Value* const other = address_of(second);
    const bool is_later = first.getParent() == second.getParent()
                              ? !first.comesBefore(&second)
                              : !dominators_.dominates(first.getParent(), second.getParent());
    const auto* const computed = dyn_cast<Instruction>(address);
    const auto* const computed_too = dyn_cast<Instruction>(other);
    if (address == other || (computed != nullptr && computed_too != nullptr && computed->isIdenticalTo(computed_too))) {
      llvm::SmallPtrSet<const llvm::Value*, 8> assumed;
      if (has_lane(address, assumed) &&
          (!is_later || computed == nullptr || loops_.getLoopFor(computed->getParent()) == nullptr))
        return false;
    }
    if (!is_later && isa<llvm::LoadInst>(first) && are_halves(address, other, *second.getParent())) return false;
    const auto accessed = objects(address);
    return llvm::any_of(objects(other), [&](const llvm::Value* object) { return accessed.contains(object); });
  }

  static const llvm::Value* without_casts(const llvm::Value* value) {
    while (isa<llvm::ZExtInst>(value) || isa<llvm::SExtInst>(value)) value = cast<llvm::CastInst>(value)->getOperand(0);
    return value;
  }

  // Whether the index or address differs between all lanes of a warp, because the thread's index along x is a term of it.
  bool has_lane(const llvm::Value* value, llvm::SmallPtrSet<const llvm::Value*, 8>& assumed) const {
    value = without_casts(value);
    if (is_along_x(value, Builtin::thread_index)) return true;
    if (isa<llvm::PHINode>(value) && !assumed.insert(value).second) return true;
    const auto* const user = dyn_cast<llvm::User>(value);
    if (user == nullptr) return false;
    const auto is_part = [&](const llvm::Use& use) { return has_lane(use.get(), assumed); };
    if (isa<llvm::PHINode>(value)) return llvm::all_of(user->operands(), is_part);
    if (isa<llvm::GEPOperator>(value)) return llvm::any_of(user->operands(), is_part);
    const auto* const operation = dyn_cast<llvm::BinaryOperator>(value);
    if (operation == nullptr) return false;
    const auto* const number = dyn_cast<llvm::ConstantInt>(operation->getOperand(1));
    switch (operation->getOpcode()) {
      case Instruction::Add:
      case Instruction::Or:
      case Instruction::Sub: return llvm::any_of(user->operands(), is_part);
      case Instruction::Mul:
      case Instruction::Shl:
        return has_lane(operation->getOperand(0), assumed) && !uniformity_.is_divergent(*operation->getOperand(1));
      case Instruction::And:  // the lane, or more of the index
        return number != nullptr && (number->getZExtValue() & 31) == 31 && has_lane(operation->getOperand(0), assumed);
      case Instruction::URem:
      case Instruction::SRem:
        return number != nullptr && number->getZExtValue() % 32 == 0 && has_lane(operation->getOperand(0), assumed);
      default: return false;
    }
  }

  // Whether the addresses are of array[i + half] and array[i], where only threads with i < half are, as in a reduction. Then
  // no thread loads what another one stores.
  bool are_halves(const llvm::Value* loaded, const llvm::Value* stored, const llvm::BasicBlock& block) const {
    const auto* const from = dyn_cast<llvm::GEPOperator>(loaded);
    const auto* const to = dyn_cast<llvm::GEPOperator>(stored);
    if (from == nullptr || to == nullptr || from->getSourceElementType() != to->getSourceElementType() ||
        from->getNumOperands() != to->getNumOperands() || !isa<llvm::GlobalVariable>(to->getPointerOperand()))
      return false;
    const unsigned last = to->getNumOperands() - 1;
    for (unsigned i = 0; i < last; ++i) {
      if (from->getOperand(i) != to->getOperand(i)) return false;
    }
    const llvm::Value* const index = without_casts(to->getOperand(last));
    const auto* const sum = dyn_cast<llvm::BinaryOperator>(without_casts(from->getOperand(last)));
    if (sum == nullptr || sum->getOpcode() != Instruction::Add) return false;
    const llvm::Value* const first = without_casts(sum->getOperand(0));
    const llvm::Value* const half = without_casts(sum->getOperand(first == index ? 1 : 0));
    if ((first != index && without_casts(sum->getOperand(1)) != index) || uniformity_.is_divergent(*half)) return false;
    for (auto* node = dominators_.getNode(&block); node->getIDom() != nullptr; node = node->getIDom()) {
      const llvm::BasicBlock* const above = node->getIDom()->getBlock();
      const auto* const branch = dyn_cast<llvm::BranchInst>(above->getTerminator());
      const auto* const compared =
          branch != nullptr && branch->isConditional() ? dyn_cast<llvm::ICmpInst>(branch->getCondition()) : nullptr;
      if (compared == nullptr) continue;
      const auto is_below = [&](llvm::CmpInst::Predicate predicate) {
        const bool less = predicate == llvm::CmpInst::ICMP_SLT || predicate == llvm::CmpInst::ICMP_ULT;
        const bool greater = predicate == llvm::CmpInst::ICMP_SGT || predicate == llvm::CmpInst::ICMP_UGT;
        return (less || greater) && without_casts(compared->getOperand(less ? 0 : 1)) == index &&
               without_casts(compared->getOperand(less ? 1 : 0)) == half;
      };
      const llvm::BasicBlockEdge taken(above, branch->getSuccessor(0)), other(above, branch->getSuccessor(1));
      if (is_below(compared->getPredicate()) && dominators_.dominates(taken, &block)) return true;
      if (is_below(compared->getInversePredicate()) && dominators_.dominates(other, &block)) return true;
    }
    return false;
  }

  llvm::DominatorTree dominators_;
  llvm::LoopInfo loops_;
  const Variables& shared_;
  const BlockDivergence rules_;
  const Uniformity uniformity_;
};

// Replaces a copy of a structure from or to shared memory by loads and then stores, because lanes would copy one after
// another.
void expand_copies(llvm::Function& kernel, const Variables& shared) {
  constexpr std::uint64_t most_bytes = 256;
  for (Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(kernel))) {
    auto* const copy = dyn_cast<llvm::MemCpyInst>(&instruction);
    const auto* const length = copy != nullptr ? dyn_cast<llvm::ConstantInt>(copy->getLength()) : nullptr;
    if (length == nullptr || length->getZExtValue() > most_bytes) continue;
    const auto is_shared = [&](const llvm::Value* address) {
      const auto* const variable = dyn_cast<llvm::GlobalVariable>(llvm::getUnderlyingObject(address, 0));
      return variable != nullptr && shared.contains(const_cast<llvm::GlobalVariable*>(variable));
    };
    if (!is_shared(copy->getSource()) && !is_shared(copy->getDest())) continue;
    llvm::IRBuilder<> builder(copy);
    const llvm::Align alignment =
        std::min({copy->getSourceAlign().valueOrOne(), copy->getDestAlign().valueOrOne(), llvm::Align(8)});
    llvm::SmallVector<llvm::Value*> parts;
    const auto visit = [&](auto&& take) {
      std::uint64_t bytes = alignment.value();
      for (std::uint64_t at = 0; at < length->getZExtValue(); at += bytes) {
        while (at + bytes > length->getZExtValue()) bytes /= 2;
        take(at, builder.getIntNTy(static_cast<unsigned>(8 * bytes)), llvm::commonAlignment(alignment, at));
      }
    };
    visit([&](std::uint64_t at, llvm::Type* type, llvm::Align align) {
      parts.push_back(
          builder.CreateAlignedLoad(type, builder.CreateConstGEP1_64(builder.getInt8Ty(), copy->getSource(), at), align));
    });
    unsigned next = 0;
    visit([&](std::uint64_t at, llvm::Type*, llvm::Align align) {
      builder.CreateAlignedStore(parts[next++], builder.CreateConstGEP1_64(builder.getInt8Ty(), copy->getDest(), at), align);
    });
    copy->eraseFromParent();
  }
}

}  // namespace

Exchanges find_exchanges(llvm::Function& kernel, const Variables& shared) {
  if (!uses_any_of(kernel, shared)) return {};
  expand_copies(kernel, shared);
  const SharedMemory memory(kernel, shared);
  Exchanges found;
  for (Instruction& instruction : llvm::instructions(kernel)) memory.check(instruction, found);
  return found;
}

void keep_lockstep_on_fibers(const Exchanges& exchanges) {
  for (Instruction* const access : exchanges) {
    if (auto* const load = dyn_cast<llvm::LoadInst>(access)) load->setVolatile(true);
    if (auto* const store = dyn_cast<llvm::StoreInst>(access)) store->setVolatile(true);
  }
}

}  // namespace weir::workgroup
