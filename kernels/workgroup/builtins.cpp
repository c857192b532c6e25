// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/builtins.hpp"

#include <llvm/ADT/StringSwitch.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>

namespace weir::workgroup {
namespace {

// Calls `visit` with each object that has the annotation, and the annotation's other fields.
template <class Visit>
void annotated(llvm::Module& module, llvm::StringRef annotation, Visit&& visit) {
  const llvm::GlobalVariable* const all = module.getGlobalVariable("llvm.global.annotations");
  if (all == nullptr || !all->hasInitializer()) return;
  for (const llvm::Use& entry : llvm::cast<llvm::ConstantArray>(all->getInitializer())->operands()) {
    const auto* const fields = llvm::cast<llvm::ConstantStruct>(entry.get());
    const auto* const text = llvm::cast<llvm::GlobalVariable>(fields->getOperand(1)->stripPointerCasts());
    const auto* const characters = llvm::dyn_cast<llvm::ConstantDataArray>(text->getInitializer());
    if (characters != nullptr && characters->isCString() && characters->getAsCString() == annotation)
      visit(fields->getOperand(0)->stripPointerCasts(), *fields);
  }
}

}  // namespace

Builtin builtin(const llvm::Function& function) {
  if (!function.isDeclaration() || !function.getName().starts_with("__weir_")) return Builtin::none;
  return llvm::StringSwitch<Builtin>(function.getName())
      .Case("__weir_tid", Builtin::thread_index)
      .Case("__weir_ctaid", Builtin::block_index)
      .Case("__weir_ntid", Builtin::block_size)
      .Case("__weir_nctaid", Builtin::grid_size)
      .Case("__weir_barrier", Builtin::block_barrier)
      .Case("__weir_barrier_count", Builtin::block_count)
      .Cases("__weir_is_shared", "__weir_is_local", "__weir_shared", Builtin::memory)
      .Case("__weir_lane", Builtin::lane)
      .Case("__weir_ballot", Builtin::ballot)
      .Cases("__weir_shuffle32", "__weir_shuffle64", Builtin::shuffle)
      .Case("__weir_active", Builtin::active_lanes)
      .Case("__weir_warp_barrier", Builtin::warp_barrier)
      .Default(Builtin::other);
}

llvm::StringRef called_name(const llvm::Value* value) {
  const auto* const call = llvm::dyn_cast_or_null<llvm::CallBase>(value);
  return call == nullptr || call->getCalledFunction() == nullptr ? "" : call->getCalledFunction()->getName();
}

Builtin called_builtin(const llvm::Value* value) {
  return called_name(value).empty() ? Builtin::none : builtin(*llvm::cast<llvm::CallBase>(value)->getCalledFunction());
}

llvm::CallInst* call_builtin(llvm::IRBuilder<>& builder, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments,
                             std::uint32_t limit) {
  llvm::SmallVector<llvm::Type*> types;
  for (const llvm::Value* argument : arguments) types.push_back(argument->getType());
  llvm::Module& module = *builder.GetInsertBlock()->getModule();
  llvm::CallInst* const call = builder.CreateCall(
      module.getOrInsertFunction(name, llvm::FunctionType::get(builder.getInt32Ty(), types, false)), arguments);
  call->setDoesNotAccessMemory();
  call->setDoesNotThrow();
  call->setMetadata(llvm::LLVMContext::MD_range,
                    llvm::MDBuilder(builder.getContext()).createRange(llvm::APInt(32, 0), llvm::APInt(32, limit)));
  return call;
}

llvm::SmallVector<llvm::CallInst*> calls_in(llvm::Function& function, llvm::function_ref<bool(llvm::CallInst&)> chosen) {
  llvm::SmallVector<llvm::CallInst*> calls;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction); call != nullptr && chosen(*call))
      calls.push_back(call);
  }
  return calls;
}

bool is_along_x(const llvm::Value* value, Builtin kind) {
  if (called_builtin(value) != kind) return false;
  const auto* const axis = llvm::dyn_cast<llvm::ConstantInt>(llvm::cast<llvm::CallBase>(value)->getArgOperand(0));
  return axis != nullptr && axis->isZero();
}

bool is_warp_operation(Builtin builtin) {
  return builtin == Builtin::lane || builtin == Builtin::ballot || builtin == Builtin::shuffle ||
         builtin == Builtin::active_lanes || builtin == Builtin::warp_barrier;
}

bool is_convergent(Builtin builtin) {
  return builtin == Builtin::block_barrier || builtin == Builtin::block_count || builtin == Builtin::other ||
         (is_warp_operation(builtin) && builtin != Builtin::lane);
}

namespace {

constexpr const char* runs = "weir.run";
constexpr const char* global = "weir.kernel";

}  // namespace

Functions annotated_functions(llvm::Module& module, llvm::StringRef annotation) {
  Functions found;
  annotated(module, annotation, [&](llvm::Value* object, const llvm::ConstantStruct&) {
    auto* const function = llvm::dyn_cast<llvm::Function>(object);
    if (function != nullptr && !function->isDeclaration()) found.insert(function);
  });
  return found;
}

