// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>

namespace weir::workgroup {

/// The function that runs one block: a kernel's body with the block as a parameter. It returns whether the block failed. Its
/// first basic block, `top`, holds the values that all threads share: sizes, addresses of shared memory, and private
/// variables.
struct BlockFunction {
  /// The parameters after the kernel's own.
  enum Parameter : unsigned { range, block_x, block_y, block_z, context, shared, row, parameter_count };

  llvm::Function* kernel;
  llvm::Function* function;
  llvm::BasicBlock* top;
  unsigned own;                ///< number of the kernel's own parameters
  llvm::Value* block_size[3];  ///< 32-bit values
  llvm::Value* grid_size[3];
  std::uint64_t static_shared = 0;  ///< bytes, a multiple of `shared_alignment`
  std::uint64_t context_bytes = 0;  ///< for each thread, or for each warp if warps are vectorized
  unsigned threads_in_step = 1;     ///< 1, or the size of a warp
  bool joins_blocks = false;        ///< neighbouring blocks run as one; `row` is their number of threads along x
  llvm::MDNode* context_scope;      ///< for accesses to the context, which no other access overlaps
  llvm::SmallVector<llvm::Metadata*> shared_scopes;

  static constexpr std::uint64_t shared_alignment = 64;

  llvm::Argument* parameter(Parameter which) const { return function->getArg(own + which); }
};

/// The attribute of functions that run blocks or ranges of blocks: their threads are not on fibers.
inline constexpr const char* formed_block = "weir.formed";

/// Copies the kernel. It replaces the block's index and sizes and the shared variables; thread indices and barriers stay.
BlockFunction make_block_function(llvm::Function& kernel);

/// Loads the sizes of block and grid again, because LLVM's passes may have replaced the first loads.
void load_sizes(BlockFunction& block);

/// Marks an access to the context.
void mark_context_access(const BlockFunction& block, llvm::Instruction& access);

/// Makes atomic accesses to shared memory plain, because a block runs on one thread of the processor. Call it after the
/// lanes are vectorized.
void lower_shared_atomics(BlockFunction& block);

/// The metadata on accesses that were atomic: threads may synchronize through them.
inline constexpr const char* once_atomic = "weir.atomic";

}  // namespace weir::workgroup
