// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/prepare.hpp"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>

#include "kernels/kernel_abi.hpp"
#include "kernels/workgroup/accesses.hpp"
#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/runners.hpp"

namespace weir::workgroup {
namespace {

using llvm::Attribute;
using llvm::Function;

// Gives shared variables external linkage. On a CPU a shared variable is a plain global variable. If a single function uses
// it, optimizers may turn it into a local variable, or assume that it keeps the last value that this function wrote.
// External linkage prevents both.
void hide_from_optimizers(const Variables& shared) {
  for (llvm::GlobalVariable* variable : shared) {
    // The prelude makes these variables thread-local, for fibers. Here they become parts of a block.
    variable->setThreadLocal(false);
    for (llvm::User* user : llvm::make_early_inc_range(variable->users())) {
      auto* const address = llvm::dyn_cast<llvm::IntrinsicInst>(user);
      if (address == nullptr || address->getIntrinsicID() != llvm::Intrinsic::threadlocal_address) continue;
      address->replaceAllUsesWith(variable);
      address->eraseFromParent();
    }
    if (is_dynamic(*variable)) continue;
    // The backend then compiles for fibers, where the variable's symbol still has its size, and refuses it.
    if (variable->getParent()->getDataLayout().getTypeAllocSize(variable->getValueType()) > host::most_shared_bytes)
      variable->getContext().emitError("a __shared__ variable is larger than a block's shared memory");
    if (variable->hasLocalLinkage()) variable->setName("weir.shared." + variable->getName());
    variable->setLinkage(llvm::GlobalValue::ExternalLinkage);
    variable->setVisibility(llvm::GlobalValue::HiddenVisibility);
    variable->setComdat(nullptr);
    variable->setConstant(false);
    variable->setExternallyInitialized(true);
  }
}

Functions builtins_of(llvm::Module& module, bool (*chosen)(Builtin)) {
  Functions found;
  for (Function& function : module) {
    const Builtin kind = builtin(function);
    if (kind != Builtin::none && chosen(kind)) found.insert(&function);
  }
  return found;
}

void inline_always(Function& function) {
  function.removeFnAttr(Attribute::NoInline);
  function.removeFnAttr(Attribute::OptimizeNone);
  function.addFnAttr(Attribute::AlwaysInline);
  function.setComdat(nullptr);
  function.setVisibility(llvm::GlobalValue::DefaultVisibility);
  function.setLinkage(llvm::GlobalValue::InternalLinkage);
  function.setDSOLocal(true);
}

// Keeps loops with barriers from being unrolled, even with "#pragma unroll". Each copy of a barrier would begin a new
// region, and code size, kept values and compile time grow faster than the number of regions.
void keep_rolled(Function& function, const Functions& waiting) {
  llvm::DominatorTree dominators(function);
  llvm::LoopInfo loops(dominators);
  for (llvm::Loop* loop : loops.getLoopsInPreorder()) {
    const bool waits = llvm::any_of(loop->blocks(), [&](llvm::BasicBlock* block) {
      return llvm::any_of(*block, [&](llvm::Instruction& instruction) {
        const auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        return call != nullptr && call->getCalledFunction() != nullptr && waiting.count(call->getCalledFunction()) != 0;
      });
    });
    if (waits) loop->setLoopAlreadyUnrolled();
  }
}

// `__restrict__` constrains one thread. LLVM also assumes that no other thread's writes become visible at a barrier or a
// fence, which is wrong here.
void forget_restrict(llvm::Module& module) {
  Functions meeting = builtins_of(module, is_convergent);
  for (Function& function : module) {
    if (llvm::any_of(llvm::instructions(function), [](const llvm::Instruction& instruction) {
          return llvm::isa<llvm::FenceInst>(instruction) || may_meet_others(instruction);
        }))
      meeting.insert(&function);
  }
  for (Function* function : callers(meeting)) {
    for (llvm::Argument& argument : function->args()) argument.removeAttr(Attribute::NoAlias);
  }
}

// In device code Clang marks every call as convergent, even one that returns a thread's index or calls sinf. That prevents
// most optimizations, so this removes the mark where it is not needed.
void drop_convergence(llvm::Module& module) {
  for (Function& function : module) {
    if (!function.isDeclaration() || is_convergent(builtin(function))) continue;
    function.removeFnAttr(Attribute::Convergent);
    for (llvm::User* user : function.users()) {
      auto* const call = llvm::dyn_cast<llvm::CallBase>(user);
      if (call != nullptr && call->getCalledFunction() == &function) call->removeFnAttr(Attribute::Convergent);
    }
  }
}

// Marks mathematical functions of the C library as free of side effects. Their only side effect is to set errno, which no
// kernel reads.
void mark_mathematics(llvm::Module& module, llvm::FunctionAnalysisManager& functions) {
  for (Function& function : module) {
    llvm::LibFunc known{};
    if (!function.isDeclaration() || function.arg_empty() || !function.getReturnType()->isFloatingPointTy()) continue;
    const auto is_number = [](const llvm::Argument& argument) {
      return argument.getType()->isFloatingPointTy() || argument.getType()->isIntegerTy();
    };
    if (!llvm::all_of(function.args(), is_number)) continue;
    if (!functions.getResult<llvm::TargetLibraryAnalysis>(function).getLibFunc(function, known)) continue;
    function.setDoesNotAccessMemory();
    function.setDoesNotThrow();
    function.setWillReturn();
  }
}

// Keeps LLVM from merging two barriers, so that a report can name the line of each.
void keep_apart(llvm::Module& module) {
  for (Function* function : builtins_of(module, is_convergent)) {
    for (llvm::User* user : function->users()) {
      if (auto* const call = llvm::dyn_cast<llvm::CallBase>(user)) call->addFnAttr(Attribute::NoMerge);
    }
  }
}

void mark_ranges(llvm::Module& module) {
  llvm::MDBuilder metadata(module.getContext());
  for (const auto& [kind, limit] : {std::pair{Builtin::thread_index, 1024U}, std::pair{Builtin::lane, 64U}}) {
    llvm::MDNode* const range = metadata.createRange(llvm::APInt(32, 0), llvm::APInt(32, limit));
    for (Function& function : module) {
      if (builtin(function) != kind) continue;
      for (llvm::User* user : function.users()) {
        if (auto* const call = llvm::dyn_cast<llvm::CallInst>(user)) call->setMetadata(llvm::LLVMContext::MD_range, range);
      }
    }
  }
}

// Replaces calls through a constant pointer to a kernel by direct calls.
void call_directly(llvm::Module& module) {
  for (Function& function : module) {
    llvm::SmallVector<llvm::LoadInst*> loads;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
      if (load != nullptr && load->isSimple() && load->getType()->isPointerTy()) loads.push_back(load);
    }
    for (llvm::LoadInst* load : loads) {
      auto* const constant = llvm::dyn_cast<llvm::GlobalVariable>(load->getPointerOperand());
      if (constant == nullptr || !constant->isConstant() || !constant->hasDefinitiveInitializer()) continue;
      auto* const kernel = llvm::dyn_cast<Function>(constant->getInitializer()->stripPointerCasts());
      if (kernel == nullptr) continue;
      load->replaceAllUsesWith(kernel);
      load->eraseFromParent();
    }
  }
}

// Replaces `asm volatile("" ::: "memory")` by a fence. Such assembly emits no instruction; it only forbids the compiler to
// reorder accesses.
void replace_empty_assembly(llvm::Module& module) {
  for (Function& function : module) {
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(llvm::instructions(function))) {
      auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call == nullptr || !call->isInlineAsm() || !call->arg_empty() || !call->getType()->isVoidTy()) continue;
      if (!llvm::cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString().empty()) continue;
      new llvm::FenceInst(module.getContext(), llvm::AtomicOrdering::SequentiallyConsistent, llvm::SyncScope::SingleThread,
                          call);
      call->eraseFromParent();
    }
  }
}

