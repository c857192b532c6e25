// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/on_fibers.hpp"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <cstddef>

#include "kernels/kernel_abi.hpp"
#include "kernels/workgroup/block_function.hpp"
#include "kernels/workgroup/llvm_names.hpp"
#include "kernels/workgroup/places.hpp"
#include "kernels/workgroup/record.hpp"

namespace weir::workgroup {
namespace {

using llvm::Attribute;
using llvm::Function;

constexpr llvm::StringRef prefix = "__weir_fiber_";

class Fibers {
 public:
  Fibers(llvm::Module& module, const Variables& shared) : module_(module), shared_(shared) {}

  void run(const Functions& refused) {
    Functions changed;
    for (Function* kernel : refused) changed.insert(make_thread(*kernel));
    for (Function& function : module_) {
      if (!function.hasFnAttribute(formed_block) && !function.getName().starts_with(prefix) && adapt(function))
        changed.insert(&function);
    }
    for (Function* function : callers(changed)) forget_attributes(*function);
    for (llvm::GlobalVariable* variable : shared_) give_to_worker(*variable);
  }

 private:
  Function* of_fibers(llvm::StringRef name) const { return module_.getFunction((prefix + name).str()); }

  // Moves the kernel's code, which is for one thread, into a separate function.
  Function* make_thread(Function& kernel) {
    Function* const thread = Function::Create(kernel.getFunctionType(), llvm::GlobalValue::InternalLinkage,
                                              kernel.getName() + ".thread", module_);
    thread->copyAttributesFrom(&kernel);
    thread->setVisibility(llvm::GlobalValue::DefaultVisibility);
    thread->setDSOLocal(true);
    thread->setSubprogram(kernel.getSubprogram());
    kernel.setSubprogram(nullptr);
    thread->splice(thread->begin(), &kernel);
    for (unsigned k = 0; k < kernel.arg_size(); ++k) kernel.getArg(k)->replaceAllUsesWith(thread->getArg(k));
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(module_.getContext(), "", &kernel));
    builder.CreateCall(of_fibers("run"), {kernel.getArg(0), kernel.getArg(1), thread});
    builder.CreateRetVoid();
    change_record(kernel, offsetof(host::KernelRecord, tier),
                  [](std::uint64_t) { return static_cast<std::uint64_t>(host::KernelTier::fibers); });
    return thread;
  }

  // Replaces calls of entries by calls of the fibers' functions. At atomic and volatile accesses, through which a thread
  // might wait for another one, adds a call that lets other threads run. In whole programs the lanes of a warp meet at a
  // fence: often each lane writes, and one of them then releases a lock.
  bool adapt(Function& function) {
    llvm::SmallVector<Instruction*> found;
    for (Instruction& instruction : llvm::instructions(function)) {
      if (may_meet_others(instruction) || called_builtin(&instruction) != Builtin::none) found.push_back(&instruction);
    }
    for (Instruction* instruction : found) {
      llvm::IRBuilder<> builder(instruction);
      if (!builder.getCurrentDebugLocation() && function.getSubprogram() != nullptr)
        builder.SetCurrentDebugLocation(llvm::DILocation::get(module_.getContext(), 0, 0, function.getSubprogram()));
      if (called_builtin(instruction) != Builtin::none) {
        replace(cast<llvm::CallBase>(*instruction), builder);
      } else if (instruction->isAtomic()) {
        const auto* const fence = dyn_cast<llvm::FenceInst>(instruction);
        const bool meets = fence != nullptr && fence->getSyncScopeID() != llvm::SyncScope::SingleThread &&
                           function.hasFnAttribute("weir.program");
        builder.CreateCall(of_fibers(meets ? "fence" : "spin"));
      } else {
        builder.CreateCall(of_fibers("step"));
      }
    }
    return !found.empty() || uses_any_of(function, shared_);
  }

