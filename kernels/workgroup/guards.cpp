// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/guards.hpp"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>

#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/llvm_names.hpp"

namespace weir::workgroup {
namespace {

constexpr unsigned most_depth = 8;

// Computes values at the start of a row of a region. Values that are the same in the whole row are copied to that place.
class Values {
 public:
  Values(const BlockFunction& block, const Path& path, const KnownValues& known)
      : block_(block), path_(path), known_(known) {}

  // Returns the value that `value` has on the path. For a load of a variable that is kept across barriers, it is the value
  // stored on the path. For a phi, it is the value from the preceding block of the path.
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
    if (called_builtin(value) == Builtin::thread_index) return axis_of(*instruction) > 0;
    if (const auto* const load = dyn_cast<llvm::LoadInst>(instruction)) {
      const auto* const variable = dyn_cast<llvm::AllocaInst>(load->getPointerOperand());
      return variable != nullptr && known_.count(variable) != 0;
    }
    if (!(isa<llvm::BinaryOperator>(instruction) || isa<llvm::CastInst>(instruction) || isa<llvm::SelectInst>(instruction) ||
          isa<llvm::ICmpInst>(instruction) || isa<llvm::MinMaxIntrinsic>(instruction)) ||
        !llvm::isSafeToSpeculativelyExecute(instruction)) {
      return false;
    }
    return llvm::all_of(instruction->operands(), [&](const llvm::Use& use) { return is_uniform(use.get(), depth + 1); });
  }

  Value* copy(Value* value, const Row& row, llvm::IRBuilder<>& builder) const {
    value = resolve(value);
    auto* const instruction = dyn_cast<Instruction>(value);
    if (instruction == nullptr || instruction->getParent() == block_.top) return value;
    if (called_builtin(value) == Builtin::thread_index) return row.index[axis_of(*instruction)];
    if (const auto* const load = dyn_cast<llvm::LoadInst>(instruction))
      return known_.lookup(cast<llvm::AllocaInst>(load->getPointerOperand()));
    llvm::SmallVector<Value*> operands;
    for (Value* operand : instruction->operands()) operands.push_back(copy(operand, row, builder));
    Instruction* const made = instruction->clone();
    made->dropPoisonGeneratingFlags();
    for (unsigned k = 0; k < operands.size(); ++k) made->setOperand(k, operands[k]);
    return builder.Insert(made);
  }

  bool is_line(Value* value, Line& line, unsigned depth = 0) const {
    value = resolve(value);
    if (called_builtin(value) == Builtin::thread_index) return axis_of(*cast<Instruction>(value)) == 0;
    if (depth > most_depth) return false;
    if (isa<llvm::ZExtInst>(value) || isa<llvm::SExtInst>(value)) {
      auto* const extension = cast<Instruction>(value);
      if (!is_line(extension->getOperand(0), line, depth + 1)) return false;
      line.steps.push_back({nullptr, extension, false});
      return true;
    }
    auto* const sum = dyn_cast<llvm::BinaryOperator>(value);
    if (sum == nullptr || !(sum->getOpcode() == Instruction::Add || sum->getOpcode() == Instruction::Sub)) return false;
    const bool subtracts = sum->getOpcode() == Instruction::Sub;
    for (unsigned k = 0; k < (subtracts ? 1U : 2U); ++k) {
      if (!is_uniform(sum->getOperand(1 - k)) || !is_line(sum->getOperand(k), line, depth + 1)) continue;
      line.steps.push_back({sum->getOperand(1 - k), nullptr, subtracts});
      return true;
    }
    return false;
  }

 private:
  // Whether `first` precedes `second` on the path. A loop with a barrier leads back to the start of the path, but its code,
  // including its stores, is on the path only once.
  bool comes_before(const Instruction& first, const Instruction& second) const {
    if (first.getParent() == second.getParent()) return first.comesBefore(&second);
    const auto* const at = llvm::find(path_, first.getParent());
    return at != path_.end() && std::find(at, path_.end(), second.getParent()) != path_.end();
  }

