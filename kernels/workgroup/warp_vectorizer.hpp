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

/// Runs the lanes of a warp as vector elements. Uniform values stay scalar, and so do addresses and indices that differ by a
/// constant from lane to lane.
class Vectorizer {
 public:
  // Variables that the warp keeps about its lanes' ends.
  struct Ends {
    llvm::AllocaInst* ended;   ///< the lanes that have ended, or null if all end together
    llvm::AllocaInst* ending;  ///< the lanes that will end without another call, or null if that is known at compile time
    const Calls& before_ends;  ///< the calls where it is not known
  };
  /// `lanes_there`: the lanes that exist in the warp, or null for all.
  Vectorizer(BlockFunction& block, const LaneMasks& masks, const Shapes& shapes, llvm::Value* lanes_there, const Ends& ends,
             const llvm::TargetLibraryInfo& library);
  void run();

 private:
  // A loop's value that lanes take along when they leave.
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
  void replace(llvm::Instruction& instruction, llvm::Value* value);  // by a scalar
  void drop(llvm::Instruction& instruction) { dropped_.push_back(&instruction); }

  // Memory, and operations done lane by lane: warp_memory.cpp
  void emit_load(llvm::LoadInst& load);
  void emit_store(llvm::StoreInst& store);
  void one_by_one(llvm::Instruction& instruction);
  // Each lane's value is `stride` more than that of the previous lane; `first` is lane 0's.
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
  llvm::Value* mask_ = nullptr;  // of the current block

  std::vector<std::vector<llvm::Instruction*>> instructions_;   // of each block, before vectorization
  llvm::DenseMap<llvm::BasicBlock*, llvm::Instruction*> ends_;  // terminators, recorded because blocks are split
  llvm::DenseMap<llvm::BasicBlock*, llvm::BasicBlock*> original_;
  llvm::DenseMap<const llvm::Loop*, llvm::BasicBlock*> latches_, preheaders_;
  llvm::DenseMap<llvm::PHINode*, llvm::Loop*> loop_results_;
  llvm::MapVector<llvm::PHINode*, llvm::PHINode*> phis_;
  std::vector<LoopResult> kept_;
  llvm::DenseMap<int, llvm::Value*> mask_values_;
  llvm::DenseMap<const llvm::Value*, llvm::Value*> vectors_;
  llvm::DenseMap<const llvm::Value*, llvm::SmallVector<llvm::Value*, 2>> members_;  // of structure values
  std::vector<llvm::Instruction*> dropped_;
};

}  // namespace weir::workgroup
