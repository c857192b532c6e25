// SPDX-License-Identifier: Apache-2.0
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "kernels/workgroup/llvm_names.hpp"
#include "kernels/workgroup/refusal.hpp"
#include "kernels/workgroup/warp_vectorizer.hpp"

namespace weir::workgroup {
namespace {

template <class T>
T* with_metadata(T* access, const Instruction& original) {
  access->copyMetadata(original,
                       {llvm::LLVMContext::MD_alias_scope, llvm::LLVMContext::MD_noalias, llvm::LLVMContext::MD_tbaa});
  return access;
}

// Keeps "volatile" accesses where they are, because programs that rely on lockstep use them to communicate.
void keep_in_place(llvm::IRBuilder<>& builder, bool is_volatile) {
  if (!is_volatile) return;
  auto* const type = llvm::FunctionType::get(builder.getVoidTy(), false);
  builder.CreateCall(llvm::InlineAsm::get(type, "", "~{memory}", true));
}

}  // namespace

bool Vectorizer::is_contiguous(const Line& line, llvm::Type* type) const {
  const std::uint64_t size = layout_.getTypeStoreSize(type).getFixedValue();
  return line.stride == static_cast<std::int64_t>(size) && layout_.getTypeAllocSize(type).getFixedValue() == size &&
         layout_.getTypeSizeInBits(type).getFixedValue() == 8 * size;
}

// Computes lane 0's value of a line, and adds the run-time conditions under which the value is a line to `condition`. If
// `condition` is null, only determines the stride.
std::optional<Vectorizer::Line> Vectorizer::line(Value* value, Value** condition) {
  const Shape shape = shapes_.of(value);
  if (shape.kind != Shape::varying) return Line{value, shape.kind == Shape::strided ? shape.stride : 0};
  if (isa<llvm::ZExtInst>(value) || isa<llvm::SExtInst>(value)) {
    // An index such as blockIdx.x * columns + c may wrap between two lanes.
    Value* const narrow = cast<Instruction>(value)->getOperand(0);
    const Shape lanes_of_narrow = shapes_.of(narrow);
    if (lanes_of_narrow.kind != Shape::strided || lanes_of_narrow.stride <= 0 || lanes_of_narrow.stride > 64 ||
        narrow->getType()->getIntegerBitWidth() < 32) {
      return std::nullopt;
    }
    if (condition == nullptr) return Line{nullptr, lanes_of_narrow.stride};
    const bool is_signed = isa<llvm::SExtInst>(value);
    const unsigned width = narrow->getType()->getIntegerBitWidth();
    const llvm::APInt last = (is_signed ? llvm::APInt::getSignedMaxValue(width) : llvm::APInt::getMaxValue(width)) -
                             static_cast<std::uint64_t>(lanes_of_narrow.stride) * (lanes_ - 1);
    Value* const exact = builder_.CreateICmp(is_signed ? llvm::CmpInst::ICMP_SLE : llvm::CmpInst::ICMP_ULE, narrow,
                                             llvm::ConstantInt::get(narrow->getType(), last));
    *condition = *condition == nullptr ? exact : builder_.CreateAnd(*condition, exact);
    return Line{builder_.CreateIntCast(narrow, value->getType(), is_signed), lanes_of_narrow.stride};
  }
  const auto* const address = dyn_cast<llvm::GetElementPtrInst>(value);
  if (address == nullptr || address->getNumIndices() != 1 || !address->getOperand(1)->getType()->isIntegerTy(64)) return {};
  std::optional<Line> base = line(address->getOperand(0), condition), index = line(address->getOperand(1), condition);
  if (!base || !index) return std::nullopt;
  llvm::Type* const element = address->getSourceElementType();
  base->stride += index->stride * static_cast<std::int64_t>(layout_.getTypeAllocSize(element).getFixedValue());
  if (condition != nullptr) base->first = builder_.CreateGEP(element, base->first, index->first);
  return base;
}

// `beside` builds the access to contiguous elements, beginning at lane 0's address. `apart` builds the access to scattered
// elements.
Value* Vectorizer::emit_access(Instruction& access, Value* address, llvm::Type* type,
                               llvm::function_ref<Value*(Value*)> beside, llvm::function_ref<Value*()> apart) {
  const std::optional<Line> maybe = line(address, nullptr);
  if (!maybe || !is_contiguous(*maybe, type)) return apart();
  if (!shapes_.is_varying(address)) return beside(address);
  Value* condition = nullptr;
  Value* const first = line(address, &condition)->first;
  BasicBlock* const before = access.getParent();
  BasicBlock* const origin = original(before);
  Instruction *then = nullptr, *otherwise = nullptr;
  llvm::SplitBlockAndInsertIfThenElse(condition, &access, &then, &otherwise,
                                      llvm::MDBuilder(access.getContext()).createBranchWeights(1 << 20, 1));
  for (BasicBlock* block : {then->getParent(), otherwise->getParent(), access.getParent()}) original_[block] = origin;
  builder_.SetInsertPoint(then);
  Value* const if_beside = beside(first);
  builder_.SetInsertPoint(otherwise);
  Value* const if_apart = apart();
  builder_.SetInsertPoint(&access);
  if (access.getType()->isVoidTy()) return nullptr;
  llvm::PHINode* const made = builder_.CreatePHI(if_beside->getType(), 2);
  made->addIncoming(if_beside, then->getParent());
  made->addIncoming(if_apart, otherwise->getParent());
  return made;
}

void Vectorizer::emit_load(llvm::LoadInst& load) {
  if (!shapes_.is_varying(&load)) return;
  if (load.isAtomic()) return one_by_one(load);
  llvm::Type* const type = load.getType();
  if (!llvm::VectorType::isValidElementType(type) || layout_.getTypeSizeInBits(type) != layout_.getTypeStoreSizeInBits(type))
    throw Refused("it loads a structure that differs between lanes", &load);
  keep_in_place(builder_, load.isVolatile());
  Value* const address = load.getPointerOperand();
  const Shape shape = shapes_.of(address);
  if (shape.kind == Shape::uniform || (shape.kind == Shape::strided && shape.stride == 0)) {
    vectors_[&load] =
        builder_.CreateVectorSplat(lanes_, with_metadata(builder_.CreateAlignedLoad(type, address, load.getAlign()), load));
    return;
  }
  const auto beside = [&](Value* first) -> Value* {
    if (is_all(mask_)) return with_metadata(builder_.CreateAlignedLoad(vector_of(type), first, load.getAlign()), load);
    return with_metadata(builder_.CreateMaskedLoad(vector_of(type), first, load.getAlign(), mask_), load);
  };
  vectors_[&load] = emit_access(load, address, type, beside, [&]() -> Value* {
    return with_metadata(builder_.CreateMaskedGather(vector_of(type), lanes(address), load.getAlign(), mask_), load);
  });
}

void Vectorizer::emit_store(llvm::StoreInst& store) {
  if (store.isAtomic()) return one_by_one(store);
  Value* const address = store.getPointerOperand();
  Value* const value = store.getValueOperand();
  keep_in_place(builder_, store.isVolatile());
  if (shapes_.is_uniform(address) && shapes_.is_uniform(value)) return;
  llvm::Type* const type = value->getType();
  if (!llvm::VectorType::isValidElementType(type) || layout_.getTypeSizeInBits(type) != layout_.getTypeStoreSizeInBits(type))
    throw Refused("it stores a structure that differs between lanes", &store);
  const Shape shape = shapes_.of(address);
  if (shape.kind == Shape::uniform || (shape.kind == Shape::strided && shape.stride == 0)) {
    // All lanes store to one address, so the value of the last active lane remains.
    Value* const leading =
        builder_.CreateIntrinsic(llvm::Intrinsic::ctlz, {builder_.getInt32Ty()}, {bits(mask_), builder_.getTrue()});
    Value* const last = builder_.CreateSub(builder_.getInt32(31), leading);
    with_metadata(builder_.CreateAlignedStore(builder_.CreateExtractElement(lanes(value), last), address, store.getAlign()),
                  store);
  } else {
    Value* const values = lanes(value);
    const auto beside = [&](Value* first) -> Value* {
      if (is_all(mask_)) return with_metadata(builder_.CreateAlignedStore(values, first, store.getAlign()), store);
      return with_metadata(builder_.CreateMaskedStore(values, first, store.getAlign(), mask_), store);
    };
    emit_access(store, address, type, beside, [&]() -> Value* {
      return with_metadata(builder_.CreateMaskedScatter(values, lanes(address), store.getAlign(), mask_), store);
    });
  }
  drop(store);
}

// Builds a loop that runs the instruction for each active lane, from the first lane to the last.
void Vectorizer::one_by_one(Instruction& instruction) {
  llvm::DenseMap<unsigned, Value*> vectors;
  for (unsigned k = 0; k < instruction.getNumOperands(); ++k) {
    Value* const operand = instruction.getOperand(k);
    if (isa<llvm::Constant>(operand) || !isa<Instruction>(operand) || shapes_.is_uniform(operand)) continue;
    if (!llvm::VectorType::isValidElementType(operand->getType()))
      throw Refused("a structure that differs between lanes is an argument", &instruction);
    vectors[k] = lanes(operand);
  }
  llvm::SmallVector<llvm::Type*> types;
  if (const auto* const structure = dyn_cast<llvm::StructType>(instruction.getType())) {
    types.append(structure->element_begin(), structure->element_end());
  } else if (!instruction.getType()->isVoidTy()) {
    types.push_back(instruction.getType());
  }
  for (llvm::Type* type : types) {
    if (!llvm::VectorType::isValidElementType(type))
      throw Refused("a structure that differs between lanes is a result", &instruction);
  }
  Value* const here = bits(mask_);
  BasicBlock* const before = instruction.getParent();
  BasicBlock* const body = llvm::SplitBlock(before, &instruction);
  BasicBlock* const after = llvm::SplitBlock(body, instruction.getNextNode());
  BasicBlock* const first = original(before);
  original_[body] = original_[after] = first;
  body->setName("lane");
  builder_.SetInsertPoint(&instruction);
  llvm::PHINode* const left = builder_.CreatePHI(builder_.getInt32Ty(), 2, "left");
  left->addIncoming(here, before);
  llvm::SmallVector<llvm::PHINode*> results;
  for (llvm::Type* type : types) {
    results.push_back(builder_.CreatePHI(vector_of(type), 2));
    results.back()->addIncoming(llvm::PoisonValue::get(vector_of(type)), before);
  }
  Value* const lane = builder_.CreateIntrinsic(llvm::Intrinsic::cttz, {builder_.getInt32Ty()}, {left, builder_.getTrue()});
  Instruction* const copy = instruction.clone();
  for (const auto& [k, vector] : vectors) copy->setOperand(k, builder_.CreateExtractElement(vector, lane));
  if (auto* const call = dyn_cast<llvm::CallBase>(copy); call != nullptr && isa<Instruction>(call->getCalledOperand())) {
    // Hides the address from LLVM. On x86, LLVM would otherwise combine the load of the element with the call, and keep the
    // whole vector in memory.
    llvm::Type* const pointer = builder_.getPtrTy();
    auto* const same = llvm::InlineAsm::get(llvm::FunctionType::get(pointer, pointer, false), "", "=r,0", false);
    call->setCalledOperand(builder_.CreateCall(same, call->getCalledOperand()));
  }
  builder_.Insert(copy);
  llvm::SmallVector<Value*, 2> made;
  for (unsigned k = 0; k < types.size(); ++k) {
    Value* const result = instruction.getType()->isStructTy() ? builder_.CreateExtractValue(copy, k) : copy;
    made.push_back(builder_.CreateInsertElement(results[k], result, lane));
    results[k]->addIncoming(made.back(), body);
  }
  Value* const rest = builder_.CreateAnd(left, builder_.CreateSub(left, builder_.getInt32(1)));
  left->addIncoming(rest, body);
  Instruction* const end = body->getTerminator();
  builder_.SetInsertPoint(end);
  builder_.CreateCondBr(builder_.CreateICmpNE(rest, builder_.getInt32(0)), body, after);
  end->eraseFromParent();
  if (instruction.getType()->isStructTy()) {
    members_[&instruction] = made;
  } else if (!made.empty()) {
    vectors_[&instruction] = made[0];
  }
  drop(instruction);
}

}  // namespace weir::workgroup
