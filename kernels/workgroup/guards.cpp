// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/guards.hpp"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>

#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/llvm_names.hpp"

namespace weir::workgroup {
namespace {

constexpr unsigned most_depth = 8;

// Looks at values where a region begins, and copies there those that are the same for all threads.
class Values {
 public:
  Values(const BlockFunction& block, const Path& path, const KnownValues& known)
      : block_(block), path_(path), known_(known) {}

  // A value that is kept across barriers is loaded where it is needed: what was stored, if that is on the path. A phi on the
  // path has the value that comes along it.
  Value* resolve(Value* value) const {
    if (const auto* const phi = dyn_cast<llvm::PHINode>(value)) {
      const auto* const at = llvm::find(path_, phi->getParent());
      return at == path_.end() || at == path_.begin() ? value : resolve(phi->getIncomingValueForBlock(*(at - 1)));
    }
    const auto* const load = dyn_cast<llvm::LoadInst>(value);
    const auto* const variable = load != nullptr ? dyn_cast<llvm::AllocaInst>(load->getPointerOperand()) : nullptr;
    if (variable == nullptr) return value;
    for (const llvm::User* user : variable->users()) {
      const auto* const store = dyn_cast<llvm::StoreInst>(user);
      if (store != nullptr && comes_before(*store, *load)) return resolve(const_cast<Value*>(store->getValueOperand()));
    }
    return value;
  }

  bool is_uniform(Value* value, unsigned depth = 0) const {
    value = resolve(value);
    const auto* const instruction = dyn_cast<Instruction>(value);
    if (instruction == nullptr || instruction->getParent() == block_.top) return !isa<llvm::AllocaInst>(value);
    if (depth > most_depth) return false;
    if (const auto* const load = dyn_cast<llvm::LoadInst>(instruction)) {
      const auto* const variable = dyn_cast<llvm::AllocaInst>(load->getPointerOperand());
      return variable != nullptr && known_.count(variable) != 0;
    }
    if (!(isa<llvm::BinaryOperator>(instruction) || isa<llvm::CastInst>(instruction) || isa<llvm::SelectInst>(instruction) ||
          isa<llvm::ICmpInst>(instruction)) ||
        !llvm::isSafeToSpeculativelyExecute(instruction)) {
      return false;
    }
    return llvm::all_of(instruction->operands(), [&](const llvm::Use& use) { return is_uniform(use.get(), depth + 1); });
  }

  Value* copy(Value* value, llvm::IRBuilder<>& builder) const {
    value = resolve(value);
    auto* const instruction = dyn_cast<Instruction>(value);
    if (instruction == nullptr || instruction->getParent() == block_.top) return value;
    if (const auto* const load = dyn_cast<llvm::LoadInst>(instruction))
      return known_.lookup(cast<llvm::AllocaInst>(load->getPointerOperand()));
    llvm::SmallVector<Value*> operands;
    for (Value* operand : instruction->operands()) operands.push_back(copy(operand, builder));
    Instruction* const made = instruction->clone();
    made->dropPoisonGeneratingFlags();
    for (unsigned k = 0; k < operands.size(); ++k) made->setOperand(k, operands[k]);
    return builder.Insert(made);
  }

  // Whether the value is threadIdx.x and what is added to it: `base`, or null for nothing.
  bool is_linear(Value* value, llvm::SmallVectorImpl<Value*>& base, unsigned depth = 0) const {
    value = resolve(value);
    if (called_builtin(value) == Builtin::thread_index) return is_along_x(value, Builtin::thread_index);
    if (depth > most_depth) return false;
    if (isa<llvm::ZExtInst>(value) || isa<llvm::SExtInst>(value)) {
      // Of the index itself, which is small.
      return called_builtin(resolve(cast<Instruction>(value)->getOperand(0))) == Builtin::thread_index &&
             is_linear(cast<Instruction>(value)->getOperand(0), base, depth + 1);
    }
    auto* const sum = dyn_cast<llvm::BinaryOperator>(value);
    if (sum == nullptr || sum->getOpcode() != Instruction::Add) return false;
    for (unsigned k = 0; k < 2; ++k) {
      if (!is_uniform(sum->getOperand(1 - k))) continue;
      base.push_back(sum->getOperand(1 - k));
      if (is_linear(sum->getOperand(k), base, depth + 1)) return true;
      base.pop_back();
    }
    return false;
  }

 private:
  // On the path. A loop that waits leads to the path's beginning again: its code is there once, and so is what it stores.
  bool comes_before(const Instruction& first, const Instruction& second) const {
    if (first.getParent() == second.getParent()) return first.comesBefore(&second);
    const auto* const at = llvm::find(path_, first.getParent());
    return at != path_.end() && std::find(at, path_.end(), second.getParent()) != path_.end();
  }

