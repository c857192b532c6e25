// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/private_arrays.hpp"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

#include <optional>

#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/llvm_names.hpp"

namespace weir::workgroup {
namespace {

constexpr std::uint64_t most_elements_of_memset = 256;

// A private array of which every use accesses an element, all of one size.
class PrivateArray {
 public:
  // Empty if some use is not an access to a whole element.
  static std::optional<PrivateArray> of(llvm::AllocaInst& variable) {
    PrivateArray array(variable);
    if (!array.collect(variable) || array.accesses_.empty()) return std::nullopt;
    const std::uint64_t size = array.element_bytes_;
    if (array.bytes_ <= size || array.bytes_ % size != 0) return std::nullopt;
    for (const llvm::GetElementPtrInst* address : array.addresses_) {
      const std::optional<Offset> offset = array.offset_of(*address);
      if (!offset) return std::nullopt;
    }
    for (const llvm::MemSetInst* set : array.sets_) {
      const auto* const bytes = dyn_cast<llvm::ConstantInt>(set->getLength());
      if (bytes == nullptr || bytes->getZExtValue() % size != 0 || bytes->getZExtValue() / size > most_elements_of_memset)
        return std::nullopt;
    }
    return array;
  }

  void interleave(unsigned lanes) {
    llvm::IRBuilder<> builder(variable_);
    element_ = builder.getIntNTy(static_cast<unsigned>(8 * element_bytes_));
    memory_ =
        builder.CreateAlloca(llvm::ArrayType::get(element_, bytes_ / element_bytes_ * lanes), nullptr, variable_->getName());
    memory_->setAlignment(std::max(variable_->getAlign(), llvm::Align(64)));
    lanes_ = lanes;
    for (Instruction* access : accesses_) {
      builder.SetInsertPoint(access);
      const unsigned operand = isa<llvm::StoreInst>(access) ? llvm::StoreInst::getPointerOperandIndex() : 0;
      access->setOperand(operand, place(builder, index(access->getOperand(operand)), 0));
    }
    for (llvm::MemSetInst* set : sets_) {
      builder.SetInsertPoint(set);
      Value* value = builder.CreateZExt(set->getValue(), element_);
      value = builder.CreateMul(
          value, llvm::ConstantInt::get(element_, llvm::APInt::getSplat(element_->getIntegerBitWidth(), llvm::APInt(8, 1))));
      Value* const first = index(set->getRawDest());
      const std::uint64_t count = cast<llvm::ConstantInt>(set->getLength())->getZExtValue() / element_bytes_;
      for (std::uint64_t i = 0; i < count; ++i)
        builder.CreateAlignedStore(value, place(builder, first, i), llvm::Align(element_bytes_));
      set->eraseFromParent();
    }
    for (Instruction* mark : marks_) mark->eraseFromParent();
    for (llvm::GetElementPtrInst* address : llvm::reverse(addresses_)) address->eraseFromParent();
    variable_->eraseFromParent();
  }

 private:
  struct Offset {
#if LLVM_VERSION_MAJOR >= 20
    llvm::SmallMapVector<Value*, llvm::APInt, 4> variables;
#else
    llvm::MapVector<Value*, llvm::APInt> variables;
#endif
    llvm::APInt constant{64, 0};
  };

  explicit PrivateArray(llvm::AllocaInst& variable)
      : variable_(&variable),
        layout_(variable.getModule()->getDataLayout()),
        bytes_(cast<llvm::ConstantInt>(variable.getArraySize())->getZExtValue() *
               layout_.getTypeAllocSize(variable.getAllocatedType()).getFixedValue()) {}

  bool collect(Instruction& pointer) {
    for (llvm::User* user : pointer.users()) {
      if (auto* const address = dyn_cast<llvm::GetElementPtrInst>(user)) {
        addresses_.push_back(address);
        if (!collect(*address)) return false;
      } else if (auto* const set = dyn_cast<llvm::MemSetInst>(user); set != nullptr && !set->isVolatile()) {
        sets_.push_back(set);
      } else if (auto* const call = dyn_cast<llvm::IntrinsicInst>(user); call != nullptr && call->isLifetimeStartOrEnd()) {
        marks_.push_back(call);
      } else if (llvm::getLoadStorePointerOperand(user) == &pointer) {
        auto* const access = cast<Instruction>(user);
        const auto* const store = dyn_cast<llvm::StoreInst>(access);
        if (store != nullptr ? store->getValueOperand() == &pointer || !store->isSimple()
                             : !cast<llvm::LoadInst>(access)->isSimple()) {
          return false;
        }
        llvm::Type* const type = llvm::getLoadStoreType(access);
        const std::uint64_t bits = layout_.getTypeSizeInBits(type).getFixedValue();
        if (type->isVectorTy() || type->isAggregateType() || (bits != 8 && bits != 16 && bits != 32 && bits != 64))
          return false;
        if (element_bytes_ != 0 && element_bytes_ != bits / 8) return false;
        element_bytes_ = bits / 8;
        accesses_.push_back(access);
      } else {
        return false;
      }
    }
    return true;
  }

