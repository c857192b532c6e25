// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/faults.hpp"

#include <cstddef>

#include "kernels/kernel_abi.hpp"
#include "kernels/workgroup/llvm_names.hpp"
#include "kernels/workgroup/places.hpp"

namespace weir::workgroup {
namespace {

// Builds uint32_t weir.count(const int32_t* states, uint64_t threads, int32_t wanted).
llvm::Function* count_function(llvm::Module& module) {
  constexpr const char* name = "weir.count";
  if (llvm::Function* const made = module.getFunction(name)) return made;
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> builder(context);
  llvm::Type* const number = builder.getInt32Ty();
  auto* const function =
      llvm::Function::Create(llvm::FunctionType::get(number, {builder.getPtrTy(), builder.getInt64Ty(), number}, false),
                             llvm::GlobalValue::InternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::Cold);
  llvm::BasicBlock* const entry = llvm::BasicBlock::Create(context, "", function);
  llvm::BasicBlock* const loop = llvm::BasicBlock::Create(context, "loop", function);
  llvm::BasicBlock* const end = llvm::BasicBlock::Create(context, "end", function);
  builder.SetInsertPoint(entry);
  builder.CreateBr(loop);
  builder.SetInsertPoint(loop);
  llvm::PHINode* const i = builder.CreatePHI(builder.getInt64Ty(), 2);
  llvm::PHINode* const count = builder.CreatePHI(number, 2);
  Value* const state = builder.CreateLoad(number, builder.CreateGEP(number, function->getArg(0), i));
  Value* const more = builder.CreateAdd(count, builder.CreateZExt(builder.CreateICmpEQ(state, function->getArg(2)), number));
  Value* const next = builder.CreateAdd(i, builder.getInt64(1));
  i->addIncoming(builder.getInt64(0), entry);
  i->addIncoming(next, loop);
  count->addIncoming(builder.getInt32(0), entry);
  count->addIncoming(more, loop);
  builder.CreateCondBr(builder.CreateICmpULT(next, function->getArg(1)), loop, end);
  builder.SetInsertPoint(end);
  builder.CreateRet(more);
  return function;
}

// Builds a table of texts. For each region's barrier it has the source location, the function's name, and both as one text.
llvm::GlobalVariable* make_texts(const Regions& regions, llvm::IRBuilder<>& builder, llvm::Module& module) {
  llvm::SmallVector<llvm::Constant*> texts;
  for (const Region& region : regions.all) {
    for (const std::string& text :
         {region.barrier.line, region.barrier.function, region.barrier.function + " at " + region.barrier.line})
      texts.push_back(builder.CreateGlobalString(text, "", 0, &module));
  }
  auto* const type = llvm::ArrayType::get(builder.getPtrTy(), texts.size());
  return new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::PrivateLinkage,
                                  llvm::ConstantArray::get(type, texts), "weir.barriers");
}

/// Builds a host::KernelFault and the call that passes it to the worker.
class Fault {
 public:
  Fault(const BlockFunction& block, llvm::IRBuilder<>& builder) : block_(block), builder_(builder) {
    constexpr std::uint64_t words = (sizeof(host::KernelFault) + 7) / 8;
    // Allocated here and not in `top`, because allocations in `top` count as variables of the threads.
    fault_ = builder.CreateAlloca(llvm::ArrayType::get(builder.getInt64Ty(), words));
    builder.CreateMemSet(fault_, builder.getInt8(0), sizeof(host::KernelFault), llvm::MaybeAlign(8));
    for (unsigned axis = 0; axis < 3; ++axis) {
      set(offsetof(host::KernelFault, block) + 4 * axis, block.function->getArg(block.own + BlockFunction::block_x + axis));
    }
  }
  void set(std::size_t offset, Value* value) { builder_.CreateStore(value, at(fault_, offset)); }
  void send() {
    Value* const range = block_.parameter(BlockFunction::range);
    Value* const services = load(range, offsetof(host::BlockRange, services));
    auto* const type = llvm::FunctionType::get(builder_.getVoidTy(), {builder_.getPtrTy(), builder_.getPtrTy()}, false);
    builder_.CreateCall(type, load(services, offsetof(host::LaunchServices, fail)),
                        {load(range, offsetof(host::BlockRange, launch)), fault_});
  }

 private:
  Value* at(Value* base, std::size_t offset) {
    return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), base, offset);
  }
  Value* load(Value* base, std::size_t offset) { return builder_.CreateLoad(builder_.getPtrTy(), at(base, offset)); }

  const BlockFunction& block_;
  llvm::IRBuilder<>& builder_;
  Value* fault_;
};

}  // namespace

void report_missing_lanes(const BlockFunction& block, llvm::IRBuilder<>& builder, const llvm::CallInst& call, Value* missing,
                          Value* first, bool whole_rows) {
  llvm::Module& module = *block.function->getParent();
  const auto index = [&](std::uint32_t axis) {
    const llvm::FunctionCallee function = module.getOrInsertFunction(
        "__weir_tid", llvm::FunctionType::get(builder.getInt32Ty(), {builder.getInt32Ty()}, false));
    llvm::CallInst* const made = builder.CreateCall(function, {builder.getInt32(axis)});
    made->setDoesNotAccessMemory();
    return made;
  };
  Value* thread = builder.CreateMul(index(0), builder.getInt32(block.threads_in_step));
  if (whole_rows) {
    Value* const row = builder.CreateAdd(builder.CreateMul(index(2), block.block_size[1]), index(1));
    thread = builder.CreateAdd(thread, builder.CreateMul(row, block.block_size[0]));
  }
  const SourcePosition place = source_position(call);
  Fault fault(block, builder);
  fault.set(offsetof(host::KernelFault, place), builder.CreateGlobalStringPtr(place.line, "", 0, &module));
  fault.set(offsetof(host::KernelFault, function), builder.CreateGlobalStringPtr(place.function, "", 0, &module));
  fault.set(offsetof(host::KernelFault, thread), builder.CreateAdd(thread, first));
  fault.set(offsetof(host::KernelFault, missing_lanes), builder.CreateZExt(missing, builder.getInt64Ty()));
  fault.send();
}

void report_divergence(const BlockFunction& block, const Regions& regions, llvm::IRBuilder<>& builder, Value* states,
                       Value* threads, Value* first, Value* last) {
  llvm::Module& module = *block.function->getParent();
  const auto count = [&](Value* state) { return builder.CreateCall(count_function(module), {states, threads, state}); };
  llvm::GlobalVariable* const texts = make_texts(regions, builder, module);
  const auto text = [&](Value* state, std::uint32_t which) {
    Value* const index = builder.CreateAdd(builder.CreateMul(state, builder.getInt32(3)), builder.getInt32(which));
    return builder.CreateLoad(builder.getPtrTy(), builder.CreateGEP(builder.getPtrTy(), texts, index));
  };
  Fault fault(block, builder);
  fault.set(offsetof(host::KernelFault, place), text(first, 0));
  fault.set(offsetof(host::KernelFault, function), text(first, 1));
  fault.set(offsetof(host::KernelFault, others), text(last, 2));
  fault.set(offsetof(host::KernelFault, here), count(first));
  Value* const returned = count(builder.getInt32(0xffffffffU));
  fault.set(offsetof(host::KernelFault, expected),
            builder.CreateSub(builder.CreateTrunc(threads, builder.getInt32Ty()), returned));
  fault.send();
}

}  // namespace weir::workgroup
