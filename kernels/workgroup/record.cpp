// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/record.hpp"

#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Module.h>

#include "kernels/kernel_abi.hpp"
#include "kernels/workgroup/llvm_names.hpp"

namespace weir::workgroup {

void change_record(llvm::Function& run, std::size_t offset, llvm::function_ref<std::uint64_t(std::uint64_t)> change) {
  for (llvm::User* user : llvm::make_early_inc_range(run.users())) {
    auto* const record = dyn_cast<llvm::ConstantStruct>(user);
    if (record == nullptr) continue;
    const llvm::StructLayout& layout = *run.getParent()->getDataLayout().getStructLayout(record->getType());
    if (layout.getSizeInBytes() < sizeof(host::KernelRecord)) continue;
    const unsigned field = layout.getElementContainingOffset(offset);
    llvm::SmallVector<llvm::Constant*> fields;
    for (const llvm::Use& use : record->operands()) fields.push_back(cast<llvm::Constant>(use.get()));
    const auto* const before = dyn_cast<llvm::ConstantInt>(fields[field]);
    if (before == nullptr) continue;
    fields[field] = llvm::ConstantInt::get(before->getType(), change(before->getZExtValue()));
    llvm::Constant* const changed = llvm::ConstantStruct::get(record->getType(), fields);
    for (llvm::User* holder : llvm::make_early_inc_range(record->users())) {
      if (auto* const variable = dyn_cast<llvm::GlobalVariable>(holder)) variable->setInitializer(changed);
    }
  }
}

}  // namespace weir::workgroup
