// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <setjmp.h>
#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kernels/kernel_abi.hpp"

/// What happens when a kernel's thread cannot go on in the middle of its code: it reads through a null pointer, divides by
/// zero, executes a trap, runs out of stack, or fails an assertion. The launch ends with an error, and the process lives.
namespace weir::host {

/// Why a thread could not go on.
struct KernelCrash {
  enum class Cause : std::uint8_t { address, no_address, alignment, quotient, instruction, stack, assertion };

  Cause cause;
  const void* code = nullptr;       ///< the instruction
  const void* address = nullptr;    ///< `address`, `alignment`: what it accesses
  const char* file = nullptr;       ///< where that is, if it is known without a look at the instruction
  std::uint32_t line = 0;
  const char* condition = nullptr;  ///< `assertion`
  std::optional<std::uint32_t> thread{};  ///< its linear index in the block, if it is known
};

/// The fibers of a thread that runs a kernel.
class FiberOwner {
 public:
  /// Whether the address lies below the stack of the fiber that runs.
  virtual bool overflowed(const void* address) const noexcept = 0;
  /// Gives the fiber up and does not return. Called in a signal's handler, too.
  [[noreturn]] virtual void leave_crashed() noexcept = 0;

 protected:
  ~FiberOwner() = default;
};

/// Blocks of a kernel on the calling thread. The handler of signals acts only while there is one, and only on faults in the
/// module's code or in a function that it calls and that has no frame, such as memcpy: any other might hold a lock.
class KernelSection {
 public:
  /// `code`: of the module. Installs the handlers, once in the process, and gives the thread a stack for them.
  explicit KernelSection(std::span<const std::byte> code);
  ~KernelSection();
  KernelSection(const KernelSection&) = delete;
  KernelSection& operator=(const KernelSection&) = delete;

  /// Of the calling thread, which runs a kernel.
  static KernelSection& current() noexcept;

  /// Runs the blocks, and returns early if one crashes.
  void run(RunBlocks blocks, const BlockRange& range, const void* const* arguments);
  /// What runs the kernel's threads meanwhile; null where they run on the calling thread's own stack.
  void set_fibers(FiberOwner* fibers) noexcept { fibers_ = fibers; }
  std::optional<KernelCrash>& crash() noexcept { return crash_; }
  /// Ends the thread of the kernel.
  [[noreturn]] void leave(const KernelCrash& crash) noexcept;
  /// What the handler has been told of is the kernel's: then it may be left.
  std::optional<KernelCrash> crash_of(const siginfo_t& info, const void* context) const noexcept;

 private:
  bool is_code(const std::byte* address) const noexcept {
    return address >= code_.data() && address < code_.data() + code_.size();
  }

  const std::span<const std::byte> code_;
  FiberOwner* fibers_ = nullptr;
  std::optional<KernelCrash> crash_;
  sigjmp_buf begin_;  // in `run`
};

/// Whether WEIR_HOST_SIGNALS allows the handlers, and no sanitizer's runtime wants the signals itself. Throws
/// `invalid_environment`.
bool handles_signals();

}  // namespace weir::host
