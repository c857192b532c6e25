// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

#include "kernels/workgroup/block_function.hpp"
#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/warp.hpp"
#include "kernels/workgroup/warp_shapes.hpp"
#include "kernels/workgroup/warp_structure.hpp"

namespace weir::workgroup {

/// The vector 0, `stride`, 2 * `stride`, …
llvm::Constant* numbers_of_lanes(llvm::Type* type, std::int64_t stride, unsigned count);

/// Turns the code for one lane into code for a warp, with the lanes as the elements of vectors. Uniform values stay scalar.
/// So do addresses and indices that rise by a constant from lane to lane.
class Vectorizer {
 public:
  // State about lanes that have ended or will end.
  struct Ends {
    llvm::AllocaInst* ended;  ///< variable with the lanes that have ended; null if all lanes end together
    /// Variable with the lanes that will end without a further call; null if that is known at compile time.
    llvm::AllocaInst* ending;
    const Calls& before_ends;  ///< the calls for which it is not known at compile time
  };
  /// `lanes_there`: mask of the lanes that exist in the warp; null if all do.
  Vectorizer(BlockFunction& block, const LaneMasks& masks, const Shapes& shapes, llvm::Value* lanes_there, const Ends& ends,
             const llvm::TargetLibraryInfo& library);
  void run();

 private:
  // A value of a loop that each lane keeps from the iteration in which it leaves.
  struct LoopResult {
    llvm::PHINode* kept;
    llvm::Loop* loop;
  };

  // Control flow: warp_vectorize.cpp
  void remember();
  void make_phis();
  void vectorize_block(llvm::BasicBlock* block);
  void make_loop_result(llvm::PHINode& phi, llvm::Loop* loop);
  void blend(llvm::PHINode& phi, llvm::PHINode& made);
  void rewrite_branch(llvm::BasicBlock* block);
  std::vector<llvm::Instruction*> find_disjoint_ors() const;
  void clean_up();
  llvm::Value* mask(llvm::BasicBlock* block) { return mask_values_.lookup(masks_.mask_of(block)); }
  llvm::Value* edge_mask(llvm::BasicBlock* from, llvm::BasicBlock* to);
  llvm::BasicBlock* end_of(llvm::BasicBlock* block) { return ends_.lookup(block)->getParent(); }
  // The block of which this one was a part before blocks were split.
  llvm::BasicBlock* original(llvm::BasicBlock* block) { return original_.count(block) != 0 ? original_[block] : block; }

  // Values: warp_emit.cpp
  llvm::VectorType* vector_of(llvm::Type* type) const;
  llvm::Value* lanes(llvm::Value* value);  // as a vector
  llvm::Value* stretch(llvm::Value* first, std::int64_t stride);
  llvm::Value* both(llvm::Value* mask, llvm::Value* condition);
  llvm::Value* bits(llvm::Value* mask);
  llvm::Value* any(llvm::Value* mask);
  bool is_all(llvm::Value* mask) const;
  void emit(llvm::Instruction& instruction);
  void emit_call(llvm::CallInst& call);
  bool emit_intrinsic(llvm::IntrinsicInst& call);
  bool emit_vector_function(llvm::CallInst& call);
  bool emit_instruction(llvm::CallInst& call);
  llvm::Value* emit_plain(llvm::Instruction& instruction);
  void replace(llvm::Instruction& instruction, llvm::Value* value);  // replaces by a scalar value
  void drop(llvm::Instruction& instruction) { dropped_.push_back(&instruction); }

  // Memory, and operations that are done lane by lane: warp_memory.cpp
  void emit_load(llvm::LoadInst& load);
  void emit_store(llvm::StoreInst& store);
  void one_by_one(llvm::Instruction& instruction);
  // A value that rises by `stride` from each lane to the next. `first`: the value of lane 0.
  struct Line {
    llvm::Value* first;
    std::int64_t stride;
  };
  std::optional<Line> line(llvm::Value* value, llvm::Value** condition);
  bool is_contiguous(const Line& line, llvm::Type* type) const;
  llvm::Value* emit_access(llvm::Instruction& access, llvm::Value* address, llvm::Type* type,
                           llvm::function_ref<llvm::Value*(llvm::Value*)> beside, llvm::function_ref<llvm::Value*()> apart);

  // Exchange of values between lanes: warp_operations.cpp
  void emit_warp_operation(llvm::CallInst& call, Builtin kind);
  void emit_shuffle(llvm::CallInst& call);
  void check_all_there(llvm::CallInst& at, llvm::Value* named);
  void emit_lane_end(llvm::Instruction& call);
  void emit_full_warp(llvm::CallInst& call);
  llvm::Value* permute(llvm::Value* value, llvm::Value* from);

  BlockFunction& block_;
  llvm::Function& function_;
  const llvm::DataLayout& layout_;
  const LaneMasks& masks_;
  const Shapes& shapes_;
  llvm::Value* lanes_there_;
  const Ends lane_ends_;
  const llvm::TargetLibraryInfo& library_;
  const unsigned lanes_;
  llvm::IRBuilder<> builder_;
  llvm::Value* mask_ = nullptr;  // mask of the current block

  // Instructions of each block, as they were before vectorization.
  std::vector<std::vector<llvm::Instruction*>> instructions_;
  // Original terminator of each block, stored because blocks are split.
  llvm::DenseMap<llvm::BasicBlock*, llvm::Instruction*> ends_;
  llvm::DenseMap<llvm::BasicBlock*, llvm::BasicBlock*> original_;
  llvm::DenseMap<const llvm::Loop*, llvm::BasicBlock*> latches_, preheaders_;
  llvm::DenseMap<llvm::PHINode*, llvm::Loop*> loop_results_;
  llvm::MapVector<llvm::PHINode*, llvm::PHINode*> phis_;
  std::vector<LoopResult> kept_;
  llvm::DenseMap<int, llvm::Value*> mask_values_;
  llvm::DenseMap<const llvm::Value*, llvm::Value*> vectors_;
  // Vectors for the members of values of structure type.
  llvm::DenseMap<const llvm::Value*, llvm::SmallVector<llvm::Value*, 2>> members_;
  std::vector<llvm::Instruction*> dropped_;
};

}  // namespace weir::workgroup
