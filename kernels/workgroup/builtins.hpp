// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

/// The functions and annotations by which the pass recognizes barriers, warp functions, thread indices, kernels and shared
/// variables. The device prelude declares them.
namespace weir::workgroup {

enum class Builtin {
  none,
  thread_index,  // unsigned __weir_tid(int axis) and the other indices and sizes
  block_index,
  block_size,
  grid_size,
  block_barrier,  // void __weir_barrier()
  block_count,    // int __weir_barrier_count(int predicate)
  memory,         // bool __weir_is_shared(const void* p), bool __weir_is_local(const void* p), char* __weir_shared()
  lane,           // int __weir_lane()
  ballot,         // uint64_t __weir_ballot(uint64_t mask, int predicate)
  shuffle,        // uintNN_t __weir_shuffleNN(uint64_t mask, uintNN_t value, int lane)
  active_lanes,   // uint64_t __weir_active()
  warp_barrier,   // void __weir_warp_barrier(uint64_t mask)
  other,          // any function of the prelude that this pass does not support
};

Builtin builtin(const llvm::Function& function);
/// The name of the function that `value` calls directly; empty if there is none.
llvm::StringRef called_name(const llvm::Value* value);
/// The builtin that `value` calls directly.
Builtin called_builtin(const llvm::Value* value);
/// Builds a call of a builtin whose result is below `limit` and never changes for a thread.
llvm::CallInst* call_builtin(llvm::IRBuilder<>& builder, llvm::StringRef name, llvm::ArrayRef<llvm::Value*> arguments,
                             std::uint32_t limit);
/// The calls in the function for which `chosen` is true.
llvm::SmallVector<llvm::CallInst*> calls_in(llvm::Function& function, llvm::function_ref<bool(llvm::CallInst&)> chosen);
/// Whether `value` is the index or size of kind `kind` along x.
bool is_along_x(const llvm::Value* value, Builtin kind);
/// Whether the lanes of a warp exchange values in this builtin.
bool is_warp_operation(Builtin builtin);
/// Whether the control flow around calls of this builtin must not change.
bool is_convergent(Builtin builtin);

using Functions = llvm::SetVector<llvm::Function*>;
using Variables = llvm::SetVector<llvm::GlobalVariable*>;

/// The functions that have the annotation.
Functions annotated_functions(llvm::Module& module, llvm::StringRef annotation);
/// The first argument of a function's annotation, or 0.
std::uint32_t annotated_number(llvm::Function& function, llvm::StringRef annotation);

/// The functions that the pass turns into block functions: those annotated "weir.run", each of which calls one kernel.
Functions kernels(llvm::Module& module);
/// The name of the program's kernel that the function calls.
llvm::StringRef name_of(const llvm::Function& kernel);
/// Records the names of kernels and of the functions that run them. Call this before kernels are inlined.
void record_names(llvm::Module& module);
/// Whether the function is a `__global__` function, which the program cannot call through a pointer.
bool is_global(const llvm::Function& function);
/// The variables in shared memory. Those without a definition are dynamic.
Variables shared_variables(llvm::Module& module);
inline bool is_dynamic(const llvm::GlobalVariable& shared) { return shared.isDeclaration(); }

/// Whether the value is one of the variables, or a constant that contains the address of one.
bool mentions_any_of(const llvm::Value* value, const Variables& variables);
/// Whether the function uses the address of one of the variables.
bool uses_any_of(const llvm::Function& function, const Variables& variables);

/// Whether the instruction is only a hint for the optimizer, such as the scope of a `__restrict__` or an assumption. LLVM
/// declares such a hint as a call that writes memory, so that the hint stays in place.
bool is_hint(const llvm::Instruction& instruction);
/// Whether the instruction is a call that has an effect.
bool is_acting_call(const llvm::Instruction& instruction);

/// Whether threads may synchronize through this access (a flag, a lock), or rely on lockstep there.
bool may_meet_others(const llvm::Instruction& instruction);

/// The functions whose code depends on the thread or block that runs it, or that may wait for another thread.
Functions thread_dependent(llvm::Module& module, const Variables& shared);

/// The functions that call a function of `called`, directly or through others.
Functions callers(const Functions& called);

}  // namespace weir::workgroup
