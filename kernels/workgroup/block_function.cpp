// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/block_function.hpp"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/LowerAtomic.h>

#include <cstddef>

#include "kernels/kernel_abi.hpp"
#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/llvm_names.hpp"
#include "kernels/workgroup/refusal.hpp"

namespace weir::workgroup {
namespace {

constexpr const char* shared_access = "weir.shared";  // metadata on atomic accesses to shared memory

llvm::Function* copy_with_parameters(llvm::Function& kernel) {
  llvm::LLVMContext& context = kernel.getContext();
  llvm::Type* const pointer = llvm::PointerType::getUnqual(context);
  llvm::Type* const number = llvm::Type::getInt32Ty(context);
  llvm::Type* const types[] = {pointer, pointer, number, number, number, pointer, pointer, llvm::Type::getInt64Ty(context)};
  auto* const type = llvm::FunctionType::get(llvm::Type::getInt1Ty(context), types, false);
  auto* const function =
      llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, kernel.getName() + ".block", kernel.getParent());
  llvm::ValueToValueMapTy map;
  for (unsigned i = 0; i < kernel.arg_size(); ++i) map[kernel.getArg(i)] = function->getArg(i);
  llvm::SmallVector<llvm::ReturnInst*> returns;
  llvm::CloneFunctionInto(function, &kernel, map, llvm::CloneFunctionChangeType::LocalChangesOnly, returns);
  function->setLinkage(llvm::GlobalValue::InternalLinkage);
  function->setVisibility(llvm::GlobalValue::DefaultVisibility);
  function->setComdat(nullptr);
  function->setDSOLocal(true);
  function->addFnAttr(formed_block);
  // Removes attributes that describe the code of one thread and would be wrong for a block.
  for (const auto attribute : {llvm::Attribute::NoInline, llvm::Attribute::Memory, llvm::Attribute::Convergent,
                               llvm::Attribute::NoReturn, llvm::Attribute::WillReturn, llvm::Attribute::NoSync}) {
    function->removeFnAttr(attribute);
  }
  // The code of one thread does not use the range, but that of a block does.
  function->setAttributes(function->getAttributes().removeParamAttributes(context, BlockFunction::range));
  constexpr const char* names[] = {"range", "arguments", "block.x", "block.y", "block.z", "context", "shared", "row"};
  for (unsigned i = 0; i < BlockFunction::parameter_count; ++i) function->getArg(i)->setName(names[i]);
  return function;
}

void move_private_variables(BlockFunction& block) {
  llvm::SmallVector<llvm::AllocaInst*> variables;
  llvm::SmallVector<llvm::Instruction*> dropped;
  for (llvm::Instruction& instruction : llvm::instructions(*block.function)) {
    if (auto* const variable = dyn_cast<llvm::AllocaInst>(&instruction)) {
      if (!variable->isStaticAlloca()) throw Refused("it has a local array whose size is not known", variable);
      variables.push_back(variable);
    }
    // Both kinds of instructions describe where one thread's variables are, which is wrong from now on.
    if (instruction.isLifetimeStartOrEnd() || isa<llvm::DbgVariableIntrinsic>(instruction)) dropped.push_back(&instruction);
#if LLVM_VERSION_MAJOR >= 19
    instruction.dropDbgRecords();
#endif
  }
  for (llvm::Instruction* instruction : dropped) instruction->eraseFromParent();
  for (llvm::AllocaInst* variable : variables) variable->moveBefore(block.top->getTerminator());
}

// Builds a value for an axis that may be known only at run time.
template <class OfAxis>
llvm::Value* by_axis(llvm::IRBuilder<>& builder, llvm::Value* axis, OfAxis&& of_axis) {
  if (const auto* const known = dyn_cast<llvm::ConstantInt>(axis))
    return of_axis(std::min<std::uint64_t>(known->getZExtValue(), 2));
  llvm::Value* const y_or_z = builder.CreateSelect(builder.CreateICmpEQ(axis, builder.getInt32(1)), of_axis(1), of_axis(2));
  return builder.CreateSelect(builder.CreateICmpEQ(axis, builder.getInt32(0)), of_axis(0), y_or_z);
}

void replace_geometry(BlockFunction& block) {
  const auto calls = calls_in(*block.function, [](llvm::CallInst& call) {
    const Builtin kind = called_builtin(&call);
    return kind == Builtin::block_index || kind == Builtin::block_size || kind == Builtin::grid_size ||
           (kind == Builtin::thread_index && !isa<llvm::ConstantInt>(call.getArgOperand(0)));
  });
  for (llvm::CallInst* call : calls) {
    llvm::IRBuilder<> builder(call);
    call->replaceAllUsesWith(by_axis(builder, call->getArgOperand(0), [&](std::uint64_t axis) -> llvm::Value* {
      switch (called_builtin(call)) {
        case Builtin::block_index:
          return block.function->getArg(BlockFunction::block_x + static_cast<unsigned>(axis));
        case Builtin::block_size: return block.block_size[axis];
        case Builtin::grid_size: return block.grid_size[axis];
        default: break;
      }
      auto* const index = cast<llvm::CallInst>(builder.Insert(call->clone()));
      index->setArgOperand(0, builder.getInt32(static_cast<std::uint32_t>(axis)));
      return index;
    }));
    call->eraseFromParent();
  }
}

// Turns constant expressions that contain the address of a shared variable into instructions.
void expand_constants(llvm::Function& function, const Variables& shared) {
  llvm::SmallVector<llvm::Instruction*> work;
  for (llvm::Instruction& instruction : llvm::instructions(function)) work.push_back(&instruction);
  while (!work.empty()) {
    llvm::Instruction* const user = work.pop_back_val();
    for (llvm::Use& use : user->operands()) {
      auto* const expression = dyn_cast<llvm::ConstantExpr>(use.get());
      if (expression == nullptr || !mentions_any_of(expression, shared)) continue;
      auto* const phi = dyn_cast<llvm::PHINode>(user);
      llvm::Instruction* const made = expression->getAsInstruction();
      made->insertBefore(phi != nullptr ? phi->getIncomingBlock(use)->getTerminator() : user);
      if (phi != nullptr) {
        phi->setIncomingValueForBlock(phi->getIncomingBlock(use), made);
      } else {
        use.set(made);
      }
      work.push_back(made);
    }
  }
}

llvm::MDNode* with(llvm::MDNode* list, llvm::ArrayRef<llvm::Metadata*> more, llvm::LLVMContext& context) {
  return llvm::MDNode::concatenate(list, llvm::MDNode::get(context, more));
}

bool is_parameter(const BlockFunction& block, const llvm::Value* object) {
  const auto* const load = dyn_cast<llvm::LoadInst>(object);
  return isa<llvm::Argument>(object) || (load != nullptr && load->getParent() == block.top);
}

// Adds metadata for LLVM: shared variables overlap neither each other, nor the context, nor the memory to which the kernel's
// parameters point.
void add_alias_scopes(BlockFunction& block, const Variables& shared) {
  llvm::LLVMContext& context = block.function->getContext();
  llvm::MDBuilder metadata(context);
  llvm::MDNode* const domain = metadata.createAnonymousAliasScopeDomain("weir");
  block.context_scope = metadata.createAnonymousAliasScope(domain, "context");
  llvm::MapVector<const llvm::Value*, llvm::MDNode*> scopes;
  for (llvm::GlobalVariable* variable : shared) {
    // Dynamic variables get no scope of their own: they share one memory, and an index past one array may be in the next.
    if (is_dynamic(*variable)) continue;
    scopes[variable] = metadata.createAnonymousAliasScope(domain, variable->getName());
    block.shared_scopes.push_back(scopes[variable]);
  }
  for (llvm::Instruction& instruction : llvm::instructions(*block.function)) {
    const llvm::Value* const address = llvm::getLoadStorePointerOperand(&instruction);
    if (address == nullptr) continue;
    const llvm::Value* const object = llvm::getUnderlyingObject(address, 0);
    llvm::SmallVector<llvm::Metadata*> others{block.context_scope};
    const auto own_scope = scopes.find(object);
    if (own_scope != scopes.end() || is_parameter(block, object)) {
      for (llvm::Metadata* scope : block.shared_scopes) {
        if (own_scope == scopes.end() || scope != own_scope->second) others.push_back(scope);
      }
    }
    const auto add = [&](unsigned kind, llvm::ArrayRef<llvm::Metadata*> more) {
      instruction.setMetadata(kind, with(instruction.getMetadata(kind), more, context));
    };
    if (own_scope != scopes.end()) add(llvm::LLVMContext::MD_alias_scope, {own_scope->second});
    add(llvm::LLVMContext::MD_noalias, others);
  }
}

void mark_shared_atomics(BlockFunction& block, const Variables& shared) {
  for (llvm::Instruction& instruction : llvm::instructions(*block.function)) {
    const llvm::Value* address = nullptr;
    if (const auto* const update = dyn_cast<llvm::AtomicRMWInst>(&instruction)) address = update->getPointerOperand();
    if (const auto* const exchange = dyn_cast<llvm::AtomicCmpXchgInst>(&instruction))
      address = exchange->getPointerOperand();
    if (address == nullptr) continue;
    const auto* const object = dyn_cast<llvm::GlobalVariable>(llvm::getUnderlyingObject(address, 0));
    if (object != nullptr && shared.count(const_cast<llvm::GlobalVariable*>(object)) != 0)
      instruction.setMetadata(shared_access, llvm::MDNode::get(instruction.getContext(), {}));
  }
}

void place_shared_variables(BlockFunction& block, const Variables& shared) {
  const llvm::DataLayout& layout = block.function->getParent()->getDataLayout();
  llvm::IRBuilder<> builder(block.top->getTerminator());
  const auto replace = [&](llvm::GlobalVariable* variable, std::uint64_t offset) {
    llvm::Value* const address = builder.CreateConstInBoundsGEP1_64(
        builder.getInt8Ty(), block.parameter(BlockFunction::shared), offset, variable->getName());
    variable->replaceUsesWithIf(address, [&](llvm::Use& use) {
      const auto* const user = dyn_cast<llvm::Instruction>(use.getUser());
      return user != nullptr && user->getFunction() == block.function;
    });
  };
  const auto used = [&](const llvm::GlobalVariable* variable) {
    return llvm::any_of(variable->users(), [&](const llvm::User* user) {
      const auto* const instruction = dyn_cast<llvm::Instruction>(user);
      return instruction != nullptr && instruction->getFunction() == block.function;
    });
  };
  std::uint64_t sum = 0, greatest = 0;
  for (llvm::GlobalVariable* variable : shared) {
    if (is_dynamic(*variable) || !used(variable)) continue;
    const llvm::Align alignment = std::max(variable->getAlign().valueOrOne(), llvm::Align(16));
    block.static_shared = llvm::alignTo(block.static_shared, alignment);
    replace(variable, block.static_shared);
    const std::uint64_t size = layout.getTypeAllocSize(variable->getValueType()).getFixedValue();
    block.static_shared += size;
    sum += size;
    greatest = std::max(greatest, size);
  }
  // The backend refuses the source when it reads this. A single variable that is too large has its own message.
  if (sum > host::most_shared_bytes && greatest <= host::most_shared_bytes) {
    builder.getContext().emitError("the __shared__ variables of '" + llvm::demangle(name_of(*block.kernel).str()) +
                                   "' have " + std::to_string(sum) + " bytes");
  }
  block.static_shared = llvm::alignTo(block.static_shared, BlockFunction::shared_alignment);
  for (llvm::GlobalVariable* variable : shared) {
    if (is_dynamic(*variable)) replace(variable, block.static_shared);
  }
}

// Replaces questions about the block's memory. The context and then the shared memory are in one piece of the worker's
// memory; variables of threads are in the context or on the stack.
void replace_memory(BlockFunction& block) {
  const auto calls =
      calls_in(*block.function, [](llvm::CallInst& call) { return called_builtin(&call) == Builtin::memory; });
  if (calls.empty()) return;
  llvm::IRBuilder<> builder(block.top->getTerminator());
  const auto number = [&](llvm::Value* address) { return builder.CreatePtrToInt(address, builder.getInt64Ty()); };
  llvm::Value* const shared = number(block.parameter(BlockFunction::shared));
  llvm::Value* const context = number(block.parameter(BlockFunction::context));
  llvm::Value* const dynamic = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), block.parameter(BlockFunction::range),
                                                                  offsetof(host::BlockRange, shared_bytes));
  // A line more, as make_run_function takes: an array of no bytes, and the end of the last one, are shared memory too.
  const std::uint64_t fixed = block.static_shared + BlockFunction::shared_alignment;
  llvm::Value* const end = builder.CreateAdd(builder.CreateAdd(shared, builder.getInt64(fixed)),
                                             builder.CreateLoad(builder.getInt64Ty(), dynamic));