  // The axis of a thread index; -1 if it is not a constant.
  static int axis_of(const Instruction& thread_index) {
    const auto* const axis = dyn_cast<llvm::ConstantInt>(thread_index.getOperand(0));
    return axis != nullptr && axis->getValue().ult(3) ? static_cast<int>(axis->getZExtValue()) : -1;
  }

  const BlockFunction& block_;
  const Path& path_;
  const KnownValues& known_;
};

// Splits a condition into parts, all of which must hold.
class GuardFinder {
 public:
  explicit GuardFinder(const Values& values) : values_(values) {}

  std::optional<Guard> find(Value* condition) {
    // Uses the threads with "x < bound" as the contiguous ones, rather than the others.
    const auto* const comparison = dyn_cast<llvm::ICmpInst>(values_.resolve(condition));
    const bool greater = comparison != nullptr && !is_upper_bound(*comparison);
    for (const bool inside : {!greater, greater}) {
      guard_ = {{}, inside, true, true};
      if (take_apart(condition, inside, 0)) return guard_;
    }
    return std::nullopt;
  }

 private:
  bool is_upper_bound(const llvm::ICmpInst& comparison) const {
    Line line;
    const bool in_order = values_.is_line(comparison.getOperand(0), line);
    const llvm::CmpInst::Predicate predicate = in_order ? comparison.getPredicate() : comparison.getSwappedPredicate();
    return llvm::ICmpInst::isLT(predicate) || llvm::ICmpInst::isLE(predicate) || predicate == llvm::CmpInst::ICMP_EQ;
  }

  // Adds the part that says that `value` equals `holds`.
  bool take_apart(Value* value, bool holds, unsigned depth) {
    namespace match = llvm::PatternMatch;
    if (depth > most_depth) return false;
    value = values_.resolve(value);
    if (values_.is_uniform(value)) {
      guard_.parts.push_back({llvm::CmpInst::BAD_ICMP_PREDICATE, {}, value, true, holds, false});
      return true;
    }
    Value *first = nullptr, *second = nullptr;
    if (match::match(value, match::m_Not(match::m_Value(first)))) return take_apart(first, !holds, depth + 1);
    if (holds ? match::match(value, match::m_LogicalAnd(match::m_Value(first), match::m_Value(second)))
              : match::match(value, match::m_LogicalOr(match::m_Value(first), match::m_Value(second)))) {
      return take_apart(first, holds, depth + 1) && take_apart(second, holds, depth + 1);
    }
    const auto* const comparison = dyn_cast<llvm::ICmpInst>(value);
    if (comparison == nullptr) return false;
    const llvm::CmpInst::Predicate predicate = holds ? comparison->getPredicate() : comparison->getInversePredicate();
    return add(comparison->getOperand(0), predicate, comparison->getOperand(1)) ||
           add(comparison->getOperand(1), llvm::CmpInst::getSwappedPredicate(predicate), comparison->getOperand(0));
  }

  bool add(Value* index, llvm::CmpInst::Predicate predicate, Value* bound) {
    using Compare = llvm::CmpInst;
    const llvm::Type* const type = bound->getType();
    Line line;
    if (!(type->isIntegerTy(32) || type->isIntegerTy(64)) || !values_.is_uniform(bound) || !values_.is_line(index, line))
      return false;
    const auto* const zero = dyn_cast<llvm::ConstantInt>(bound);
    if ((predicate == Compare::ICMP_EQ || predicate == Compare::ICMP_NE) && zero != nullptr && zero->isZero() &&
        llvm::none_of(line.steps, [](const Line::Step& step) { return step.value != nullptr; })) {
      // Treats threadIdx.x == 0 as threadIdx.x < 1.
      predicate = predicate == Compare::ICMP_EQ ? Compare::ICMP_ULT : Compare::ICMP_UGE;
      bound = llvm::ConstantInt::get(zero->getType(), 1);
    }
    if (predicate == Compare::ICMP_NE) return false;
    const bool less = llvm::ICmpInst::isLT(predicate) || llvm::ICmpInst::isLE(predicate);
    // Recognizes x - 1 < n - 1, because LLVM often rewrites 1 <= x && x < n in this form.
    const bool below_zero = less && Compare::isUnsigned(predicate) && llvm::any_of(line.steps, [](const Line::Step& step) {
                              const auto* const constant =
                                  dyn_cast<llvm::ConstantInt>(step.value != nullptr ? step.value : step.widens);
                              return step.subtracts || (constant != nullptr && constant->isNegative());
                            });
    guard_.from_first &= less && !below_zero;
    guard_.to_last &= llvm::ICmpInst::isGT(predicate) || llvm::ICmpInst::isGE(predicate);
    guard_.parts.push_back({predicate, std::move(line), bound, false, false, below_zero});
    return true;
  }