// The value of a special register of PTX, or null if the assembly does something else.
llvm::Value* special_register(const llvm::CallInst& assembly, llvm::StringRef text, llvm::IRBuilder<>& builder) {
  if (!assembly.getType()->isIntegerTy(32) || !assembly.arg_empty()) return nullptr;
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(text, words, " \t\n,;");
  if (words.size() != 3 || !words[0].starts_with("mov.") || words[1] != "$0") return nullptr;
  if (words[2] == "%smid") return builder.getInt32(0);
  if (words[2] != "%laneid" && words[2] != "%warpid") return nullptr;
  llvm::Value* thread = builder.getInt32(0);
  for (const unsigned axis : {2U, 1U, 0U}) {
    thread = builder.CreateMul(thread, call_builtin(builder, "__weir_ntid", {builder.getInt32(axis)}, 1025));
    thread = builder.CreateAdd(thread, call_builtin(builder, "__weir_tid", {builder.getInt32(axis)}, 1024));
  }
  return words[2] == "%laneid" ? builder.CreateAnd(thread, 31) : builder.CreateLShr(thread, 5);
}

// Replaces reads of PTX's special registers, and refuses other PTX, before an assembler sees it. The statements of PTX end
// with semicolons.
void replace_ptx(llvm::Module& module) {
  for (Function& function : module) {
    for (llvm::CallInst* call : calls_in(function, [](const llvm::CallInst& any) { return any.isInlineAsm(); })) {
      const llvm::StringRef text = llvm::cast<llvm::InlineAsm>(call->getCalledOperand())->getAsmString();
      if (!text.contains(';')) continue;
      llvm::IRBuilder<> builder(call);
      llvm::Value* value = special_register(*call, text, builder);
      if (value == nullptr) {
        const std::string refusal = "no inline PTX on the CPU, except reads of %laneid, %warpid and %smid: '" + text.str() +
                                    "'; see docs/cuda-programs.md";
        module.getContext().diagnose(llvm::DiagnosticInfoInlineAsm(*call, refusal));
        if (!call->getType()->isVoidTy()) value = llvm::PoisonValue::get(call->getType());
      }
      if (value != nullptr) call->replaceAllUsesWith(value);
      call->eraseFromParent();
    }
  }
}

