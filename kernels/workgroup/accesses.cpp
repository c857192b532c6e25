// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/accesses.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/kernel_abi.hpp"
#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/llvm_names.hpp"
#include "kernels/workgroup/record.hpp"
#include "weir/update_kind.hpp"

namespace weir::workgroup {
namespace {

constexpr const char* noted = "weir.update";

/// The kind of atomic update that the prelude makes in a loop around this instruction, because the processor has no
/// instruction for it.
UpdateKind noted_update(const llvm::User& user) {
  const auto* const instruction = dyn_cast<llvm::Instruction>(&user);
  const llvm::MDNode* const note = instruction != nullptr ? instruction->getMetadata(noted) : nullptr;
  if (note == nullptr) return UpdateKind::unknown;
  return static_cast<UpdateKind>(llvm::mdconst::extract<llvm::ConstantInt>(note->getOperand(0))->getZExtValue());
}

/// Collects the memory accesses through a pointer and through pointers derived from it.
class Accesses {
 public:
  void follow(const Value& pointer) {
    if (!followed_.insert(&pointer).second) return;
    for (const llvm::Use& use : pointer.uses()) add(use);
  }
  bool only_read() const { return reads_ && updates_ == UpdateKind::unknown && !other_; }
  /// The kind of the updates if the pointer has no other accesses; otherwise `unknown`.
  UpdateKind only_updates() const { return reads_ || other_ ? UpdateKind::unknown : updates_; }

 private:
  void add(const llvm::Use& use) {
    const llvm::User& user = *use.getUser();
    // If the pointer is an operand but not the address, it is stored elsewhere and escapes.
    const bool is_address = use.getOperandNo() == 0;
    if (user.isDroppable() || isa<llvm::ICmpInst>(user)) return;
    if (const UpdateKind kind = noted_update(user); kind != UpdateKind::unknown && is_address) {
      add(kind);
    } else if (isa<llvm::LoadInst>(user)) {
      reads_ = true;
    } else if (const auto* const update = dyn_cast<llvm::AtomicRMWInst>(&user); update != nullptr && is_address) {
      if (reads(*update)) {
        reads_ = true;
      } else {
        add(kind_of(*update));
      }
    } else if (isa<llvm::PHINode, llvm::SelectInst, llvm::FreezeInst>(user) ||
               (isa<llvm::GEPOperator>(user) && is_address && user.getType()->isPointerTy())) {
      follow(user);
    } else {
      other_ = true;
    }
  }

  void add(UpdateKind update) {
    other_ |= update == UpdateKind::unknown || (updates_ != UpdateKind::unknown && updates_ != update);
    updates_ = update;
  }

  /// Whether the update is like atomicAdd(p, 0), which programs use to read a value.
  static bool reads(const llvm::AtomicRMWInst& update) {
    using Operation = llvm::AtomicRMWInst;
    const auto* const by = dyn_cast<llvm::ConstantInt>(update.getValOperand());
    return by != nullptr && by->isZero() &&
           llvm::is_contained({Operation::Add, Operation::Sub, Operation::Or, Operation::Xor}, update.getOperation());
  }
  /// The kind of an update. `unknown` for an exchange, and for any update whose result depends on the order of the threads.
  static UpdateKind kind_of(const llvm::AtomicRMWInst& update) {
    const llvm::Type& type = *update.getValOperand()->getType();
    const bool is_64 = type.isIntegerTy(64);
    switch (update.getOperation()) {
      case llvm::AtomicRMWInst::And: return UpdateKind::bit_and;
      case llvm::AtomicRMWInst::Or: return UpdateKind::bit_or;
      case llvm::AtomicRMWInst::Xor: return UpdateKind::bit_xor;
      case llvm::AtomicRMWInst::FAdd:
      case llvm::AtomicRMWInst::FSub:
        if (type.isHalfTy()) return UpdateKind::add_half;
        if (type.isBFloatTy()) return UpdateKind::add_bfloat16;
        if (type.isFloatTy()) return UpdateKind::add_float;
        return type.isDoubleTy() ? UpdateKind::add_double : UpdateKind::unknown;
      default: break;
    }
    if (!is_64 && !type.isIntegerTy(32)) return UpdateKind::unknown;
    switch (update.getOperation()) {
      case llvm::AtomicRMWInst::Add:
      case llvm::AtomicRMWInst::Sub: return is_64 ? UpdateKind::add_64 : UpdateKind::add_32;
      case llvm::AtomicRMWInst::Min: return is_64 ? UpdateKind::min_64 : UpdateKind::min_32;
      case llvm::AtomicRMWInst::UMin: return is_64 ? UpdateKind::min_unsigned_64 : UpdateKind::min_unsigned_32;
      case llvm::AtomicRMWInst::Max: return is_64 ? UpdateKind::max_64 : UpdateKind::max_32;
      case llvm::AtomicRMWInst::UMax: return is_64 ? UpdateKind::max_unsigned_64 : UpdateKind::max_unsigned_32;
      default: return UpdateKind::unknown;
    }
  }