std::uint32_t annotated_number(llvm::Function& function, llvm::StringRef annotation) {
  std::uint32_t number = 0;
  annotated(*function.getParent(), annotation, [&](llvm::Value* object, const llvm::ConstantStruct& fields) {
    if (object != &function) return;
    const auto* const values = llvm::cast<llvm::GlobalVariable>(fields.getOperand(4)->stripPointerCasts());
    const auto* const first = llvm::dyn_cast<llvm::ConstantInt>(values->getInitializer()->getAggregateElement(0U));
    if (first != nullptr) number = static_cast<std::uint32_t>(first->getZExtValue());
  });
  return number;
}

Functions kernels(llvm::Module& module) {
  Functions found;
  for (llvm::Function& function : module) {
    if (function.hasFnAttribute(runs) && !function.isDeclaration()) found.insert(&function);
  }
  return found;
}

bool is_global(const llvm::Function& function) { return function.hasFnAttribute(global); }

llvm::StringRef name_of(const llvm::Function& kernel) { return kernel.getFnAttribute(runs).getValueAsString(); }

void record_names(llvm::Module& module) {
  const Functions running = annotated_functions(module, runs);
  for (llvm::Function* kernel : annotated_functions(module, global)) {
    kernel->addFnAttr(global);
    Functions called;
    called.insert(kernel);
    for (llvm::Function* caller : callers(called)) {
      if (running.count(caller) != 0) caller->addFnAttr(runs, kernel->getName());
    }
  }
  for (llvm::Function* function : running) {
    if (!function->hasFnAttribute(runs)) function->addFnAttr(runs, function->getName());
  }
}

Variables shared_variables(llvm::Module& module) {
  Variables found;
  annotated(module, "weir.shared", [&](llvm::Value* object, const llvm::ConstantStruct&) {
    if (auto* const variable = llvm::dyn_cast<llvm::GlobalVariable>(object)) found.insert(variable);
  });
  // Clang drops annotations of declarations. So `extern __shared__ T x[]` is recognized by its size of 0. Symbols that the
  // linker defines also have size 0, but they have weak linkage and are skipped.
  for (llvm::GlobalVariable& variable : module.globals()) {
    const auto* const array = llvm::dyn_cast<llvm::ArrayType>(variable.getValueType());
    if (variable.isDeclaration() && variable.hasExternalLinkage() && array != nullptr && array->getNumElements() == 0)
      found.insert(&variable);
  }
  return found;
}

bool mentions_any_of(const llvm::Value* value, const Variables& variables) {
  if (const auto* const variable = llvm::dyn_cast<llvm::GlobalVariable>(value))
    return variables.count(const_cast<llvm::GlobalVariable*>(variable)) != 0;
  const auto* const expression = llvm::dyn_cast<llvm::ConstantExpr>(value);
  return expression != nullptr &&
         llvm::any_of(expression->operands(), [&](const llvm::Use& use) { return mentions_any_of(use.get(), variables); });
}

bool uses_any_of(const llvm::Function& function, const Variables& variables) {
  if (variables.empty()) return false;
  return llvm::any_of(llvm::instructions(function), [&](const llvm::Instruction& instruction) {
    return llvm::any_of(instruction.operands(), [&](const llvm::Use& use) { return mentions_any_of(use.get(), variables); });
  });
}

bool is_hint(const llvm::Instruction& instruction) {
  const auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call != nullptr && call->isAssumeLikeIntrinsic();
}

bool is_acting_call(const llvm::Instruction& instruction) {
  return llvm::isa<llvm::CallBase>(instruction) && instruction.mayHaveSideEffects() && !is_hint(instruction);
}

bool may_meet_others(const llvm::Instruction& instruction) {
  if (instruction.isAtomic()) return true;
  const llvm::Value* const address = llvm::getLoadStorePointerOperand(&instruction);
  return address != nullptr && instruction.isVolatile() &&
         !llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(address, 0));
}

Functions thread_dependent(llvm::Module& module, const Variables& shared) {
  Functions roots;
  for (llvm::Function& function : module) {
    const bool meets = llvm::any_of(llvm::instructions(function), may_meet_others);
    if (meets || builtin(function) != Builtin::none || uses_any_of(function, shared)) roots.insert(&function);
  }
  return callers(roots);
}

Functions callers(const Functions& called) {
  Functions reached = called;
  for (unsigned i = 0; i < reached.size(); ++i) {
    for (const llvm::User* user : reached[i]->users()) {
      const auto* const call = llvm::dyn_cast<llvm::CallBase>(user);
      if (call != nullptr && call->getCalledFunction() == reached[i])
        reached.insert(const_cast<llvm::Function*>(call->getFunction()));
    }
  }
  Functions result;
  for (llvm::Function* function : reached) {
    if (!function->isDeclaration()) result.insert(function);
  }
  return result;
}

}  // namespace weir::workgroup