#if LLVM_VERSION_MAJOR >= 18
  llvm::CallInst* const end_of_stack = builder.CreateIntrinsic(llvm::Intrinsic::stacksave, {builder.getPtrTy()}, {});
#else
  llvm::CallInst* const end_of_stack = builder.CreateIntrinsic(llvm::Intrinsic::stacksave, {}, {});
#endif
  end_of_stack->setDoesNotAccessMemory();  // otherwise each lane of a warp would call it
  llvm::Value* const stack = number(end_of_stack);
  llvm::Value* const frame =
      number(builder.CreateIntrinsic(llvm::Intrinsic::frameaddress, {builder.getPtrTy()}, {builder.getInt32(0)}));
  for (llvm::CallInst* call : calls) {
    builder.SetInsertPoint(call);
    const auto is_in = [&](llvm::Value* from, llvm::Value* to) {
      return builder.CreateICmpULT(builder.CreateSub(number(call->getArgOperand(0)), from), builder.CreateSub(to, from));
    };
    const llvm::StringRef name = call->getCalledFunction()->getName();
    call->replaceAllUsesWith(name == "__weir_shared"      ? block.parameter(BlockFunction::shared)
                             : name == "__weir_is_shared" ? is_in(shared, end)
                                                          : builder.CreateOr(is_in(context, shared), is_in(stack, frame)));
    call->eraseFromParent();
  }
}

