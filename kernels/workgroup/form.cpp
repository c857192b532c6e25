// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/form.hpp"

#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Demangle/Demangle.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/LCSSA.h>
#include <llvm/Transforms/Utils/LoopSimplify.h>

#include <optional>

#include "kernels/workgroup/accesses.hpp"
#include "kernels/workgroup/block_function.hpp"
#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/entry.hpp"
#include "kernels/workgroup/exponential.hpp"
#include "kernels/workgroup/joined_blocks.hpp"
#include "kernels/workgroup/kept_values.hpp"
#include "kernels/workgroup/lockstep.hpp"
#include "kernels/workgroup/on_fibers.hpp"
#include "kernels/workgroup/passes.hpp"
#include "kernels/workgroup/private_arrays.hpp"
#include "kernels/workgroup/refusal.hpp"
#include "kernels/workgroup/regions.hpp"
#include "kernels/workgroup/strided_loops.hpp"
#include "kernels/workgroup/thread_loops.hpp"
#include "kernels/workgroup/waiting.hpp"
#include "kernels/workgroup/warp.hpp"
#include "kernels/workgroup/warp_structure.hpp"

namespace weir::workgroup {
namespace {

constexpr const char* pass_name = "weir-workgroup";
constexpr unsigned most_regions = 256;

// Finds calls that were not inlined and that lead to code that depends on the thread: recursive calls and calls through
// pointers.
class Reach {
 public:
  explicit Reach(llvm::Module& module) {
    dependent_ = thread_dependent(module, shared_variables(module));
    const Functions entries = kernels(module);
    for (llvm::Function* function : dependent_) {
      by_pointer_ |=
          entries.count(function) == 0 && !is_global(*function) && function->hasAddressTaken(nullptr, true, true, true);
    }
    for (llvm::Function& function : module) {
      for (llvm::Instruction& instruction : llvm::instructions(function)) {
        const auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction);
        if (call != nullptr && call->isIndirectCall()) calls_pointers_.insert(&function);
      }
    }
    calls_pointers_ = callers(calls_pointers_);
  }

  void check(llvm::Function& kernel) const {
    for (llvm::Instruction& instruction : llvm::instructions(kernel)) {
      const auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call == nullptr) continue;
      llvm::Function* const callee = call->getCalledFunction();
      const Builtin kind = called_builtin(call);
      if (kind == Builtin::other) throw Refused("it calls " + source_position(instruction).function, &instruction);
      if (callee != nullptr && dependent_.count(callee) != 0)
        throw Refused("it calls a recursive function that asks for the thread or has atomic accesses", &instruction);
      const bool indirect = call->isIndirectCall() || (callee != nullptr && calls_pointers_.count(callee) != 0);
      if (indirect && by_pointer_)
        throw Refused(
            "it calls through a pointer, and a function whose address is taken asks for the thread or has atomic accesses",
            &instruction);
      if (call->isInlineAsm() && call->isConvergent()) throw Refused("it has inline assembly", &instruction);
    }
  }

 private:
  Functions dependent_;
  Functions calls_pointers_;
  bool by_pointer_ = false;
};

// How one version of a kernel groups threads into warps.
struct Warps {
  WarpVersion version;
  unsigned lanes;
  bool needed;
};

// Gives variables a value on paths on which they have none. LLVM counts a variable that only some threads set, all to the
// same value, as uniform, since the others may take that value, too. But a uniform value that is kept across a barrier has
// one place, and the threads that did not set it would overwrite it.
void define_uniform_variables(llvm::Function& function) {
  llvm::SmallVector<llvm::Use*> undefined;
  for (llvm::BasicBlock& block : function) {
    for (llvm::PHINode& phi : block.phis()) {
      for (llvm::Use& value : phi.incoming_values()) {
        if (llvm::isa<llvm::UndefValue>(value.get())) undefined.push_back(&value);
      }
    }
  }
  if (undefined.empty()) return;
  const BlockDivergence rules;
  const Uniformity uniformity(function, rules);
  llvm::erase_if(undefined, [&](llvm::Use* value) { return uniformity.is_divergent(*value->getUser()); });
  for (llvm::Use* value : undefined) value->set(llvm::Constant::getNullValue(value->get()->getType()));
}

