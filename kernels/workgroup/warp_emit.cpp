// SPDX-License-Identifier: Apache-2.0
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/InlineAsm.h>

#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/exponential.hpp"
#include "kernels/workgroup/full_warps.hpp"
#include "kernels/workgroup/llvm_names.hpp"
#include "kernels/workgroup/refusal.hpp"
#include "kernels/workgroup/regions.hpp"
#include "kernels/workgroup/warp_vectorizer.hpp"

namespace weir::workgroup {
namespace {

#if LLVM_VERSION_MAJOR >= 20  // from LLVM 20 on, a target can be passed for its own intrinsics
bool takes_scalar(llvm::Intrinsic::ID id, unsigned k) { return llvm::isVectorIntrinsicWithScalarOpAtArg(id, k, nullptr); }
bool names_type(llvm::Intrinsic::ID id, int k) { return llvm::isVectorIntrinsicWithOverloadTypeAtArg(id, k, nullptr); }
#else
bool takes_scalar(llvm::Intrinsic::ID id, unsigned k) { return llvm::isVectorIntrinsicWithScalarOpAtArg(id, k); }
bool names_type(llvm::Intrinsic::ID id, int k) { return llvm::isVectorIntrinsicWithOverloadTypeAtArg(id, k); }
#endif

}  // namespace

llvm::Constant* numbers_of_lanes(llvm::Type* type, std::int64_t stride, unsigned count) {
  llvm::SmallVector<llvm::Constant*> values;
  for (unsigned lane = 0; lane < count; ++lane) {
    const std::uint64_t value = static_cast<std::uint64_t>(stride) * lane;
    values.push_back(llvm::ConstantInt::get(type, llvm::APInt(64, value).zextOrTrunc(type->getIntegerBitWidth())));
  }
  return llvm::ConstantVector::get(values);
}

llvm::VectorType* Vectorizer::vector_of(llvm::Type* type) const { return llvm::FixedVectorType::get(type, lanes_); }

Value* Vectorizer::stretch(Value* first, std::int64_t stride) {
  if (stride == 0) return builder_.CreateVectorSplat(lanes_, first);
  if (first->getType()->isPointerTy())
    return builder_.CreateGEP(builder_.getInt8Ty(), first, numbers_of_lanes(builder_.getInt64Ty(), stride, lanes_));
  return builder_.CreateAdd(builder_.CreateVectorSplat(lanes_, first), numbers_of_lanes(first->getType(), stride, lanes_));
}

Value* Vectorizer::lanes(Value* value) {
  if (auto* const constant = dyn_cast<llvm::Constant>(value)) {
    if (isa<llvm::PoisonValue>(constant)) return llvm::PoisonValue::get(vector_of(value->getType()));
    if (isa<llvm::UndefValue>(constant)) return llvm::UndefValue::get(vector_of(value->getType()));
    return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes_), constant);
  }
  if (const auto made = vectors_.find(value); made != vectors_.end()) return made->second;
  const Shape shape = shapes_.of(value);
  if (shape.kind == Shape::varying)
    throw Refused("a value differs between lanes in a way that is not understood", cast<Instruction>(value));
  return stretch(value, shape.kind == Shape::strided ? shape.stride : 0);
}

bool Vectorizer::is_all(Value* mask) const {
  const auto* const constant = dyn_cast<llvm::Constant>(mask);
  return constant != nullptr && constant->isAllOnesValue();
}

Value* Vectorizer::both(Value* mask, Value* condition) {
  if (is_all(mask)) return condition;
  if (is_all(condition)) return mask;
  // Uses a select instead of "and", because the values of inactive lanes may be poison.
  return builder_.CreateSelect(mask, condition, llvm::Constant::getNullValue(mask->getType()));
}

Value* Vectorizer::bits(Value* mask) {
  return builder_.CreateZExt(builder_.CreateBitCast(mask, builder_.getIntNTy(lanes_)), builder_.getInt32Ty());
}

Value* Vectorizer::any(Value* mask) { return builder_.CreateICmpNE(bits(mask), builder_.getInt32(0)); }

void Vectorizer::replace(Instruction& instruction, Value* value) {
  instruction.replaceAllUsesWith(value);
  drop(instruction);
}