  const Values& values_;
  Guard guard_;
};

// Returns the decision at the end of the path, or the next one after it.
Decision find_on_path(const BlockFunction& block, const Region& region, const KnownValues& known, Path path) {
  auto* const branch = dyn_cast<llvm::BranchInst>(path.back()->getTerminator());
  if (branch == nullptr || path.size() > most_depth) return {};
  const Values values(block, path, known);
  if (branch->isConditional() && !values.is_uniform(branch->getCondition())) {
    std::optional<Guard> guard = GuardFinder(values).find(branch->getCondition());
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

Value* copy_condition(const BlockFunction& block, const Decision& decision, const KnownValues& known, const Row& row,
                      llvm::IRBuilder<>& builder) {
  return Values(block, decision.path, known).copy(decision.branch->getCondition(), row, builder);
}

namespace {

// Computes the threads for which a guard holds. It uses twice as many bits, so that no value wraps.
class Splitter {
 public:
  Splitter(const Values& values, const Row& row, llvm::IRBuilder<>& builder)
      : values_(values), row_(row), builder_(builder), wraps_(builder.getFalse()) {}

  Split split(const Guard& guard) {
    Value* begin = builder_.getInt64(0);
    Value* end = row_.threads;
    Value* row_runs = builder_.getTrue();
    for (const Guard::Part& part : guard.parts) {
      if (part.of_row) {
        Value* const condition = copy(part.bound);
        row_runs = builder_.CreateAnd(row_runs, part.row_is ? condition : builder_.CreateNot(condition));
        continue;
      }
      const Range range = threads_of(part);
      if (range.begin != nullptr) begin = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, begin, clamp(range.begin));
      if (range.end != nullptr) end = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, end, clamp(range.end));
    }
    if (guard.from_first) {
      end = builder_.CreateSelect(row_runs, end, builder_.getInt64(0));
    } else {
      begin = builder_.CreateSelect(row_runs, begin, row_.threads);
      end = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, begin, end);
    }
    return {begin, end, builder_.CreateAnd(row_runs, wraps_)};
  }

 private:
  // A range of thread numbers along x. A null `begin` means the start of the row, a null `end` its end.
  struct Range {
    Value* begin;
    Value* end;
  };

  // Freezes the copy, because the right side of "&&" may be poison if the left side is false.
  Value* copy(Value* value) { return builder_.CreateFreeze(values_.copy(value, row_, builder_)); }

  llvm::IntegerType* twice(const llvm::Type* type) { return builder_.getIntNTy(2 * type->getIntegerBitWidth()); }

  Value* widen(Value* value, bool is_signed) { return builder_.CreateIntCast(value, twice(value->getType()), is_signed); }

  // Whether the value wraps within the row: `first` is the value of the row's first thread, and the value of the last thread
  // exceeds the maximum of its type.
  Value* wraps(Value* first, bool is_signed) {
    const unsigned bits = first->getType()->getIntegerBitWidth();
    llvm::IntegerType* const wide = twice(first->getType());
    const llvm::APInt most = is_signed ? llvm::APInt::getSignedMaxValue(bits) : llvm::APInt::getMaxValue(bits);
    Value* const behind = builder_.CreateAdd(widen(first, is_signed), builder_.CreateZExtOrTrunc(row_.threads, wide));
    return builder_.CreateICmpSGT(
        behind, builder_.CreateAdd(llvm::ConstantInt::get(wide, most.zext(2 * bits)), llvm::ConstantInt::get(wide, 1)));
  }

  void add_wrap(Value* wraps) { wraps_ = builder_.CreateOr(wraps_, wraps); }

  // The value of `line` for the first thread of the row.
  Value* first_of(const Line& line) {
    Value* first = builder_.getInt32(0);
    bool is_index = true;  // a thread index is small and cannot wrap
    for (const Line::Step& step : line.steps) {
      if (step.widens != nullptr) {
        const bool is_signed = isa<llvm::SExtInst>(step.widens);
        if (!is_index) add_wrap(wraps(first, is_signed));
        first = builder_.CreateIntCast(first, step.widens->getType(), is_signed);
      } else {
        is_index = false;
        Value* const value = copy(step.value);
        first = step.subtracts ? builder_.CreateSub(first, value) : builder_.CreateAdd(first, value);
      }
    }
    return first;
  }

  Range threads_of(const Guard::Part& part) {
    using llvm::ICmpInst;
    Value* const narrow = first_of(part.line);
    Value* const narrow_bound = copy(part.bound);
    llvm::IntegerType* const wide = twice(narrow->getType());
    Value* const one = llvm::ConstantInt::get(wide, 1);
    if (part.predicate == ICmpInst::ICMP_EQ) {
      Value* const thread = builder_.CreateZExt(builder_.CreateSub(narrow_bound, narrow), wide);
      return {thread, builder_.CreateAdd(thread, one)};
    }
    const bool is_signed = ICmpInst::isSigned(part.predicate);
    const bool less = ICmpInst::isLT(part.predicate) || ICmpInst::isLE(part.predicate);
    Value* first = widen(narrow, is_signed);
    Value* bound = widen(narrow_bound, is_signed);
    // "x <= bound" means "x < bound + 1", and "x > bound" means "x >= bound + 1".
    if (ICmpInst::isLE(part.predicate) || ICmpInst::isGT(part.predicate)) bound = builder_.CreateAdd(bound, one);
    Value* const too_far = wraps(narrow, is_signed);
    if (!part.may_begin_below_zero) {
      add_wrap(too_far);
      Value* const thread = builder_.CreateSub(bound, first);
      return less ? Range{nullptr, thread} : Range{thread, nullptr};
    }
    // The range begins at the thread whose value wraps around to 0.
    Value* const below = builder_.CreateICmpUGE(first, bound);
    add_wrap(builder_.CreateAnd(builder_.CreateNot(below), too_far));
    const unsigned bits = narrow->getType()->getIntegerBitWidth();
    Value* const zero = llvm::ConstantInt::get(wide, llvm::APInt::getOneBitSet(2 * bits, bits));
    first = builder_.CreateSelect(below, builder_.CreateSub(first, zero), first);
    return {builder_.CreateNeg(first), builder_.CreateSub(bound, first)};
  }

  Value* clamp(Value* thread) {
    llvm::Type* const type = thread->getType();
    Value* const all = builder_.CreateZExtOrTrunc(row_.threads, type);
    thread = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, thread, llvm::ConstantInt::get(type, 0));
    thread = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, thread, all);
    return builder_.CreateZExtOrTrunc(thread, builder_.getInt64Ty());
  }

  const Values& values_;
  const Row& row_;
  llvm::IRBuilder<>& builder_;
  Value* wraps_;
};

}  // namespace

Split split_threads(const BlockFunction& block, const Decision& decision, const KnownValues& known, const Row& row,
                    llvm::IRBuilder<>& builder) {
  const Values values(block, decision.path, known);
  return Splitter(values, row, builder).split(*decision.guard);
}

}  // namespace weir::workgroup
