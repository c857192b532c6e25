// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/faults.hpp"

#include <llvm/IR/DebugInfoMetadata.h>

#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/llvm_names.hpp"
#include "kernels/workgroup/places.hpp"

namespace weir::workgroup {
namespace {

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

// Calls a function of the prelude (kernels/kernel_prelude_groups.hpp) that reports a fault of this block.
void report(const BlockFunction& block, llvm::IRBuilder<>& builder, const char* function, llvm::ArrayRef<Value*> more) {
  llvm::SmallVector<Value*> arguments;
  for (const auto which : {BlockFunction::range, BlockFunction::block_x, BlockFunction::block_y, BlockFunction::block_z})
    arguments.push_back(block.parameter(which));
  arguments.append(more.begin(), more.end());
  // A call of a function with debug information needs a location.
  if (llvm::DISubprogram* const scope = block.function->getSubprogram())
    builder.SetCurrentDebugLocation(llvm::DILocation::get(builder.getContext(), 0, 0, scope));
  builder.CreateCall(block.function->getParent()->getFunction(function), arguments);
}

}  // namespace

void report_missing_lanes(const BlockFunction& block, llvm::IRBuilder<>& builder, const llvm::CallInst& call, Value* missing,
                          Value* first, bool whole_rows) {
  llvm::Module& module = *block.function->getParent();
  const auto index = [&](std::uint32_t axis) { return call_builtin(builder, "__weir_tid", {builder.getInt32(axis)}, 1024); };
  Value* thread = builder.CreateMul(index(0), builder.getInt32(block.threads_in_step));
  if (whole_rows) {
    Value* const row = builder.CreateAdd(builder.CreateMul(index(2), block.block_size[1]), index(1));
    thread = builder.CreateAdd(thread, builder.CreateMul(row, block.block_size[0]));
  }
  const SourcePosition place = source_position(call);
  report(block, builder, "__weir_fiber_report_lanes",
         {builder.CreateGlobalStringPtr(place.line, "", 0, &module),
          builder.CreateGlobalStringPtr(place.function, "", 0, &module), builder.CreateAdd(thread, first), missing});
}

void report_divergence(const BlockFunction& block, const Regions& regions, llvm::IRBuilder<>& builder, Value* states,
                       Value* threads, Value* first, Value* last) {
  report(block, builder, "__weir_fiber_report_barriers",
         {make_texts(regions, builder, *block.function->getParent()), states, threads, first, last});
}

}  // namespace weir::workgroup
