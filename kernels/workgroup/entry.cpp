// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/entry.hpp"

#include <cstddef>

#include "kernels/kernel_abi.hpp"
#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/llvm_names.hpp"

namespace weir::workgroup {
namespace {

// The maximum number of threads along x that run as one row. If blocks have several rows, the limit is lower, so that the
// row's data is still in the cache when the next row starts.
constexpr std::uint64_t most_joined = 1U << 16U, most_joined_of_several_rows = 1024;

class RunFunction {
 public:
  explicit RunFunction(const BlockFunction& block)
      : block_(block), module_(*block.function->getParent()), builder_(module_.getContext()) {
    llvm::Type* const pointer = builder_.getPtrTy();
    auto* const type = llvm::FunctionType::get(builder_.getVoidTy(), {pointer, pointer}, false);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, block.kernel->getName() + ".run", module_);
    function_->addFnAttr(formed_block);
    // LLVM inlines a function only into a function for the same processor.
    for (const char* attribute : {"target-cpu", "target-features", "tune-cpu"}) {
      if (block.kernel->hasFnAttribute(attribute)) function_->addFnAttr(block.kernel->getFnAttribute(attribute));
    }
  }

  llvm::Function* make() {
    Value* const range = function_->getArg(0);
    BasicBlock* const entry = make_block("");
    BasicBlock* const loop = make_block("block");
    BasicBlock* const latch = make_block("next");
    BasicBlock* const end = make_block("end");
    builder_.SetInsertPoint(entry);
    Value* grid[3];
    Value* sizes[3];
    Value* threads = builder_.getInt64(1);
    for (unsigned axis = 0; axis < 3; ++axis) {
      grid[axis] = wide(load(builder_.getInt32Ty(), range, offsetof(host::BlockRange, grid) + 4 * axis));
      sizes[axis] = wide(load(builder_.getInt32Ty(), range, offsetof(host::BlockRange, block) + 4 * axis));
      threads = builder_.CreateMul(threads, sizes[axis], "", true, true);
    }
    Value* const first = load(builder_.getInt64Ty(), range, offsetof(host::BlockRange, first_block));
    Value* const last = load(builder_.getInt64Ty(), range, offsetof(host::BlockRange, last_block));
    Value* const dynamic = load(builder_.getInt64Ty(), range, offsetof(host::BlockRange, shared_bytes));
    if (block_.threads_in_step != 1) {
      threads = builder_.CreateAdd(threads, builder_.getInt64(block_.threads_in_step - 1));
      threads = builder_.CreateUDiv(threads, builder_.getInt64(block_.threads_in_step));
    }
    // The start of the context is aligned for its arrays, and its end for shared memory, which follows.
    constexpr std::uint64_t line = BlockFunction::shared_alignment;
    Value* context_bytes = builder_.CreateMul(threads, builder_.getInt64(block_.context_bytes));
    context_bytes = builder_.CreateAnd(builder_.CreateAdd(context_bytes, builder_.getInt64(line - 1)), ~(line - 1));
    Value* const bytes =
        builder_.CreateAdd(builder_.CreateAdd(context_bytes, dynamic), builder_.getInt64(block_.static_shared + line));
    Value* const services = load(builder_.getPtrTy(), range, offsetof(host::BlockRange, services));
    Value* const memory =
        builder_.CreateCall(llvm::FunctionType::get(builder_.getPtrTy(), {builder_.getInt64Ty()}, false),
                            load(builder_.getPtrTy(), services, offsetof(host::LaunchServices, take)), bytes);
    Value* const shared = builder_.CreateInBoundsGEP(builder_.getInt8Ty(), memory, context_bytes);
    Value* arguments[BlockFunction::parameter_count];
    arguments[BlockFunction::range] = range;
    arguments[BlockFunction::arguments] = function_->getArg(1);
    arguments[BlockFunction::context] = memory;
    arguments[BlockFunction::shared] = shared;
    Value* const rest = builder_.CreateUDiv(first, grid[0]);
    Value* const start[] = {builder_.CreateURem(first, grid[0]), builder_.CreateURem(rest, grid[1]),
                            builder_.CreateUDiv(rest, grid[1])};
    Value* const most = block_.joins_blocks ? most_blocks(sizes) : nullptr;
    builder_.CreateCondBr(builder_.CreateICmpULT(first, last), loop, end);
    builder_.SetInsertPoint(loop);
    llvm::PHINode* const number = builder_.CreatePHI(builder_.getInt64Ty(), 2, "number");
    number->addIncoming(first, entry);
    llvm::PHINode* index[3];
    for (unsigned axis = 0; axis < 3; ++axis) {
      index[axis] = builder_.CreatePHI(builder_.getInt64Ty(), 2, "index");
      index[axis]->addIncoming(start[axis], entry);
    }
    for (unsigned axis = 0; axis < 3; ++axis) {
      arguments[BlockFunction::block_x + axis] = builder_.CreateTrunc(index[axis], builder_.getInt32Ty());
    }
    Value* count = builder_.getInt64(1);
    if (most != nullptr) {
      count = least(least(builder_.CreateSub(last, number), builder_.CreateSub(grid[0], index[0])), most);
      store(range, offsetof(host::BlockRange, running_end), builder_.CreateAdd(number, count));
    }
    arguments[BlockFunction::row] = builder_.CreateMul(count, sizes[0], "", true, true);
    store(range, offsetof(host::BlockRange, running_block), number);
    // Inlining lets LLVM compute values that are the same for all blocks only once. If a block is stuck, later blocks still
    // run.
    block_.function->addFnAttr(llvm::Attribute::AlwaysInline);
    function_->setSubprogram(block_.function->getSubprogram());
    block_.function->setSubprogram(nullptr);
    builder_.CreateCall(block_.function, arguments);
    builder_.CreateBr(latch);
    builder_.SetInsertPoint(latch);
    // Steps the block's index without a division, which would take as long as a small block.
    Value* carry = count;
    for (unsigned axis = 0; axis < 3; ++axis) {
      Value* const next = builder_.CreateAdd(index[axis], carry, "", true, true);
      Value* const full = builder_.CreateICmpEQ(next, grid[axis]);
      index[axis]->addIncoming(builder_.CreateSelect(full, builder_.getInt64(0), next), latch);
      carry = builder_.CreateZExt(full, builder_.getInt64Ty());
    }
    Value* const next = builder_.CreateAdd(number, count, "", true, true);
    number->addIncoming(next, latch);
    builder_.CreateCondBr(builder_.CreateICmpULT(next, last), loop, end);
    builder_.SetInsertPoint(end);
    builder_.CreateCall(llvm::FunctionType::get(builder_.getVoidTy(), {builder_.getPtrTy()}, false),
                        load(builder_.getPtrTy(), services, offsetof(host::LaunchServices, give_back)), memory);
    builder_.CreateRetVoid();
    return function_;
  }