// Makes the lowest integer divided by -1 yield itself, as on a GPU. LLVM treats the result as undefined, and drops stores of
// it.
void divide_least_numbers(llvm::Module& module) {
  for (Function& function : module) {
    for (llvm::Instruction& division : llvm::make_early_inc_range(llvm::instructions(function))) {
      const bool quotient = division.getOpcode() == llvm::Instruction::SDiv;
      if (!quotient && division.getOpcode() != llvm::Instruction::SRem) continue;
      llvm::Value* const by = division.getOperand(1);
      const auto* const constant = llvm::dyn_cast<llvm::ConstantInt>(by);
      if (constant != nullptr && !constant->isMinusOne()) continue;
      llvm::IRBuilder<> builder(&division);
      llvm::Value* const by_minus_one = builder.CreateICmpEQ(by, llvm::Constant::getAllOnesValue(by->getType()));
      division.setOperand(1, builder.CreateSelect(by_minus_one, llvm::ConstantInt::get(by->getType(), 1), by));
      if (!quotient) continue;
      builder.SetInsertPoint(division.getNextNode());
      llvm::Value* const negative = builder.CreateNeg(division.getOperand(0));
      llvm::Value* const result = builder.CreateSelect(by_minus_one, negative, &division);
      division.replaceUsesWithIf(result, [&](llvm::Use& use) { return use.getUser() != result; });
    }
  }
}

}  // namespace

llvm::PreservedAnalyses PrepareKernels::run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
  const bool is_program = !annotated_functions(module, "weir.program").empty();
  // From Clang 20 on, a `__constant__` variable is a constant. On the CPU it would lie in memory that the host cannot write.
  for (GlobalVariable& variable : module.globals()) {
    if (variable.isExternallyInitialized()) variable.setConstant(false);
  }
  make_runners(module);
  if (is_program) replace_ptx(module);
  mark_mathematics(module, analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager());
  call_directly(module);
  replace_empty_assembly(module);
  divide_least_numbers(module);
  record_names(module);
  mark_updates(module);
  const Functions entries = kernels(module);
  const Variables shared = shared_variables(module);
  hide_from_optimizers(shared);
  for (Function* function : thread_dependent(module, shared)) {
    if (entries.count(function) == 0) inline_always(*function);
  }
  for (Function* kernel : entries) {
    kernel->removeFnAttr(Attribute::OptimizeNone);
    kernel->removeFnAttr(Attribute::AlwaysInline);
    kernel->addFnAttr(Attribute::NoInline);
  }
  Functions waiting =
      builtins_of(module, [](Builtin kind) { return kind == Builtin::block_barrier || kind == Builtin::block_count; });
  const Functions through = callers(waiting);
  waiting.insert(through.begin(), through.end());
  for (Function* function : through) keep_rolled(*function, waiting);
  forget_restrict(module);
  drop_convergence(module);
  keep_apart(module);
  mark_ranges(module);
  return llvm::PreservedAnalyses::none();
}

}  // namespace weir::workgroup