  // The offset of an address, counted in elements; empty if the address may be inside an element.
  std::optional<Offset> offset_of(const llvm::GetElementPtrInst& address) const {
    Offset offset;
    if (address.getType()->isVectorTy() || !address.collectOffset(layout_, 64, offset.variables, offset.constant))
      return std::nullopt;
    const llvm::APInt size(64, element_bytes_);
    const auto divide = [&](llvm::APInt& bytes) {
      if (bytes.srem(size) != 0) return false;
      bytes = bytes.sdiv(size);
      return true;
    };
    for (auto& [variable, scale] : offset.variables) {
      if (!divide(scale)) return std::nullopt;
    }
    if (!divide(offset.constant)) return std::nullopt;
    return offset;
  }

  Value* index(Value* pointer) {
    auto* const address = dyn_cast<llvm::GetElementPtrInst>(pointer);
    llvm::Type* const wide = llvm::Type::getInt64Ty(variable_->getContext());
    if (address == nullptr) return llvm::ConstantInt::get(wide, 0);
    Value*& known = indices_[address];
    if (known != nullptr) return known;
    Value* sum = index(address->getPointerOperand());
    const std::optional<Offset> offset = offset_of(*address);
    llvm::IRBuilder<> builder(address);
    for (const auto& [variable, scale] : offset->variables) {
      Value* const term = builder.CreateMul(builder.CreateSExtOrTrunc(variable, wide), builder.getInt(scale));
      sum = builder.CreateAdd(sum, term);
    }
    sum = builder.CreateAdd(sum, builder.getInt(offset->constant));
    return indices_[address] = sum;
  }

  Value* place(llvm::IRBuilder<>& builder, Value* index, std::uint64_t next) {
    Value* const lane = call_builtin(builder, "__weir_lane", {}, lanes_);
    Value* const row = builder.CreateMul(builder.CreateAdd(index, builder.getInt64(next)), builder.getInt64(lanes_));
    return builder.CreateGEP(element_, builder.CreateGEP(element_, memory_, row),
                             builder.CreateZExt(lane, builder.getInt64Ty()));
  }

  llvm::AllocaInst* variable_;
  const llvm::DataLayout& layout_;
  std::uint64_t bytes_, element_bytes_ = 0;
  llvm::SmallVector<Instruction*> accesses_, marks_;
  llvm::SmallVector<llvm::MemSetInst*> sets_;
  llvm::SmallVector<llvm::GetElementPtrInst*> addresses_;  // each comes after the addresses from which it is computed
  llvm::DenseMap<llvm::GetElementPtrInst*, Value*> indices_;
  llvm::IntegerType* element_ = nullptr;
  llvm::AllocaInst* memory_ = nullptr;
  unsigned lanes_ = 0;
};

}  // namespace

bool has_interleavable_arrays(llvm::Function& kernel) {
  return llvm::any_of(kernel.getEntryBlock(), [](Instruction& instruction) {
    auto* const variable = dyn_cast<llvm::AllocaInst>(&instruction);
    return variable != nullptr && variable->isStaticAlloca() && PrivateArray::of(*variable);
  });
}

void multiply_private_variables(BlockFunction& block) {
  const llvm::DataLayout& layout = block.function->getParent()->getDataLayout();
  llvm::SmallVector<llvm::AllocaInst*> variables;
  for (Instruction& instruction : *block.top) {
    if (auto* const variable = dyn_cast<llvm::AllocaInst>(&instruction)) variables.push_back(variable);
  }
  for (llvm::AllocaInst* variable : variables) {
    if (std::optional<PrivateArray> array = PrivateArray::of(*variable)) {
      array->interleave(block.threads_in_step);
      continue;
    }
    const std::uint64_t count = cast<llvm::ConstantInt>(variable->getArraySize())->getZExtValue();
    const std::uint64_t size =
        llvm::alignTo(count * layout.getTypeAllocSize(variable->getAllocatedType()).getFixedValue(), variable->getAlign());
    llvm::IRBuilder<> builder(variable);
    llvm::Type* const lane = llvm::ArrayType::get(builder.getInt8Ty(), size);
    llvm::AllocaInst* const lanes =
        builder.CreateAlloca(llvm::ArrayType::get(lane, block.threads_in_step), nullptr, variable->getName());
    lanes->setAlignment(variable->getAlign());
    variable->replaceAllUsesWith(lanes);
    variable->eraseFromParent();
  }
}

}  // namespace weir::workgroup