// Replaces barriers that return a count: between two plain barriers, the threads add to a variable of the block.
void lower_counts(BlockFunction& block) {
  const auto calls =
      calls_in(*block.function, [](llvm::CallInst& call) { return called_builtin(&call) == Builtin::block_count; });
  if (calls.empty()) return;
  llvm::Module& module = *block.function->getParent();
  const llvm::FunctionCallee barrier = module.getOrInsertFunction(
      "__weir_barrier", llvm::FunctionType::get(llvm::Type::getVoidTy(module.getContext()), false));
  llvm::IRBuilder<> top(block.top->getTerminator());
  llvm::Value* const count =
      top.CreateConstInBoundsGEP1_64(top.getInt8Ty(), block.parameter(BlockFunction::shared), block.static_shared, "count");
  block.static_shared += BlockFunction::shared_alignment;
  for (llvm::CallInst* call : calls) {
    llvm::IRBuilder<> builder(call);
    builder.CreateCall(barrier);
    builder.CreateStore(builder.getInt32(0), count);
    builder.CreateCall(barrier);
    llvm::Value* const one =
        builder.CreateZExt(builder.CreateICmpNE(call->getArgOperand(0), builder.getInt32(0)), builder.getInt32Ty());
    builder.CreateAtomicRMW(llvm::AtomicRMWInst::Add, count, one, llvm::Align(4), llvm::AtomicOrdering::Monotonic)
        ->setMetadata(shared_access, llvm::MDNode::get(module.getContext(), {}));
    builder.CreateCall(barrier);
    call->replaceAllUsesWith(builder.CreateLoad(builder.getInt32Ty(), count));
    call->eraseFromParent();
  }
}

}  // namespace