// Returns the number of loops whose iterations all threads take together.
unsigned form_block(BlockFunction& block, std::optional<Warps> warps, const llvm::TargetLibraryInfo& library) {
  if (warps) {
    block.threads_in_step = warps->lanes;
    vectorize_warps(block, warps->version, warps->needed, library);
  }
  lower_shared_atomics(block);
  run_passes(*block.function, llvm::LoopSimplifyPass(), llvm::LCSSAPass());
  const unsigned stepped = warps ? 0 : step_together(block);
  Regions regions = split_at_barriers(block);
  if (regions.all.size() > most_regions) {
    throw Refused("it has " + std::to_string(regions.all.size()) + " regions between barriers, and " +
                      std::to_string(most_regions) + " are the most",
                  nullptr);
  }
  if (regions.all.size() > 1) define_uniform_variables(*block.function);
  const BlockDivergence rules;
  const Uniformity uniformity(*block.function, rules);
  if (const llvm::Instruction* const branch = branch_between_barriers(block, regions, uniformity)) {
    throw Refused("its threads may call different barriers", branch);
  }
  regions.diverge = may_diverge(block, regions, uniformity);
  const KeptValues kept = keep_values(block, regions, uniformity);
  // The context has room for the threads of one block.
  block.joins_blocks &= !regions.diverge && llvm::all_of(kept.all, [](const KeptValue& value) { return value.uniform; });
  llvm::Value* counts[3];
  if (warps) {
    count_warps(block, warps->version, counts);
  } else {
    llvm::IRBuilder<> builder(block.top->getTerminator());
    for (unsigned axis = 0; axis < 3; ++axis)
      counts[axis] = builder.CreateZExt(block.block_size[axis], builder.getInt64Ty());
    if (block.joins_blocks) counts[0] = block.parameter(BlockFunction::row);
  }
  make_thread_loops(block, regions, kept, counts);
  expand_exponentials(*block.function, library);
  return stepped;
}

// The debug information of the kernel in the program, which is inlined into `kernel`.
const llvm::DISubprogram* declaration_of(const llvm::Function& kernel) {
  for (const llvm::Instruction& instruction : llvm::instructions(kernel)) {
    for (const llvm::DILocation* location = instruction.getDebugLoc(); location != nullptr;
         location = location->getInlinedAt()) {
      const llvm::DISubprogram* const function = location->getScope()->getSubprogram();
      if (function->getLinkageName() == name_of(kernel) || function->getName() == name_of(kernel)) return function;
    }
  }
  return kernel.getSubprogram();
}

struct Version {
  llvm::Function* run;
  unsigned stepped;
};

// Returns the function that runs blocks with one version of the kernel. If that version is refused, removes its code.
Version form_version(llvm::Function& kernel, std::optional<Warps> warps, const llvm::TargetLibraryInfo& library) {
  const bool joins_blocks = !warps && can_join_blocks(kernel);
  BlockFunction block = make_block_function(kernel);
  block.joins_blocks = joins_blocks;
  try {
    const unsigned stepped = form_block(block, warps, library);
    std::string flaws;
    llvm::raw_string_ostream stream(flaws);
    if (llvm::verifyFunction(*block.function, &stream)) throw Refused("the pass made invalid code of it: " + flaws, nullptr);
    return {make_run_function(block), stepped};
  } catch (const Refused&) {
    block.function->eraseFromParent();
    throw;
  }
}

// The size of a warp for which the program was compiled.
unsigned threads_of_warp(const llvm::Module& module) {
  const llvm::GlobalVariable* const size = module.getGlobalVariable("__weir_fiber_warp_size", true);
  return size == nullptr ? warp_size
                         : static_cast<unsigned>(llvm::cast<llvm::ConstantInt>(size->getInitializer())->getZExtValue());
}

// Whether lanes of a warp exchange values or rely on lockstep, so that warps must run as vectors.
bool needs_warps(llvm::Function& kernel) {
  return llvm::any_of(llvm::instructions(kernel), [](const llvm::Instruction& instruction) {
    return is_warp_operation(called_builtin(&instruction)) || instruction.isVolatile();
  });
}

// Counts the innermost loops that each thread runs separately, on data that differs between threads.
unsigned count_own_loops(llvm::Function& kernel) {
  llvm::DominatorTree dominators(kernel);
  const llvm::LoopInfo loops(dominators);
  const BlockDivergence rules;
  const Uniformity uniformity(kernel, rules);
  const auto is_own = [&](const llvm::Loop& loop) {
    bool differs = false;
    for (const llvm::BasicBlock* block : loop.blocks()) {
      for (const llvm::Instruction& instruction : *block) {
        if (is_acting_call(instruction)) return false;
        const llvm::Value* const address = llvm::getLoadStorePointerOperand(&instruction);
        differs |= uniformity.is_divergent(address != nullptr ? *address : instruction) &&
                   (address != nullptr || instruction.getType()->isFloatingPointTy());
      }
    }
    return differs;
  };
  return static_cast<unsigned>(llvm::count_if(const_cast<llvm::LoopInfo&>(loops).getLoopsInPreorder(),
                                              [&](const llvm::Loop* loop) { return loop->isInnermost() && is_own(*loop); }));
}