void Vectorizer::emit(Instruction& instruction) {
  if (instruction.isTerminator()) return;
  if (auto* const call = dyn_cast<llvm::CallInst>(&instruction)) return emit_call(*call);
  if (auto* const load = dyn_cast<llvm::LoadInst>(&instruction)) return emit_load(*load);
  if (auto* const store = dyn_cast<llvm::StoreInst>(&instruction)) return emit_store(*store);
  if (isa<llvm::AtomicRMWInst>(instruction) || isa<llvm::AtomicCmpXchgInst>(instruction)) return one_by_one(instruction);
  if (isa<llvm::BinaryOperator>(instruction) && shapes_.is_uniform(&instruction) &&
      llvm::any_of(instruction.operands(), [&](const llvm::Use& use) { return shapes_.is_varying(use.get()); })) {
    // A sum over the whole warp, which all lanes have.
    return replace(instruction, builder_.CreateExtractElement(emit_plain(instruction), std::uint64_t{0}));
  }
  if (instruction.getType()->isVoidTy() || !shapes_.is_varying(&instruction)) return;
  if (auto* const member = dyn_cast<llvm::ExtractValueInst>(&instruction)) {
    const auto made = members_.find(member->getAggregateOperand());
    if (made == members_.end() || member->getNumIndices() != 1) throw Refused("a structure differs between lanes", member);
    vectors_[member] = made->second[member->getIndices()[0]];
    return;
  }
  vectors_[&instruction] = emit_plain(instruction);
}

Value* Vectorizer::emit_plain(Instruction& instruction) {
  const auto is_element = [](const llvm::Type* type) {
    return llvm::VectorType::isValidElementType(const_cast<llvm::Type*>(type));
  };
  if (!is_element(instruction.getType())) throw Refused("a structure differs between lanes", &instruction);
  for (const Value* operand : instruction.operands()) {
    if (!is_element(operand->getType())) throw Refused("a structure differs between lanes", &instruction);
  }
  const auto operand = [&](unsigned k) { return lanes(instruction.getOperand(k)); };
  Value* made = nullptr;
  if (const auto* const binary = dyn_cast<llvm::BinaryOperator>(&instruction)) {
    Value* right = operand(1);
    // Inactive lanes compute as well, so their divisor is replaced: it must not be 0.
    if (binary->isIntDivRem() && !isa<llvm::Constant>(right) && !is_all(mask_))
      right = builder_.CreateSelect(mask_, right, llvm::ConstantInt::get(right->getType(), 1));
    made = builder_.CreateBinOp(binary->getOpcode(), operand(0), right);
  } else if (const auto* const unary = dyn_cast<llvm::UnaryOperator>(&instruction)) {
    made = builder_.CreateUnOp(unary->getOpcode(), operand(0));
  } else if (const auto* const conversion = dyn_cast<llvm::CastInst>(&instruction)) {
    made = builder_.CreateCast(conversion->getOpcode(), operand(0), vector_of(conversion->getType()));
  } else if (const auto* const comparison = dyn_cast<llvm::CmpInst>(&instruction)) {
    made = builder_.CreateCmp(comparison->getPredicate(), operand(0), operand(1));
  } else if (isa<llvm::SelectInst>(instruction)) {
    Value* const condition = instruction.getOperand(0);
    made = builder_.CreateSelect(shapes_.is_uniform(condition) ? condition : operand(0), operand(1), operand(2));
  } else if (isa<llvm::FreezeInst>(instruction)) {
    made = builder_.CreateFreeze(operand(0));
  } else if (auto* const address = dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
    llvm::SmallVector<Value*> indices;
    for (Value* index : address->indices()) indices.push_back(isa<llvm::Constant>(index) ? index : lanes(index));
    made = builder_.CreateGEP(address->getSourceElementType(), lanes(address->getPointerOperand()), indices);
  } else {
    throw Refused(std::string("lanes differ in an instruction that is not understood: ") + instruction.getOpcodeName(),
                  &instruction);
  }
  if (auto* const result = dyn_cast<Instruction>(made); result != nullptr && result->getOpcode() == instruction.getOpcode())
    result->copyIRFlags(&instruction);
  return made;
}

bool Vectorizer::emit_intrinsic(llvm::IntrinsicInst& call) {
  const llvm::Intrinsic::ID id = call.getIntrinsicID();
  const bool uniform = llvm::all_of(call.args(), [&](Value* argument) { return shapes_.is_uniform(argument); });
  switch (id) {
    case llvm::Intrinsic::assume:
    case llvm::Intrinsic::experimental_noalias_scope_decl:
      if (!uniform) drop(call);
      return true;
    default: break;
  }
  if (uniform && !call.getType()->isVoidTy() && !shapes_.is_varying(&call)) return true;
  if (auto* const checked = dyn_cast<llvm::WithOverflowInst>(&call)) {
    Value* const both_members = builder_.CreateIntrinsic(id, {vector_of(checked->getLHS()->getType())},
                                                         {lanes(checked->getLHS()), lanes(checked->getRHS())});
    members_[&call] = {builder_.CreateExtractValue(both_members, 0), builder_.CreateExtractValue(both_members, 1)};
    return true;
  }
  if (emit_vector_function(call)) return true;
  if (!llvm::isTriviallyVectorizable(id)) return false;
  llvm::SmallVector<Value*> arguments;
  llvm::SmallVector<llvm::Type*> types{vector_of(call.getType())};
  for (unsigned k = 0; k < call.arg_size(); ++k) {
    Value* const argument = call.getArgOperand(k);
    if (takes_scalar(id, k)) {
      if (!shapes_.is_uniform(argument)) return false;
      arguments.push_back(argument);
    } else {
      arguments.push_back(lanes(argument));
    }
    if (names_type(id, static_cast<int>(k))) types.push_back(arguments.back()->getType());
  }
  llvm::CallInst* const made = builder_.CreateIntrinsic(id, types, arguments);
  made->copyIRFlags(&call);
  vectors_[&call] = made;
  return true;
}