  const BlockFunction& block_;
  const Path& path_;
  const KnownValues& known_;
};

std::optional<Guard> as_guard(const Values& values, const llvm::BranchInst& branch) {
  const auto* const comparison = dyn_cast<llvm::ICmpInst>(values.resolve(branch.getCondition()));
  if (comparison == nullptr || !comparison->getOperand(0)->getType()->isIntegerTy()) return std::nullopt;
  if (const unsigned bits = comparison->getOperand(0)->getType()->getIntegerBitWidth(); bits != 32 && bits != 64)
    return std::nullopt;
  llvm::CmpInst::Predicate predicate = comparison->getPredicate();
  Value* index = comparison->getOperand(0);
  Value* bound = comparison->getOperand(1);
  llvm::SmallVector<Value*> base;
  if (!values.is_uniform(bound)) {
    std::swap(index, bound);
    predicate = llvm::CmpInst::getSwappedPredicate(predicate);
  }
  if (!values.is_uniform(bound) || !values.is_linear(index, base) || base.size() > 1) return std::nullopt;
  if (comparison->isEquality()) {
    // threadIdx.x == 0 is threadIdx.x < 1.
    const auto* const zero = dyn_cast<llvm::ConstantInt>(bound);
    if (zero == nullptr || !zero->isZero() || !base.empty()) return std::nullopt;
    return Guard{predicate == llvm::CmpInst::ICMP_EQ, nullptr, llvm::ConstantInt::get(zero->getType(), 1), false, false};
  }
  const bool inverse = !llvm::ICmpInst::isLT(predicate) && !llvm::ICmpInst::isLE(predicate);
  if (inverse) predicate = llvm::CmpInst::getInversePredicate(predicate);
  return Guard{!inverse, base.empty() ? nullptr : base[0], bound, llvm::CmpInst::isSigned(predicate),
               llvm::ICmpInst::isLE(predicate)};
}

// The decision that ends the path, or one behind it.
Decision find_on_path(const BlockFunction& block, const Region& region, const KnownValues& known, Path path) {
  auto* const branch = dyn_cast<llvm::BranchInst>(path.back()->getTerminator());
  if (branch == nullptr || path.size() > most_depth) return {};
  const Values values(block, path, known);
  if (branch->isConditional() && !values.is_uniform(branch->getCondition())) {
    std::optional<Guard> guard = as_guard(values, *branch);
    if (!guard) return {};
    return {branch, std::move(path), guard, {}};
  }
  std::vector<Decision> ways;
  for (unsigned k = 0; k < branch->getNumSuccessors(); ++k) {
    llvm::BasicBlock* const next = branch->getSuccessor(k);
    const bool only_way = region.blocks.count(next) != 0 && !llvm::is_contained(path, next) &&
                          llvm::all_of(llvm::predecessors(next), [&](llvm::BasicBlock* from) {
                            return from == path.back() || region.blocks.count(from) == 0;
                          });
    path.push_back(next);
    ways.push_back(only_way ? find_on_path(block, region, known, path) : Decision());
    path.pop_back();
  }
  if (!branch->isConditional()) return std::move(ways[0]);
  if (llvm::all_of(ways, [](const Decision& way) { return way.branch == nullptr; })) return {};
  return {branch, std::move(path), std::nullopt, std::move(ways)};
}

}  // namespace

Decision find_decision(const BlockFunction& block, const Region& region, const KnownValues& known) {
  return find_on_path(block, region, known, {region.entry});
}

Value* copy_condition(const BlockFunction& block, const Decision& decision, const KnownValues& known,
                      llvm::IRBuilder<>& builder) {
  return Values(block, decision.path, known).copy(decision.branch->getCondition(), builder);
}

Split split_threads(const BlockFunction& block, const Decision& decision, const KnownValues& known,
                    llvm::IRBuilder<>& builder, Value* threads) {
  const Values values(block, decision.path, known);
  const Guard& guard = *decision.guard;
  llvm::Type* const narrow = guard.bound->getType();
  const unsigned bits = narrow->getIntegerBitWidth();
  llvm::Type* const wide = builder.getIntNTy(2 * bits);  // where nothing wraps
  const auto widen = [&](Value* value) {
    return guard.is_signed ? builder.CreateSExt(value, wide) : builder.CreateZExt(value, wide);
  };
  Value* const base = guard.base != nullptr ? widen(values.copy(guard.base, builder)) : llvm::ConstantInt::get(wide, 0);
  Value* const bound = widen(values.copy(guard.bound, builder));
  Value* const all = builder.CreateZExtOrTrunc(threads, wide);
  Value* const last = builder.CreateSub(builder.CreateAdd(base, all), llvm::ConstantInt::get(wide, 1));
  const llvm::APInt most = guard.is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
  Value* count = builder.CreateSub(bound, base);
  if (guard.inclusive) count = builder.CreateAdd(count, llvm::ConstantInt::get(wide, 1));
  count = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, llvm::ConstantInt::get(wide, 0));
  count = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, all);
  return {builder.CreateZExtOrTrunc(count, builder.getInt64Ty()),
          builder.CreateICmpSGT(last, llvm::ConstantInt::get(wide, most.zext(2 * bits)))};
}

}  // namespace weir::workgroup
