// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <setjmp.h>
#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kernels/kernel_abi.hpp"

/// Handles threads of kernels that crash: a thread reads through a null pointer, divides by zero, executes a trap, runs out
/// of stack, or fails an assertion. The launch ends with an error, and the process survives.
namespace weir::host {

/// Why and where a thread crashed.
struct KernelCrash {
  enum class Cause : std::uint8_t { address, no_address, alignment, quotient, instruction, stack, assertion };

  Cause cause;
  const void* code = nullptr;       ///< address of the instruction
  const void* address = nullptr;    ///< for `address` and `alignment`: the address that was accessed
  const char* file = nullptr;       ///< source location, if it is known without the instruction's address
  std::uint32_t line = 0;
  const char* condition = nullptr;  ///< for `assertion`: the text of the condition
  std::optional<std::uint32_t> thread{};  ///< linear index of the thread in its block, if known
};

/// An interface to the fibers of a worker that runs a kernel.
class FiberOwner {
 public:
  /// Whether the address is below the stack of the running fiber.
  virtual bool overflowed(const void* address) const noexcept = 0;
  /// Abandons the running fiber and does not return. A signal handler may call it.
  [[noreturn]] virtual void leave_crashed() noexcept = 0;

 protected:
  ~FiberOwner() = default;
};

/// Scope in which the calling thread runs blocks of a kernel. The signal handler acts only within this scope. It acts only
/// on faults in the module's code, or in a function without a stack frame that this code calls, such as memcpy: any other
/// function might hold a lock.
class KernelSection {
 public:
  /// `code`: the machine code of the kernel's module. Installs the signal handlers, once in the process, and gives the
  /// calling thread an alternate signal stack.
  explicit KernelSection(std::span<const std::byte> code);
  ~KernelSection();
  KernelSection(const KernelSection&) = delete;
  KernelSection& operator=(const KernelSection&) = delete;

  /// The section of the calling thread, which must be running a kernel.
  static KernelSection& current() noexcept;

  /// Runs the blocks. Returns early if a thread crashes.
  void run(RunBlocks blocks, const BlockRange& range, const void* const* arguments);
  /// Sets the owner of the fibers on which the kernel's threads run; null if they run on the calling thread's own stack.
  void set_fibers(FiberOwner* fibers) noexcept { fibers_ = fibers; }
  std::optional<KernelCrash>& crash() noexcept { return crash_; }
  /// Ends the crashed thread of the kernel and continues after the launch.
  [[noreturn]] void leave(const KernelCrash& crash) noexcept;
  /// Returns the crash that a signal reports. Empty if the fault is not the kernel's, so that the handler must not continue.
  std::optional<KernelCrash> crash_of(const siginfo_t& info, const void* context) const noexcept;

 private:
  bool is_code(const std::byte* address) const noexcept {
    return address >= code_.data() && address < code_.data() + code_.size();
  }

  const std::span<const std::byte> code_;
  FiberOwner* fibers_ = nullptr;
  std::optional<KernelCrash> crash_;
  sigjmp_buf begin_;  // state saved in `run`, to which `leave` jumps
};

/// Whether signal handlers are installed: WEIR_HOST_SIGNALS allows them, and no sanitizer's runtime needs these signals.
/// Throws `invalid_environment`.
bool handles_signals();

}  // namespace weir::host