// Calls the vector version of a mathematical function, if this compiler has one. Inactive lanes compute as well.
bool Vectorizer::emit_vector_function(llvm::CallInst& call) {
  const llvm::Function* const callee = call.getCalledFunction();
  llvm::Type* const type = call.getType();
  if (callee == nullptr || !type->isFloatingPointTy() || !callee->isDeclaration() || expands(call, library_)) return false;
  if (!llvm::all_of(call.args(), [&](Value* argument) { return argument->getType() == type; })) return false;
  // LLVM lists vector versions for 16 and for 32 bytes (AVX2). The GNU C library has each of them for 64 bytes as well.
  const llvm::StringRef features = function_.getFnAttribute("target-features").getValueAsString();
  const unsigned bytes = static_cast<unsigned>(layout_.getTypeStoreSize(type).getFixedValue());
  unsigned count = (features.contains("+avx2") ? 32 : 16) / bytes;
#if LLVM_VERSION_MAJOR >= 17
  std::string name = library_.getVectorizedFunction(callee->getName(), llvm::ElementCount::getFixed(count), false).str();
#else
  std::string name = library_.getVectorizedFunction(callee->getName(), llvm::ElementCount::getFixed(count)).str();
#endif
  const std::string of_avx2 = "_ZGVdN" + std::to_string(count) + "v";
  if (features.contains("+avx512f") && name.compare(0, of_avx2.size(), of_avx2) == 0) {
    count *= 2;
    name = "_ZGVeN" + std::to_string(count) + "v" + name.substr(of_avx2.size());
  }
  if (name.empty()) return false;
  auto* const part_type = llvm::FixedVectorType::get(type, count);
  const llvm::SmallVector<llvm::Type*> types(call.arg_size(), part_type);
  const llvm::FunctionCallee function =
      function_.getParent()->getOrInsertFunction(name, llvm::FunctionType::get(part_type, types, false));
  llvm::SmallVector<Value*> parts;
  for (unsigned first = 0; first < lanes_; first += count) {
    llvm::SmallVector<int> selection;
    for (unsigned lane = first; lane < first + count; ++lane) selection.push_back(static_cast<int>(lane));
    llvm::SmallVector<Value*> arguments;
    for (Value* argument : call.args()) arguments.push_back(builder_.CreateShuffleVector(lanes(argument), selection));
    llvm::CallInst* const part = builder_.CreateCall(function, arguments);
    part->setDoesNotAccessMemory();
    part->setDoesNotThrow();
    parts.push_back(part);
  }
  vectors_[&call] = llvm::concatenateVectors(builder_, parts);
  return true;
}

// Handles functions of the C library for which there is one vector instruction, or which are expanded later.
bool Vectorizer::emit_instruction(llvm::CallInst& call) {
  const llvm::Intrinsic::ID id = llvm::getVectorIntrinsicIDForCall(&call, &library_);
  if (id != llvm::Intrinsic::sqrt && !expands(call, library_)) return false;
  llvm::CallInst* const made = builder_.CreateUnaryIntrinsic(id, lanes(call.getArgOperand(0)));
  made->copyFastMathFlags(&call);
  vectors_[&call] = made;
  return true;
}

void Vectorizer::emit_call(llvm::CallInst& call) {
  const Builtin kind = called_builtin(&call);
  if (kind == Builtin::lane || kind == Builtin::thread_index) return;
  if (is_warp_operation(kind)) return emit_warp_operation(call, kind);
  if (is_lane_end(&call)) return emit_lane_end(call);
  if (asks_for_full_warp(&call)) return emit_full_warp(call);
  if (kind == Builtin::block_barrier) return check_all_there(call, nullptr);
  if (auto* const intrinsic = dyn_cast<llvm::IntrinsicInst>(&call); intrinsic != nullptr && emit_intrinsic(*intrinsic))
    return;
  const bool uniform = llvm::all_of(call.args(), [&](Value* argument) { return shapes_.is_uniform(argument); });
  if (call.doesNotAccessMemory() && uniform && !shapes_.is_varying(&call)) return;
  if (call.doesNotAccessMemory() && (emit_vector_function(call) || emit_instruction(call))) return;
  if (call.isInlineAsm()) throw Refused("it has inline assembly", &call);
  one_by_one(call);
}

}  // namespace weir::workgroup
