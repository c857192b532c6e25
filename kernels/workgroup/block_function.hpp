// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>

namespace weir::workgroup {

/// A function that runs one block: a copy of a kernel's body with additional parameters for the block. It returns whether
/// the block failed. Its first basic block, `top`, contains the values that all threads share: sizes, addresses of shared
/// memory, and private variables.
struct BlockFunction {
  /// The first two are the kernel's own.
  enum Parameter : unsigned { range, arguments, block_x, block_y, block_z, context, shared, row, parameter_count };

  llvm::Function* kernel;
  llvm::Function* function;
  llvm::BasicBlock* top;
  llvm::Value* block_size[3];  ///< block size along each axis, 32 bits
  llvm::Value* grid_size[3];
  std::uint64_t static_shared = 0;  ///< bytes of static shared memory, a multiple of `shared_alignment`
  std::uint64_t context_bytes = 0;  ///< size of the context for each thread, or for each warp if warps are vectorized
  unsigned threads_in_step = 1;     ///< threads that run as one vector: 1, or the size of a warp
  bool joins_blocks = false;        ///< neighbouring blocks run as one; `row` is then their number of threads along x
  llvm::MDNode* context_scope;      ///< marks accesses to the context, which no other access overlaps
  llvm::SmallVector<llvm::Metadata*> shared_scopes;

  static constexpr std::uint64_t shared_alignment = 64;

  llvm::Argument* parameter(Parameter which) const { return function->getArg(which); }
};

/// The attribute of functions that run one block or a range of blocks. No thread of such a block runs on a fiber.
inline constexpr const char* formed_block = "weir.formed";

/// Copies the kernel to a new function. In the copy, the block's index, the sizes and the shared variables are replaced.
/// Thread indices and barriers stay.
BlockFunction make_block_function(llvm::Function& kernel);

/// Moves the loads of the arguments to `top`, the function's first basic block, because arguments exist for every thread and
/// do not change.
void hoist_arguments(llvm::Function& function, llvm::BasicBlock& top);

/// Loads the sizes of the block and the grid again, because LLVM's passes may have replaced the values loaded before.
void load_sizes(BlockFunction& block);

/// Marks an instruction as an access to the context.
void mark_context_access(const BlockFunction& block, llvm::Instruction& access);

/// Turns atomic accesses to shared memory into plain ones, because all threads of a block run on one thread of the
/// processor. Call this after the lanes are vectorized.
void lower_shared_atomics(BlockFunction& block);

/// The metadata on accesses that were atomic: threads may synchronize through these accesses.
inline constexpr const char* once_atomic = "weir.atomic";

}  // namespace weir::workgroup