void hoist_arguments(llvm::Function& function, llvm::BasicBlock& top) {
  const llvm::Argument* const arguments = function.getArg(1);
  const auto is_argument = [&](const llvm::Value* address) {
    const llvm::Value* const object = llvm::getUnderlyingObject(address, 0);
    const auto* const loaded = dyn_cast<llvm::LoadInst>(object);
    return object == arguments || (loaded != nullptr && loaded->getParent() == &top &&
                                   llvm::getUnderlyingObject(loaded->getPointerOperand(), 0) == arguments);
  };
  llvm::SmallVector<llvm::LoadInst*> loads;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (auto* const load = dyn_cast<llvm::LoadInst>(&instruction); load != nullptr && load->isSimple())
      loads.push_back(load);
  }
  for (llvm::LoadInst* load : loads) {
    if (!is_argument(load->getPointerOperand())) continue;
    // Accepts a load whose address is `arguments`, or an address loaded from there, plus constants.
    llvm::SmallVector<llvm::Instruction*> chain{load};
    const auto is_here = [&](llvm::Value* value) {
      return !isa<llvm::Instruction>(value) || cast<llvm::Instruction>(value)->getParent() == &top;
    };
    bool constant = true;
    for (llvm::Value* address = load->getPointerOperand(); constant && !is_here(address);) {
      auto* const step = dyn_cast<llvm::GetElementPtrInst>(address);
      constant = step != nullptr && step->hasAllConstantIndices();
      if (!constant) break;
      chain.push_back(step);
      address = step->getPointerOperand();
    }
    if (!constant) continue;
    for (llvm::Instruction* instruction : llvm::reverse(chain)) instruction->moveBefore(top.getTerminator());
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(load->getContext(), {}));
  }
}