  void replace(llvm::CallBase& call, llvm::IRBuilder<>& builder) {
    Function* const function = of_fibers(call.getCalledFunction()->getName().substr(llvm::StringRef("__weir_").size()));
    if (function == nullptr) return;
    if (is_convergent(called_builtin(&call))) builder.CreateCall(of_fibers("at"), place(call, builder));
    llvm::SmallVector<Value*> arguments(call.args());
    llvm::CallInst* const made = builder.CreateCall(function, arguments);
    call.replaceAllUsesWith(made);
    call.eraseFromParent();
  }

  // Builds the prelude's call_place. For calls that name no lanes, the column distinguishes several calls on one line.
  Value* place(const llvm::CallBase& call, llvm::IRBuilder<>& builder) {
    const llvm::DILocation* const at = position_in_program(call.getDebugLoc());
    const bool by_column = at != nullptr && called_builtin(&call) == Builtin::active_lanes;
    const auto text = [&](llvm::StringRef words) {
      llvm::Constant*& made = texts_[words];
      if (made == nullptr) made = builder.CreateGlobalString(words, "", 0, &module_);
      return made;
    };
    llvm::Constant* const value = llvm::ConstantStruct::getAnon(
        {text(source_position(call).function), text(at != nullptr ? at->getFilename() : name_of(*call.getFunction())),
         builder.getInt32(at != nullptr ? at->getLine() : 0), builder.getInt64(by_column ? at->getColumn() : 0)});
    return new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value, "weir.place");
  }

  // Removes attributes that LLVM deduced while the called entries had no definition.
  static void forget_attributes(Function& function) {
    for (const auto attribute : {Attribute::Memory, Attribute::NoSync, Attribute::WillReturn, Attribute::NoFree,
                                 Attribute::NoRecurse, Attribute::Speculatable}) {
      function.removeFnAttr(attribute);
      for (llvm::User* user : function.users()) {
        auto* const call = dyn_cast<llvm::CallBase>(user);
        if (call != nullptr && call->getCalledOperand() == &function) call->removeFnAttr(attribute);
      }
    }
  }

  // Makes a shared variable thread-local, because a worker's thread runs one block at a time.
  void give_to_worker(llvm::GlobalVariable& variable) {
    if (variable.use_empty()) return;
    if (is_dynamic(variable)) {
      variable.replaceAllUsesWith(dynamic_memory());
      return;
    }
    variable.setThreadLocalMode(llvm::GlobalValue::LocalDynamicTLSModel);
  }

  llvm::GlobalVariable* dynamic_memory() {
    if (dynamic_memory_ == nullptr) {
      auto* const type = llvm::ArrayType::get(llvm::Type::getInt8Ty(module_.getContext()), host::most_shared_bytes);
      dynamic_memory_ =
          new llvm::GlobalVariable(module_, type, false, llvm::GlobalValue::InternalLinkage, llvm::UndefValue::get(type),
                                   "weir.dynamic", nullptr, llvm::GlobalValue::LocalDynamicTLSModel, std::nullopt, true);
      dynamic_memory_->setAlignment(llvm::Align(128));
    }
    return dynamic_memory_;
  }

  llvm::Module& module_;
  const Variables& shared_;
  llvm::StringMap<llvm::Constant*> texts_;
  llvm::GlobalVariable* dynamic_memory_ = nullptr;
};

}  // namespace

void run_on_fibers(llvm::Module& module, const Functions& refused, const Variables& shared) {
  const auto is_of_fibers = [](const Value* value) { return value->getName().starts_with(prefix); };
  if (!refused.empty() && module.getFunction((prefix + "run").str()) != nullptr) Fibers(module, shared).run(refused);
  // From here on the fibers' functions have callers, so the linker may drop those that have none.
  llvm::removeFromUsedLists(module, [&](llvm::Constant* used) { return is_of_fibers(used->stripPointerCasts()); });
  for (llvm::GlobalObject& object : module.global_objects()) {
    if (is_of_fibers(&object) && !object.isDeclaration()) {
      object.setComdat(nullptr);
      object.setLinkage(llvm::GlobalValue::InternalLinkage);
      object.setVisibility(llvm::GlobalValue::DefaultVisibility);
    }
  }
}

}  // namespace weir::workgroup