// The number of lanes that run as one vector. It is half a warp if the kernel uses several rows, because such blocks often
// have rows of 16 threads.
unsigned lanes_of(llvm::Function& kernel) {
  const bool has_rows = llvm::any_of(llvm::instructions(kernel), [](llvm::Instruction& instruction) {
    return called_builtin(&instruction) == Builtin::thread_index && !is_along_x(&instruction, Builtin::thread_index);
  });
  return has_rows ? warp_size / 2 : warp_size;
}

// Forms a kernel whose warps must run as vectors.
void form_warps(llvm::Function& kernel, const llvm::TargetLibraryInfo& library) {
  if (threads_of_warp(*kernel.getParent()) != warp_size)
    throw Refused("it has functions of warps, or volatile accesses, and warps are not of 32 threads", nullptr);
  const Version rows = form_version(kernel, Warps{WarpVersion::whole_rows, warp_size, true}, library);
  try {
    make_entry(kernel, rows.run, form_version(kernel, Warps{WarpVersion::any_block, warp_size, true}, library).run,
               warp_size);
  } catch (const Refused&) {
    rows.run->eraseFromParent();  // also removes its block function, which nothing else uses
    throw;
  }
}

void form(llvm::Function& kernel, const Reach& reach, const Variables& shared, const llvm::TargetLibraryInfo& library) {
  reach.check(kernel);
  Exchanges exchanges;
  if (kernel.hasFnAttribute("weir.program")) exchanges = find_exchanges(kernel, shared);
  try {
    if (const llvm::Instruction* const wait = find_wait(kernel))
      throw Refused("its threads may wait for each other in a loop with atomic accesses", wait);
    if (needs_warps(kernel) || !exchanges.empty()) return form_warps(kernel, library);
  } catch (const Refused&) {
    keep_lockstep_on_fibers(exchanges);
    throw;
  }
  // Makes `a && b` one branch, even if computing b takes several instructions, because the search for guards examines single
  // branches. A load of an argument between the two would prevent that.
  llvm::BasicBlock& top = kernel.getEntryBlock();
  llvm::SplitBlock(&top, &*top.getFirstNonPHIOrDbgOrAlloca());
  hoist_arguments(kernel, top);
  run_passes(kernel, llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions().bonusInstThreshold(8)));
  const unsigned own_loops = count_own_loops(kernel);
  const Version others = form_version(kernel, std::nullopt, library);
  // LLVM does not vectorize a loop over threads that contains a thread's own loop. Running warps as vectors may be faster
  // there.
  if (others.stepped < own_loops || has_interleavable_arrays(kernel)) {
    try {
      const unsigned lanes = lanes_of(kernel);
      make_entry(kernel, form_version(kernel, Warps{WarpVersion::whole_rows, lanes, false}, library).run, others.run, lanes);
      return;
    } catch (const Refused&) {
      // The warp version was refused, so the version with loops over threads remains.
    }
  }
  make_entry(kernel, others.run);
}

}  // namespace

llvm::PreservedAnalyses FormWorkGroups::run(llvm::Module& module, llvm::ModuleAnalysisManager& analyses) {
  const Functions found = kernels(module);
  if (found.empty()) return llvm::PreservedAnalyses::all();
  const Reach reach(module);
  const Variables shared = shared_variables(module);
  Functions refused_kernels;
  auto& functions = analyses.getResult<llvm::FunctionAnalysisManagerModuleProxy>(module).getManager();
  for (llvm::Function* kernel : found) {
    record_accesses(*kernel);
    try {
      form(*kernel, reach, shared, functions.getResult<llvm::TargetLibraryAnalysis>(*kernel));
    } catch (const Refused& refused) {
      const llvm::DiagnosticLocation place = refused.where != nullptr
                                                 ? llvm::DiagnosticLocation(llvm::DebugLoc(refused.where))
                                                 : llvm::DiagnosticLocation(declaration_of(*kernel));
      llvm::OptimizationRemarkMissed remark(pass_name, "Refused", place, &kernel->getEntryBlock());
      remark << llvm::demangle(name_of(*kernel).str()) << " runs on fibers: " << refused.why;
      // The place is part of the remark's text, because Clang cannot map lines of a preprocessed source back to the file.
      if (place.isValid() && place.getLine() != 0)
        remark << " (" << place.getRelativePath() << ":" << std::to_string(place.getLine()) << ")";
      module.getContext().diagnose(remark);
      refused_kernels.insert(kernel);
    }
  }
  // The annotations would keep kernels that nothing calls any longer.
  module.getGlobalVariable("llvm.global.annotations")->eraseFromParent();
  run_on_fibers(module, refused_kernels, shared);
  return llvm::PreservedAnalyses::none();
}

}  // namespace weir::workgroup
