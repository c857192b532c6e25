// SPDX-License-Identifier: Apache-2.0
#include "kernels/workgroup/accesses.hpp"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include <cstddef>
#include <cstdint>

#include "backends/host/run/kernel_abi.hpp"
#include "kernels/workgroup/builtins.hpp"
#include "kernels/workgroup/llvm_names.hpp"
#include "kernels/workgroup/record.hpp"

namespace weir::workgroup {
namespace {

/// What is done through a pointer, and those that are made of it.
class Accesses {
 public:
  void follow(const Value& pointer) {
    if (!followed_.insert(&pointer).second) return;
    for (const llvm::Use& use : pointer.uses()) add(use);
  }
  bool only_read() const { return (reads_ || reads_atomically_) && !updates_ && !other_; }
  /// Loads in between are those of loops that compare and swap.
  bool only_atomic() const { return updates_ && !reads_ && !other_; }

 private:
  void add(const llvm::Use& use) {
    const llvm::User& user = *use.getUser();
    const bool is_address = use.getOperandNo() == 0;  // of what is told apart here
    if (user.isDroppable() || isa<llvm::ICmpInst>(user)) return;
    if (const auto* const load = dyn_cast<llvm::LoadInst>(&user)) {
      (load->isAtomic() ? reads_atomically_ : reads_) = true;
    } else if (const auto* const update = dyn_cast<llvm::AtomicRMWInst>(&user)) {
      (!is_address ? other_ : reads(*update) ? reads_ : updates(*update) ? updates_ : other_) = true;
    } else if (isa<llvm::AtomicCmpXchgInst>(user)) {
      (is_address ? updates_ : other_) = true;
    } else if (isa<llvm::PHINode, llvm::SelectInst, llvm::FreezeInst>(user) ||
               (isa<llvm::GEPOperator>(user) && is_address && user.getType()->isPointerTy())) {
      follow(user);
    } else {
      other_ = true;
    }
  }

  static bool is_by_zero(const llvm::AtomicRMWInst& update) {
    const auto* const by = dyn_cast<llvm::ConstantInt>(update.getValOperand());
    return by != nullptr && by->isZero();
  }
  /// As atomicAdd(p, 0), by which programs read.
  static bool reads(const llvm::AtomicRMWInst& update) {
    using Operation = llvm::AtomicRMWInst;
    return is_by_zero(update) &&
           llvm::is_contained({Operation::Add, Operation::Sub, Operation::Or, Operation::Xor}, update.getOperation());
  }
  /// An exchange, or atomicAnd(p, 0), overwrites what others have written.
  static bool updates(const llvm::AtomicRMWInst& update) {
    return update.getOperation() != llvm::AtomicRMWInst::Xchg && !is_by_zero(update);
  }

  llvm::SmallPtrSet<const Value*, 16> followed_;
  bool reads_ = false, reads_atomically_ = false, updates_ = false, other_ = false;
};

class Parameters {
 public:
  explicit Parameters(const llvm::Function& run) : layout_(run.getParent()->getDataLayout()) {
    // The second argument has the address of each parameter's value.
    find_addresses(*run.getArg(1), 0);
    if (is_unknown_) return;
    for (unsigned i = 0; i < most; ++i) {
      Accesses accesses;
      bool is_known = !addresses_[i].empty();
      for (const Value* address : addresses_[i]) is_known &= find_pointers(*address, accesses);
      const std::uint64_t bit = std::uint64_t{1} << i;
      if (is_known && accesses.only_read()) read |= bit;
      if (is_known && accesses.only_atomic()) atomic |= bit;
    }
  }

  std::uint64_t read = 0, atomic = 0;

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

  /// Follows the pointer that is there. False if there may be something else. Clang copies it as a number.
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

void note_accesses(llvm::Function& run) {
  if (!runs_blocks(run)) return;
  const Parameters parameters(run);
  change_record(run, offsetof(host::KernelRecord, constant_kinds),
                [&](std::uint64_t of_types) { return of_types | parameters.read; });
  change_record(run, offsetof(host::KernelRecord, atomic_kinds), [&](std::uint64_t) { return parameters.atomic; });
}

}  // namespace weir::workgroup