BlockFunction make_block_function(llvm::Function& kernel) {
  BlockFunction block{};
  block.kernel = &kernel;
  block.function = copy_with_parameters(kernel);
  try {
    llvm::removeUnreachableBlocks(*block.function);
    llvm::BasicBlock* const entry = &block.function->getEntryBlock();
    block.top = llvm::BasicBlock::Create(kernel.getContext(), "top", block.function, entry);
    llvm::BranchInst::Create(entry, block.top);
    // Moves variables to `top`, because LLVM treats them as static only in the entry block.
    llvm::SmallVector<llvm::AllocaInst*> variables;
    for (llvm::Instruction& instruction : *entry) {
      if (auto* const variable = dyn_cast<llvm::AllocaInst>(&instruction);
          variable != nullptr && !variable->isArrayAllocation())
        variables.push_back(variable);
    }
    for (llvm::AllocaInst* variable : variables) variable->moveBefore(block.top->getTerminator());
    move_private_variables(block);
    load_sizes(block);
    hoist_arguments(*block.function, *block.top);
    replace_geometry(block);
    lower_counts(block);
    const Variables shared = shared_variables(*kernel.getParent());
    expand_constants(*block.function, shared);
    add_alias_scopes(block, shared);
    mark_shared_atomics(block, shared);
    place_shared_variables(block, shared);
    replace_memory(block);
  } catch (...) {
    block.function->eraseFromParent();
    throw;
  }
  return block;
}

void load_sizes(BlockFunction& block) {
  llvm::IRBuilder<> builder(block.top->getTerminator());
  llvm::MDBuilder metadata(builder.getContext());
  const auto size = [&](std::size_t offset, unsigned axis, std::uint64_t limit, const char* name) {
    llvm::Value* const address =
        builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), block.parameter(BlockFunction::range), offset + 4 * axis);
    llvm::LoadInst* const load = builder.CreateLoad(builder.getInt32Ty(), address, name);
    load->setMetadata(llvm::LLVMContext::MD_range, metadata.createRange(llvm::APInt(32, 1), llvm::APInt(32, limit)));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(builder.getContext(), {}));
    return load;
  };
  for (unsigned axis = 0; axis < 3; ++axis) {
    block.block_size[axis] = size(offsetof(host::BlockRange, block), axis, 1025, "block.size");
    block.grid_size[axis] = size(offsetof(host::BlockRange, grid), axis, 0x80000000U, "grid.size");
  }
}

void lower_shared_atomics(BlockFunction& block) {
  llvm::SmallVector<llvm::Instruction*> found;
  for (llvm::Instruction& instruction : llvm::instructions(*block.function)) {
    if (instruction.hasMetadata(shared_access)) found.push_back(&instruction);
  }
  for (llvm::Instruction* instruction : found) {
    llvm::Instruction* const before = instruction->getPrevNode();
    llvm::BasicBlock* const parent = instruction->getParent();
    llvm::Instruction* const after = instruction->getNextNode();
    if (auto* const update = dyn_cast<llvm::AtomicRMWInst>(instruction)) {
      llvm::lowerAtomicRMWInst(update);
    } else {
      llvm::lowerAtomicCmpXchgInst(cast<llvm::AtomicCmpXchgInst>(instruction));
    }
    llvm::MDNode* const mark = llvm::MDNode::get(parent->getContext(), {});
    for (llvm::Instruction* made = before != nullptr ? before->getNextNode() : &parent->front(); made != after;
         made = made->getNextNode()) {
      if (llvm::getLoadStorePointerOperand(made) != nullptr) made->setMetadata(once_atomic, mark);
    }
  }
}

void mark_context_access(const BlockFunction& block, llvm::Instruction& access) {
  llvm::LLVMContext& context = access.getContext();
  access.setMetadata(llvm::LLVMContext::MD_alias_scope, llvm::MDNode::get(context, {block.context_scope}));
  if (!block.shared_scopes.empty())
    access.setMetadata(llvm::LLVMContext::MD_noalias, llvm::MDNode::get(context, block.shared_scopes));
}

}  // namespace weir::workgroup