  llvm::SmallPtrSet<const Value*, 16> followed_;
  UpdateKind updates_ = UpdateKind::unknown;
  bool reads_ = false, other_ = false;
};

class Parameters {
 public:
  explicit Parameters(const llvm::Function& run) : layout_(run.getParent()->getDataLayout()) {
    // The second argument of `run` is an array with the address of each parameter's value.
    find_addresses(*run.getArg(1), 0);
    if (is_unknown_) return;
    std::size_t count = 0;
    for (unsigned i = 0; i < most; ++i) {
      Accesses accesses;
      bool is_known = !addresses_[i].empty();
      for (const Value* address : addresses_[i]) is_known &= find_pointers(*address, accesses);
      const std::uint64_t bit = std::uint64_t{1} << i;
      if (is_known && accesses.only_read()) read |= bit;
      const UpdateKind kind = accesses.only_updates();
      if (!is_known || kind == UpdateKind::unknown || count == sizeof(updates)) continue;
      atomic |= bit;
      updates |= static_cast<std::uint64_t>(kind) << 8 * count++;
    }
  }

  std::uint64_t read = 0, atomic = 0, updates = 0;  // bits and bytes as in host::KernelRecord

 private:
  static constexpr unsigned most = 64;

  void find_addresses(const Value& address, std::uint64_t offset) {
    for (const llvm::User* user : address.users()) {
      if (const auto* const load = dyn_cast<llvm::LoadInst>(user); load != nullptr && load->getType()->isPointerTy()) {
        if (offset / sizeof(void*) < most) addresses_[offset / sizeof(void*)].push_back(load);
        continue;
      }
      const auto* const step = dyn_cast<llvm::GEPOperator>(user);
      llvm::APInt bytes(64, 0);
      if (step == nullptr || !step->accumulateConstantOffset(layout_, bytes)) {
        is_unknown_ = true;
        return;
      }
      find_addresses(*step, offset + bytes.getZExtValue());
    }
  }

  /// Finds the pointers that are stored at `address` and follows them. Returns false if other values may be stored there.
  /// Clang may copy a pointer as an integer.
  static bool find_pointers(const Value& address, Accesses& accesses) {
    return llvm::all_of(address.users(), [&](const llvm::User* user) {
      if (!isa<llvm::LoadInst>(user)) return false;
      if (user->getType()->isPointerTy()) {
        accesses.follow(*user);
        return true;
      }
      return llvm::all_of(user->users(), [&](const llvm::User* pointer) {
        if (!isa<llvm::IntToPtrInst>(pointer)) return false;
        accesses.follow(*pointer);
        return true;
      });
    });
  }

  const llvm::DataLayout& layout_;
  llvm::SmallVector<const Value*, 2> addresses_[most];
  bool is_unknown_ = false;
};

}  // namespace

void mark_updates(llvm::Module& module) {
  for (const auto& [annotation, kind] : {std::pair{"weir.add.half", UpdateKind::add_half},
                                         std::pair{"weir.add.bfloat16", UpdateKind::add_bfloat16}}) {
    const Functions adding = annotated_functions(module, annotation);
    for (llvm::Function& function : module) {
      // The loop is in an instance of a template, which the annotated function calls. So the function with the loop is
      // identified by its callers.
      if (adding.count(&function) == 0 && llvm::none_of(function.users(), [&](const llvm::User* user) {
            const auto* const call = dyn_cast<llvm::CallBase>(user);
            return call != nullptr && adding.count(const_cast<llvm::Function*>(call->getFunction())) != 0;
          }))
        continue;
      llvm::LLVMContext& context = module.getContext();
      llvm::Constant* const number = llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), static_cast<unsigned>(kind));
      for (llvm::Instruction& instruction : llvm::instructions(function)) {
        if (instruction.isAtomic())
          instruction.setMetadata(noted, llvm::MDNode::get(context, llvm::ConstantAsMetadata::get(number)));
      }
    }
  }
}

void record_accesses(llvm::Function& run) {
  const Parameters parameters(run);
  change_record(run, offsetof(host::KernelRecord, constant_kinds),
                [&](std::uint64_t of_types) { return of_types | parameters.read; });
  change_record(run, offsetof(host::KernelRecord, atomic_kinds), [&](std::uint64_t) { return parameters.atomic; });
  change_record(run, offsetof(host::KernelRecord, update_kinds), [&](std::uint64_t) { return parameters.updates; });
}

}  // namespace weir::workgroup
