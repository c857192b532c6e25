// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/managed.hpp"

#include <llvm/Analysis/TargetLibraryInfo.h>  // Triple, whose own header has two places
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <algorithm>

#include "kernels/workgroup/llvm_names.hpp"

namespace weir::workgroup {
namespace {

using llvm::Constant;
using llvm::GlobalVariable;

constexpr const char* section = "weir_managed";  // cudart/include/weir_keywords.h

// A function of the host half that uses managed variables, or constants that contain their addresses.
class HostFunction {
 public:
  HostFunction(llvm::Function& function, llvm::FunctionCallee address_of) : function_(function), address_of_(address_of) {}

  void replace_uses() {
    for (Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function_))) {
      if (auto* const phi = dyn_cast<llvm::PHINode>(&instruction)) {
        for (BasicBlock* from : llvm::SmallVector<BasicBlock*>(phi->blocks())) {
          auto* const value = dyn_cast<Constant>(phi->getIncomingValueForBlock(from));
          if (value != nullptr && depends(*value))
            phi->setIncomingValueForBlock(from, at_run_time(*value, *from->getTerminator()));
        }
        continue;
      }
      const auto* const call = dyn_cast<llvm::CallInst>(&instruction);
      if (call != nullptr && call->getCalledOperand() == address_of_.getCallee()) continue;
      for (llvm::Use& use : instruction.operands()) {
        auto* const value = dyn_cast<Constant>(use.get());
        if (value != nullptr && depends(*value)) use.set(at_run_time(*value, instruction));
      }
    }
  }

  /// Whether the constant is or contains the address of a managed variable.
  static bool depends(const Constant& value) {
    if (const auto* const variable = dyn_cast<GlobalVariable>(&value))
      return variable->getSection() == section || (is_initial_value(*variable) && depends(*variable->getInitializer()));
    if (isa<llvm::GlobalValue>(value) || isa<llvm::BlockAddress>(value)) return false;
    return llvm::any_of(value.operands(), [](const llvm::Use& part) { return depends(*cast<Constant>(part.get())); });
  }

  /// Whether Clang made the variable: it has the initial value of a local variable.
  static bool is_initial_value(const GlobalVariable& variable) {
    return variable.hasPrivateLinkage() && variable.isConstant() && variable.hasInitializer();
  }

 private:
  // Computes the constant before an instruction.
  Value* at_run_time(Constant& value, Instruction& before) {
    if (!depends(value)) return &value;
    llvm::IRBuilder<> builder(&before);
    if (auto* const variable = dyn_cast<GlobalVariable>(&value)) {
      if (variable->getSection() == section) return builder.CreateCall(address_of_, variable);
      llvm::IRBuilder<> at_entry(&*function_.getEntryBlock().getFirstInsertionPt());
      llvm::AllocaInst* const copy = at_entry.CreateAlloca(variable->getValueType());
      copy->setAlignment(variable->getPointerAlignment(function_.getParent()->getDataLayout()));
      builder.CreateAlignedStore(at_run_time(*variable->getInitializer(), before), copy, copy->getAlign());
      return copy;
    }
    if (auto* const expression = dyn_cast<llvm::ConstantExpr>(&value)) {
      Instruction* const instruction = expression->getAsInstruction();
      for (llvm::Use& use : instruction->operands()) use.set(at_run_time(*cast<Constant>(use.get()), before));
      return builder.Insert(instruction);
    }
    Value* whole = llvm::PoisonValue::get(value.getType());
    for (unsigned i = 0; i < value.getNumOperands(); ++i) {
      Value* const part = at_run_time(*cast<Constant>(value.getOperand(i)), before);
      whole = value.getType()->isVectorTy() ? builder.CreateInsertElement(whole, part, i)
                                            : builder.CreateInsertValue(whole, part, i);
    }
    return whole;
  }

  llvm::Function& function_;
  llvm::FunctionCallee address_of_;
};

// What a program's static objects are before any code runs cannot depend on an address that the runtime gives.
void refuse_static_addresses(llvm::Module& module) {
  for (const GlobalVariable& variable : module.globals()) {
    if (!variable.hasInitializer() || HostFunction::is_initial_value(variable)) continue;
    // Lists of Clang's, of variables to keep.
    if (variable.getName().starts_with("llvm.") || variable.getName() == "__clang_gpu_used_external") continue;
    if (HostFunction::depends(*variable.getInitializer()))
      module.getContext().emitError("the initial value of '" + llvm::demangle(variable.getName().str()) +
                                    "' has the address of a __managed__ variable, which is known only when the program "
                                    "runs; assign it in a function (docs/cuda-programs.md)");
  }
}

// Clang's function that registers a file's kernels and variables needs the shadows.
void mark_managed(llvm::Function& registration, GlobalVariable& shadow) {
  for (llvm::User* user : shadow.users()) {
    auto* const call = dyn_cast<llvm::CallInst>(user);
    if (call == nullptr || call->getFunction() != &registration || call->arg_size() != 8) continue;
    call->setArgOperand(7, llvm::ConstantInt::get(call->getArgOperand(7)->getType(), 1));
  }
}

void change_host_half(llvm::Module& module, llvm::ArrayRef<GlobalVariable*> managed) {
  llvm::PointerType* const pointer = managed.front()->getType();
  llvm::FunctionCallee address_of = module.getOrInsertFunction("__weir_managed", pointer, pointer);
  auto* const declared = cast<llvm::Function>(address_of.getCallee());
  declared->setDoesNotAccessMemory();  // calls for one variable become one call
  declared->setDoesNotThrow();
  declared->setWillReturn();
  refuse_static_addresses(module);
  llvm::Function* const registration = module.getFunction("__cuda_register_globals");
  for (llvm::Function& function : module) {
    if (&function != registration) HostFunction(function, address_of).replace_uses();
  }
  for (GlobalVariable* variable : managed) {
    if (registration != nullptr) mark_managed(*registration, *variable);
    if (variable->hasLocalLinkage()) variable->setComdat(nullptr);  // or another file's would replace what registration uses
  }
}

void make_managed_in_ptx(llvm::Module& module, llvm::ArrayRef<GlobalVariable*> managed) {
  llvm::LLVMContext& context = module.getContext();
  for (GlobalVariable* variable : managed) {
    // In host code for x86-64 arrays are aligned so.
    variable->setAlignment(std::max(variable->getAlign().valueOrOne(), llvm::Align(16)));
    module.getOrInsertNamedMetadata("nvvm.annotations")
        ->addOperand(llvm::MDNode::get(
            context, {llvm::ValueAsMetadata::get(variable), llvm::MDString::get(context, "managed"),
                      llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), 1))}));
  }
}

}  // namespace

llvm::PreservedAnalyses ManagedVariables::run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
  llvm::SmallVector<GlobalVariable*> managed;
  for (GlobalVariable& variable : module.globals()) {
    if (variable.getSection() == section) managed.push_back(&variable);
  }
  if (managed.empty()) return llvm::PreservedAnalyses::all();
  if (llvm::Triple(module.getTargetTriple()).isNVPTX())
    make_managed_in_ptx(module, managed);
  else
    change_host_half(module, managed);
  for (GlobalVariable* variable : managed) variable->setSection("");
  return llvm::PreservedAnalyses::none();
}

}  // namespace weir::workgroup