 private:
  BasicBlock* make_block(const char* name) { return BasicBlock::Create(module_.getContext(), name, function_); }
  Value* least(Value* a, Value* b) { return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, a, b); }

  // Computes how many blocks may run as one.
  Value* most_blocks(Value* const (&sizes)[3]) {
    Value* const one_row = builder_.CreateICmpEQ(builder_.CreateMul(sizes[1], sizes[2]), builder_.getInt64(1));
    Value* const threads =
        builder_.CreateSelect(one_row, builder_.getInt64(most_joined), builder_.getInt64(most_joined_of_several_rows));
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, builder_.CreateUDiv(threads, sizes[0]),
                                          builder_.getInt64(1));
  }

  // The store is not volatile. LLVM assumes that code after a volatile store may never run, and would hoist nothing out of
  // the loop over blocks.
  void store(Value* range, std::size_t offset, Value* number) {
    Value* const address = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), range, offset);
    builder_.CreateAlignedStore(number, address, llvm::Align(8))->setAtomic(llvm::AtomicOrdering::Monotonic);
  }

  Value* wide(Value* value) { return builder_.CreateZExt(value, builder_.getInt64Ty()); }
  Value* load(llvm::Type* type, Value* base, std::size_t offset) {
    llvm::LoadInst* const load =
        builder_.CreateLoad(type, builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), base, offset));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(module_.getContext(), {}));
    return load;
  }

  const BlockFunction& block_;
  llvm::Module& module_;
  llvm::IRBuilder<> builder_;
  llvm::Function* function_;
};

}  // namespace

llvm::Function* make_run_function(const BlockFunction& block) { return RunFunction(block).make(); }

void make_entry(llvm::Function& kernel, llvm::Function* run, llvm::Function* any_block, unsigned lanes) {
  llvm::LLVMContext& context = kernel.getContext();
  const llvm::GlobalValue::LinkageTypes linkage = kernel.getLinkage();
  // From now on nothing calls the kernel's code for one thread.
  kernel.deleteBody();
  kernel.setLinkage(linkage);
  for (const auto attribute : {llvm::Attribute::Memory, llvm::Attribute::NoSync, llvm::Attribute::WillReturn,
                               llvm::Attribute::NoReturn, llvm::Attribute::NoFree, llvm::Attribute::NoRecurse}) {
    kernel.removeFnAttr(attribute);
  }
  llvm::IRBuilder<> builder(BasicBlock::Create(context, "", &kernel));
  const auto call = [&](llvm::Function* called) {
    builder.CreateCall(called, {kernel.getArg(0), kernel.getArg(1)});
    builder.CreateRetVoid();
  };
  if (any_block == nullptr) {
    call(run);
    return;
  }
  Value* const address =
      builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), kernel.getArg(0), offsetof(host::BlockRange, block));
  Value* const rest = builder.CreateAnd(builder.CreateLoad(builder.getInt32Ty(), address), lanes - 1);
  BasicBlock* const rows = BasicBlock::Create(context, "rows", &kernel);
  BasicBlock* const others = BasicBlock::Create(context, "others", &kernel);
  builder.CreateCondBr(builder.CreateICmpEQ(rest, builder.getInt32(0)), rows, others);
  builder.SetInsertPoint(rows);
  call(run);
  builder.SetInsertPoint(others);
  call(any_block);
}

}  // namespace weir::workgroup
