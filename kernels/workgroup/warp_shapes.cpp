// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/warp_shapes.hpp"

#include <llvm/Analysis/ConstantFolding.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/KnownBits.h>

#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/llvm_names.hpp"

namespace weir::workgroup {
namespace {

constexpr Shape varying_shape{Shape::varying, 0, 0, false, false};

unsigned width_of(const llvm::Type& type) { return type.isPointerTy() ? 64 : type.getIntegerBitWidth(); }

// The lanes' values cannot wrap if they all are in an aligned range that begins with lane 0's value.
void settle(Shape& shape, const llvm::Type& type, unsigned lanes) {
  const unsigned zeros = std::min(shape.zeros, width_of(type) - 1);
  if (shape.stride >= 0 && shape.stride <= (std::int64_t{1} << 40) &&
      (zeros >= 62 || shape.stride * (lanes - 1) < (std::int64_t{1} << zeros)))
    shape.exact_signed = shape.exact_unsigned = true;
}

// Whether the two operands have no bit in common, so that "or" has the effect of an addition.
bool is_disjoint(const llvm::BinaryOperator& either, const llvm::DataLayout& layout) {
#if LLVM_VERSION_MAJOR >= 18
  if (cast<llvm::PossiblyDisjointInst>(either).isDisjoint()) return true;
#endif
  const llvm::KnownBits a = llvm::computeKnownBits(either.getOperand(0), layout);
  const llvm::KnownBits b = llvm::computeKnownBits(either.getOperand(1), layout);
  return (a.Zero | b.Zero).isAllOnes();
}

}  // namespace

Shapes::Shapes(llvm::Function& function, const LaneMasks& masks, unsigned lanes)
    : layout_(function.getParent()->getDataLayout()), masks_(masks), lanes_(lanes) {
  constexpr unsigned most_rounds = 50;
  for (unsigned round = 0;; ++round) {
    bool changed = false;
    for (llvm::BasicBlock* block : masks.blocks()) {
      for (Instruction& instruction : *block) {
        if (instruction.getType()->isVoidTy()) continue;
        Shape shape = compute(instruction);
        if (shape == shapes_[&instruction]) continue;
        if (round > most_rounds) shape = varying_shape;
        shapes_[&instruction] = shape;
        changed = true;
      }
    }
    if (!changed) break;
  }
  for (auto& [value, shape] : shapes_) {
    if (shape.kind == Shape::unknown) shape = varying_shape;
  }
}

Shape Shapes::of(const Value* value) const {
  if (isa<Instruction>(value)) {
    const auto found = shapes_.find(value);
    if (found == shapes_.end()) return {};
    if (found->second.kind != Shape::uniform) return found->second;
  }
  Shape shape{Shape::uniform, 0, 0, true, true};
  if (value->getType()->isIntegerTy()) {
    const llvm::KnownBits known = llvm::computeKnownBits(value, layout_);
    shape.zeros = known.isZero() ? 64 : known.countMinTrailingZeros();
  }
  return shape;
}

Shape Shapes::of_phi(llvm::PHINode& phi) const {
  if (const llvm::Loop* const left =
          phi.getNumIncomingValues() == 1 ? masks_.divergent_loop_left(phi.getIncomingBlock(0), phi.getParent()) : nullptr) {
    const auto* const inside = dyn_cast<Instruction>(phi.getIncomingValue(0));
    return inside != nullptr && left->contains(inside) ? varying_shape : of(phi.getIncomingValue(0));
  }
  if (!masks_.uniformity().is_divergent(phi)) return {Shape::uniform};
  Shape result;
  for (unsigned k = 0; k < phi.getNumIncomingValues(); ++k) {
    if (!masks_.comes_whole(phi.getIncomingBlock(k), phi.getParent())) return varying_shape;
    if (isa<llvm::UndefValue>(phi.getIncomingValue(k))) continue;
    const Shape shape = of(phi.getIncomingValue(k));
    if (shape.kind == Shape::unknown) continue;
    if (shape.kind == Shape::varying) return varying_shape;
    if (result.kind == Shape::unknown) {
      result = shape;
      result.kind = Shape::strided;
      continue;
    }
    if (result.stride != shape.stride) return varying_shape;
    result.zeros = std::min(result.zeros, shape.zeros);
    result.exact_signed &= shape.exact_signed;
    result.exact_unsigned &= shape.exact_unsigned;
  }
  return result;
}

// Whether the instruction's no-wrap flags may be used. The flags hold for the lanes that run the instruction. Lane 0, whose
// value represents all lanes, may be inactive; then its value must be between 0 and the values of the active lanes.
bool Shapes::holds_for_lane_0(const Instruction& instruction, const Shape& a, const Shape& b) const {
  if (masks_.is_full(masks_.mask_of(const_cast<llvm::BasicBlock*>(instruction.getParent())))) return true;
  return instruction.getOpcode() == Instruction::Sub ? a.stride <= 0 && b.stride >= 0 : a.stride >= 0 && b.stride >= 0;
}

Shape Shapes::combine(Instruction& instruction, Shape a, const Shape& b, std::int64_t stride) const {
  const auto* const wrapping = dyn_cast<llvm::OverflowingBinaryOperator>(&instruction);
  a.exact_signed &= b.exact_signed && (wrapping == nullptr || wrapping->hasNoSignedWrap());
  a.exact_unsigned &=
      b.exact_unsigned && (wrapping == nullptr || wrapping->hasNoUnsignedWrap()) && holds_for_lane_0(instruction, a, b);
  a.kind = Shape::strided;
  a.stride = stride;
  a.zeros = std::min(a.zeros, b.zeros);
  settle(a, *instruction.getType(), lanes_);
  return a;
}

Shape Shapes::of_address(llvm::GetElementPtrInst& address) const {
  Shape shape = of(address.getPointerOperand());
  shape.kind = Shape::strided;
#if LLVM_VERSION_MAJOR >= 20
  llvm::SmallMapVector<Value*, llvm::APInt, 4> variables;
#else
  llvm::MapVector<Value*, llvm::APInt> variables;
#endif
  llvm::APInt constant(64, 0);
  if (!address.collectOffset(layout_, 64, variables, constant)) return varying_shape;
  for (const auto& [variable, scale] : variables) {
    const Shape index = of(variable);
    if (width_of(*variable->getType()) < 64 && index.stride != 0 && !index.exact_signed) return varying_shape;
    shape.stride += index.stride * scale.getSExtValue();
  }
  shape.zeros = 0;
  return shape;
}

Shape Shapes::compute(Instruction& instruction) const {
  if (auto* const phi = dyn_cast<llvm::PHINode>(&instruction)) return of_phi(*phi);
  if (!masks_.uniformity().is_divergent(instruction)) return {Shape::uniform};
  if (called_builtin(&instruction) == Builtin::lane) return {Shape::strided, 1, 64, true, true};
  if (const auto* const variable = dyn_cast<llvm::AllocaInst>(&instruction)) {
    // The array is either one array for each lane, or one that the lanes share.
    const llvm::Type* const lane = cast<llvm::ArrayType>(variable->getAllocatedType())->getElementType();
    const auto stride = lane->isArrayTy() ? layout_.getTypeAllocSize(const_cast<llvm::Type*>(lane)).getFixedValue() : 0;
    return {Shape::strided, static_cast<std::int64_t>(stride), 0, true, true};
  }
  for (const Value* operand : instruction.operands()) {
    const Shape shape = of(operand);
    if (shape.kind == Shape::varying) return varying_shape;
    if (shape.kind == Shape::unknown && isa<Instruction>(operand)) return {};
  }
  const llvm::Type& type = *instruction.getType();
  if (!(type.isIntegerTy() || type.isPointerTy()) || type.isIntegerTy(1) || width_of(type) > 64) return varying_shape;
  const bool same_for_all = (isa<llvm::BinaryOperator>(instruction) || isa<llvm::CastInst>(instruction) ||
                             isa<llvm::GetElementPtrInst>(instruction)) &&
                            llvm::all_of(instruction.operands(), [&](const llvm::Use& use) {
                              return !use->getType()->isIntegerTy(1) && of(use.get()).stride == 0;
                            });
  if (same_for_all) return {Shape::strided, 0, 0, true, true};
  const auto operand = [&](unsigned k) { return of(instruction.getOperand(k)); };
  const auto constant = [&](unsigned k) { return dyn_cast<llvm::ConstantInt>(instruction.getOperand(k)); };
  const auto scaled = [&](const Shape& shape, std::int64_t stride, unsigned more_zeros) {
    Shape result = combine(instruction, shape, shape, stride);
    result.zeros = std::min(64U, shape.zeros + more_zeros);
    settle(result, type, lanes_);
    return result;
  };
  switch (instruction.getOpcode()) {
    case Instruction::Or:
      if (!is_disjoint(cast<llvm::BinaryOperator>(instruction), layout_)) return varying_shape;
      [[fallthrough]];
    case Instruction::Add: return combine(instruction, operand(0), operand(1), operand(0).stride + operand(1).stride);
    case Instruction::Sub: return combine(instruction, operand(0), operand(1), operand(0).stride - operand(1).stride);
    case Instruction::Mul:
      for (unsigned k = 0; k < 2; ++k) {
        const llvm::ConstantInt* const factor = constant(k);
        if (factor == nullptr || !factor->getValue().isSignedIntN(32)) continue;
        const std::int64_t stride = operand(1 - k).stride * factor->getSExtValue();
        return scaled(operand(1 - k), stride, factor->getValue().countTrailingZeros());
      }
      return varying_shape;
    case Instruction::Shl: {
      const llvm::ConstantInt* const by = constant(1);
      if (by == nullptr || by->getValue().uge(32)) return varying_shape;
      const std::uint64_t stride = static_cast<std::uint64_t>(operand(0).stride) << by->getZExtValue();
      return scaled(operand(0), static_cast<std::int64_t>(stride), static_cast<unsigned>(by->getZExtValue()));
    }
    case Instruction::LShr:
    case Instruction::AShr: {
      // The result is the number of the warp, because the shift drops the bits that differ between lanes.
      const llvm::ConstantInt* const by = constant(1);
      Shape shape = operand(0);
      if (by == nullptr || by->getValue().uge(std::min(shape.zeros, 32U) + 1) || shape.stride < 0 ||
          shape.stride > (std::int64_t{1} << 20) || shape.stride * (lanes_ - 1) >= (std::int64_t{1} << by->getZExtValue())) {
        return varying_shape;
      }
      shape.stride = 0;
      shape.zeros -= static_cast<unsigned>(by->getZExtValue());
      shape.exact_signed = shape.exact_unsigned = true;
      return shape;
    }
    case Instruction::SExt:
    case Instruction::ZExt: {
      Shape shape = operand(0);
      if (instruction.getOperand(0)->getType()->isIntegerTy(1)) return varying_shape;
      const bool is_signed = instruction.getOpcode() == Instruction::SExt;
      if (!(is_signed ? shape.exact_signed : shape.exact_unsigned)) return varying_shape;
      shape.exact_signed = true;
      shape.exact_unsigned = !is_signed;
      settle(shape, type, lanes_);
      return shape;
    }
    case Instruction::Trunc: {
      Shape shape = operand(0);
      shape.exact_signed = shape.exact_unsigned = false;
      settle(shape, type, lanes_);
      return shape;
    }
    case Instruction::Freeze: return operand(0);
    case Instruction::GetElementPtr: return of_address(cast<llvm::GetElementPtrInst>(instruction));
    default: return varying_shape;
  }
}

namespace {

llvm::Constant* evaluate(Value* value, unsigned lane, const llvm::DataLayout& layout,
                         llvm::DenseMap<Value*, llvm::Constant*>& known, unsigned depth) {
  if (auto* const constant = dyn_cast<llvm::Constant>(value)) return constant;
  if (called_builtin(value) == Builtin::lane) return llvm::ConstantInt::get(value->getType(), lane);
  auto* const instruction = dyn_cast<Instruction>(value);
  if (instruction == nullptr || depth > 12) return nullptr;
  if (const auto found = known.find(value); found != known.end()) return found->second;
  if (!(isa<llvm::BinaryOperator>(instruction) || isa<llvm::CastInst>(instruction) || isa<llvm::ICmpInst>(instruction) ||
        isa<llvm::SelectInst>(instruction) || isa<llvm::FreezeInst>(instruction) || isa<llvm::IntrinsicInst>(instruction)) ||
      instruction->mayReadOrWriteMemory()) {
    return nullptr;
  }
  llvm::SmallVector<llvm::Constant*> operands;
  for (Value* operand : instruction->operands()) {
    operands.push_back(evaluate(operand, lane, layout, known, depth + 1));
    if (operands.back() == nullptr) return nullptr;
  }
  return known[value] = isa<llvm::FreezeInst>(instruction) ? operands[0]
                                                           : llvm::ConstantFoldInstOperands(instruction, operands, layout);
}

}  // namespace

std::optional<std::array<std::int64_t, warp_size>> values_of_lanes(Value* value, const llvm::DataLayout& layout) {
  std::array<std::int64_t, warp_size> values;
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    llvm::DenseMap<Value*, llvm::Constant*> known;
    const auto* const number = llvm::dyn_cast_or_null<llvm::ConstantInt>(evaluate(value, lane, layout, known, 0));
    if (number == nullptr) return std::nullopt;
    values[lane] = number->getSExtValue();
  }
  return values;
}

}  // namespace weir::workgroup
