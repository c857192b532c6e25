// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <cstdint>

namespace weir::workgroup {

/// The function that runs one block: a kernel's body with the block as a parameter. It returns whether the block failed.
/// Its first block, `top`, holds what all threads share: sizes, addresses of shared memory, and private variables.
struct BlockFunction {
  /// What follows the kernel's own parameters.
  enum Parameter : unsigned { range, block_x, block_y, block_z, context, shared, row, parameter_count };

  llvm::Function* kernel;
  llvm::Function* function;
  llvm::BasicBlock* top;
  unsigned own;                ///< how many parameters the kernel has
  llvm::Value* block_size[3];  ///< of 32 bits
  llvm::Value* grid_size[3];
  std::uint64_t static_shared = 0;  ///< bytes, a multiple of `shared_alignment`
  std::uint64_t context_bytes = 0;  ///< for each thread, or each warp
  unsigned threads_in_step = 1;     ///< or the size of a warp
  bool joins_blocks = false;        ///< `row` has the threads along x, of neighbouring blocks that run as one
  llvm::MDNode* context_scope;      ///< of accesses to the context, which nothing else reaches
  llvm::SmallVector<llvm::Metadata*> shared_scopes;

  static constexpr std::uint64_t shared_alignment = 64;

  llvm::Argument* parameter(Parameter which) const { return function->getArg(own + which); }
};

/// The attribute of functions that run blocks, and ranges of them: no thread of theirs is on a fiber.
inline constexpr const char* formed_block = "weir.formed";

/// Copies the kernel. The block's index and sizes and the shared variables are replaced; thread indices and barriers are
/// left.
BlockFunction make_block_function(llvm::Function& kernel);

/// Loads the sizes of block and grid, anew after LLVM's passes, which may have replaced those that were loaded before.
void load_sizes(BlockFunction& block);

/// Marks an access to the context.
void mark_context_access(const BlockFunction& block, llvm::Instruction& access);

/// A block runs on one thread of the processor, so its own memory needs no atomic accesses. Makes them plain, once no lanes
/// are vectorized any more.
void lower_shared_atomics(BlockFunction& block);

/// The name of the mark of accesses that were atomic: threads may meet in them.
inline constexpr const char* once_atomic = "weir.atomic";

}  // namespace weir::workgroup
