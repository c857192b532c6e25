// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Module.h>

/// What the pass knows of the language: the functions that the prelude of device code declares, and what it annotates.
namespace weir::workgroup {

enum class Builtin {
  none,
  thread_index,  // unsigned __weir_tid(int axis), and so on
  block_index,
  block_size,
  grid_size,
  block_barrier,  // void __weir_barrier()
  block_count,    // int __weir_barrier_count(int predicate)
  lane,           // int __weir_lane()
  ballot,         // uint64_t __weir_ballot(uint64_t mask, int predicate)
  shuffle,        // uintNN_t __weir_shuffleNN(uint64_t mask, uintNN_t value, int lane)
  active_lanes,   // uint64_t __weir_active()
  warp_barrier,   // void __weir_warp_barrier(uint64_t mask)
  other,          // a function of the prelude that this pass does not know
};

Builtin builtin(const llvm::Function& function);
/// What `value` is a direct call of.
Builtin called_builtin(const llvm::Value* value);
/// Whether `value` asks for the index or the size of that kind along x.
bool is_along_x(const llvm::Value* value, Builtin kind);
/// Whether lanes of a warp answer each other in it.
bool is_warp_operation(Builtin builtin);
/// Whether control flow around its calls must stay as it is.
bool is_convergent(Builtin builtin);

using Functions = llvm::SetVector<llvm::Function*>;
using Variables = llvm::SetVector<llvm::GlobalVariable*>;

/// The functions that the prelude annotates so.
Functions annotated_functions(llvm::Module& module, llvm::StringRef annotation);

/// The functions to form: where the prelude defines functions that run blocks ("weir.run"), these, which call a kernel each;
/// else the kernels themselves ("weir.kernel").
Functions kernels(llvm::Module& module);
bool runs_blocks(const llvm::Function& kernel);
/// The name that the program gave the kernel.
llvm::StringRef name_of(const llvm::Function& kernel);
/// Notes which functions are kernels, and what runs them. To be called before they are inlined.
void note_names(llvm::Module& module);
/// Whether it is a `__global__` function, which no pointer of the program's leads to.
bool is_global(const llvm::Function& function);
/// The variables in shared memory; those without a definition are the dynamic ones.
Variables shared_variables(llvm::Module& module);
inline bool is_dynamic(const llvm::GlobalVariable& shared) { return shared.isDeclaration(); }

/// Whether the function has the address of one of the variables in it.
bool uses_any_of(const llvm::Function& function, const Variables& variables);

/// Whether the instruction says something to the optimizer and does nothing: the scope of a `__restrict__`, an assumption.
/// LLVM takes it for a call that writes, so that it stays in its place.
bool is_hint(const llvm::Instruction& instruction);

/// Whether threads may meet in the access, as in a flag or a lock, or be in step in it.
bool may_meet_others(const llvm::Instruction& instruction);

/// The functions whose code depends on the thread or the block that runs it, or may wait for another thread.
Functions thread_dependent(llvm::Module& module, const Variables& shared);

/// The functions that call one of `called`, directly or through others.
Functions callers(const Functions& called);

}  // namespace weir::workgroup
