// SPDX-License-Identifier: Apache-2.0
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/faults.hpp"
#include "kernels/workgroup/llvm_names.hpp"
#include "kernels/workgroup/refusal.hpp"
#include "kernels/workgroup/warp_vectorizer.hpp"

namespace weir::workgroup {

void Vectorizer::emit_warp_operation(llvm::CallInst& call, Builtin kind) {
  switch (kind) {
    case Builtin::active_lanes: replace(call, builder_.CreateZExt(bits(mask_), call.getType())); return;
    case Builtin::warp_barrier:  // only checked: the lanes are in lockstep anyway
      check_all_there(call, call.getArgOperand(0));
      drop(call);
      return;
    case Builtin::ballot: {
      check_all_there(call, call.getArgOperand(0));
      Value* const predicate = call.getArgOperand(1);
      Value* const those =
          builder_.CreateICmpNE(lanes(predicate), llvm::Constant::getNullValue(vector_of(predicate->getType())));
      // Only the named lanes vote. A mask of 0 names all lanes.
      Value* const named = call.getArgOperand(0);
      Value* const yes = builder_.CreateZExt(bits(both(mask_, those)), call.getType());
      if (shapes_.is_varying(&call)) {
        Value* const names = lanes(named);
        Value* const none = builder_.CreateICmpEQ(names, llvm::Constant::getNullValue(names->getType()));
        Value* const all = builder_.CreateVectorSplat(warp_size, yes);
        vectors_[&call] = builder_.CreateSelect(none, all, builder_.CreateAnd(all, names));
      } else {
        Value* const none = builder_.CreateICmpEQ(named, llvm::Constant::getNullValue(named->getType()));
        replace(call, builder_.CreateSelect(none, yes, builder_.CreateAnd(yes, named)));
      }
      return;
    }
    case Builtin::shuffle:
      check_all_there(call, call.getArgOperand(0));
      emit_shuffle(call);
      return;
    default: throw Refused("it calls an unknown function of warps", &call);
  }
}

void Vectorizer::emit_shuffle(llvm::CallInst& call) {
  Value* const value = call.getArgOperand(1);
  Value* const from = call.getArgOperand(2);
  Value* source = lanes(value);
  // Reading an inactive lane yields 0.
  if (!is_all(mask_)) source = builder_.CreateSelect(mask_, source, llvm::Constant::getNullValue(source->getType()));
  if (!shapes_.is_varying(&call)) {
    // All lanes read one lane, and that lane is in the warp.
    replace(call, builder_.CreateExtractElement(source, from));
    return;
  }
  const auto known = values_of_lanes(from, layout_);
  if (!known) {
    vectors_[&call] = permute(source, from);
    return;
  }
  llvm::SmallVector<int> selection;
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    const std::int64_t asked = (*known)[lane];
    selection.push_back(asked >= 0 && asked < static_cast<std::int64_t>(warp_size) ? static_cast<int>(asked)
                                                                                   : static_cast<int>(lane));
  }
  vectors_[&call] = builder_.CreateShuffleVector(source, selection);
}

// Permutes through memory, because not all processors have an instruction for it.
Value* Vectorizer::permute(Value* value, Value* from) {
  llvm::Type* const type = cast<llvm::VectorType>(value->getType())->getElementType();
  Value* asked = builder_.CreateFreeze(lanes(from));  // frozen, because the operands of inactive lanes may be poison
  Value* const inside = builder_.CreateICmpULT(
      asked, llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(warp_size), builder_.getInt32(warp_size)));
  asked = builder_.CreateSelect(inside, asked, numbers_of_lanes(builder_.getInt32Ty(), 1, warp_size));
  llvm::IRBuilder<> top(block_.top->getTerminator());
  llvm::AllocaInst* const memory = top.CreateAlloca(value->getType(), nullptr, "shuffle");
  builder_.CreateStore(value, memory);
  return builder_.CreateMaskedGather(vector_of(type), builder_.CreateGEP(type, memory, asked), layout_.getABITypeAlign(type),
                                     llvm::ConstantInt::getTrue(vector_of(builder_.getInt1Ty())));
}

// Builds a check that all named lanes are active or have ended. `named`: the call's 64-bit mask, in which 0 means the active
// lanes; null if all lanes are named. Code that all lanes run needs no check, unless lanes that count as ended may still
// arrive.
void Vectorizer::check_all_there(llvm::CallInst& at, Value* named) {
  const bool whole = mask_ == mask_values_.lookup(LaneMasks::all);
  if (whole && lane_ends_.ending == nullptr) return;
  if (const auto* const constant = llvm::dyn_cast_or_null<llvm::ConstantInt>(named);
      constant != nullptr && constant->isZero())
    return;
  llvm::Type* const number = builder_.getInt32Ty();
  const auto load = [&](llvm::AllocaInst* variable) { return builder_.CreateLoad(number, variable); };
  Value* const elsewhere = lanes_there_ != nullptr ? builder_.CreateAnd(bits(builder_.CreateNot(mask_)), bits(lanes_there_))
                                                   : bits(builder_.CreateNot(mask_));
  Value* absent = elsewhere;
  if (lane_ends_.ended != nullptr) absent = builder_.CreateAnd(absent, builder_.CreateNot(load(lane_ends_.ended)));
  if (named != nullptr && !shapes_.is_uniform(named)) {
    Value* const wanted = builder_.CreateTrunc(lanes(named), vector_of(number));
    Value* const missing = builder_.CreateAnd(wanted, builder_.CreateVectorSplat(lanes_, absent));
    absent =
        builder_.CreateOrReduce(builder_.CreateSelect(mask_, missing, llvm::Constant::getNullValue(missing->getType())));
  } else if (named != nullptr) {
    absent = builder_.CreateAnd(absent, builder_.CreateTrunc(named, number));
  }
  if (lane_ends_.ending != nullptr) {
    Value* const ending = load(lane_ends_.ending);
    Value* const came = builder_.CreateICmpNE(builder_.CreateAnd(ending, bits(mask_)), builder_.getInt32(0));
    if (lane_ends_.before_ends.count(&at) != 0) {
      builder_.CreateStore(builder_.CreateOr(ending, absent), lane_ends_.ending);
      absent = builder_.getInt32(0);
    }
    absent = builder_.CreateSelect(came, elsewhere, absent);
  }
  Value* const failed = builder_.CreateICmpNE(absent, builder_.getInt32(0));
  Value* const first = builder_.CreateIntrinsic(llvm::Intrinsic::cttz, {number}, {bits(mask_), builder_.getTrue()});
  BasicBlock* const before = original(at.getParent());
  Instruction* const end = llvm::SplitBlockAndInsertIfThen(failed, &at, false);
  original_[end->getParent()] = original_[at.getParent()] = before;
  builder_.SetInsertPoint(end);
  report_missing_lanes(block_, builder_, at, absent, first, lanes_there_ == nullptr);
  builder_.SetInsertPoint(&at);
}

void Vectorizer::emit_lane_end(Instruction& call) {
  if (lane_ends_.ended != nullptr && mask_ != mask_values_.lookup(LaneMasks::all)) {
    Value* const before = builder_.CreateLoad(builder_.getInt32Ty(), lane_ends_.ended);
    builder_.CreateStore(builder_.CreateOr(before, bits(mask_)), lane_ends_.ended);
  }
  drop(call);
}

// If the lanes' numbers rise by a constant and do not wrap, the first lane has the least number and the last lane the
// greatest, so one comparison is enough.
void Vectorizer::emit_full_warp(llvm::CallInst& call) {
  Value* const full = llvm::ConstantInt::get(builder_.getInt32Ty(), llvm::APInt::getLowBitsSet(32, lanes_));
  const auto is_full = [&](Value* mask) -> Value* {
    return is_all(mask) ? builder_.getTrue() : builder_.CreateICmpEQ(bits(mask), full);
  };
  const auto predicate =
      static_cast<llvm::CmpInst::Predicate>(cast<llvm::ConstantInt>(call.getArgOperand(0))->getZExtValue());
  Value* const a = call.getArgOperand(1);
  Value* const b = call.getArgOperand(2);
  const bool less = llvm::ICmpInst::isLT(predicate) || llvm::ICmpInst::isLE(predicate);
  const bool greater = llvm::ICmpInst::isGT(predicate) || llvm::ICmpInst::isGE(predicate);
  const Shape shape = shapes_.of(a);
  if (isa<llvm::Constant>(a) && isa<llvm::Constant>(b)) {
    replace(call, is_full(mask_));
  } else if ((less || greater) && shape.kind == Shape::strided && shape.stride > 0 && shape.stride <= 4096 &&
             shapes_.is_uniform(b)) {
    const unsigned width = a->getType()->getIntegerBitWidth();
    const bool is_signed = llvm::CmpInst::isSigned(predicate);
    const llvm::APInt more(width, static_cast<std::uint64_t>(shape.stride) * (lanes_ - 1));
    const llvm::APInt most = (is_signed ? llvm::APInt::getSignedMaxValue(width) : llvm::APInt::getMaxValue(width)) - more;
    Value* const fits = builder_.CreateICmp(is_signed ? llvm::CmpInst::ICMP_SLE : llvm::CmpInst::ICMP_ULE, a,
                                            llvm::ConstantInt::get(a->getType(), most));
    Value* const decisive = less ? builder_.CreateAdd(a, llvm::ConstantInt::get(a->getType(), more)) : a;
    Value* const holds = builder_.CreateAnd(fits, builder_.CreateICmp(predicate, decisive, b));
    replace(call, builder_.CreateAnd(is_full(mask_), holds));
  } else {
    replace(call, is_full(both(mask_, builder_.CreateICmp(predicate, lanes(a), lanes(b)))));
  }
}

}  // namespace weir::workgroup
