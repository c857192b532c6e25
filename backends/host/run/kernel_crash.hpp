// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <setjmp.h>
#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kernels/kernel_abi.hpp"

/// Handles a kernel's thread that crashes in the middle of its code: it reads through a null pointer, divides by zero,
/// executes a trap, runs out of stack, or fails an assertion. The launch ends with an error, and the process survives.
namespace weir::host {

/// Why a thread crashed.
struct KernelCrash {
  enum class Cause : std::uint8_t { address, no_address, alignment, quotient, instruction, stack, assertion };

  Cause cause;
  const void* code = nullptr;       ///< the instruction
  const void* address = nullptr;    ///< `address`, `alignment`: the accessed address
  const char* file = nullptr;       ///< its place, if known without the instruction
  std::uint32_t line = 0;
  const char* condition = nullptr;  ///< `assertion`
  std::optional<std::uint32_t> thread{};  ///< its linear index in the block, if known
};

/// The fibers of a thread that runs a kernel.
class FiberOwner {
 public:
  /// Whether the address is below the stack of the running fiber.
  virtual bool overflowed(const void* address) const noexcept = 0;
  /// Abandons the fiber and does not return. May be called in a signal handler.
  [[noreturn]] virtual void leave_crashed() noexcept = 0;

 protected:
  ~FiberOwner() = default;
};

/// Scope in which the calling thread runs blocks of a kernel. The signal handler acts only in this scope, and only on faults
/// in the module's code or in a frameless function that it calls, such as memcpy: any other function might hold a lock.
class KernelSection {
 public:
  /// `code`: the module's. Installs the handlers, once in the process, and gives the thread a signal stack.
  explicit KernelSection(std::span<const std::byte> code);
  ~KernelSection();
  KernelSection(const KernelSection&) = delete;
  KernelSection& operator=(const KernelSection&) = delete;

  /// The calling thread's section; the thread must be running a kernel.
  static KernelSection& current() noexcept;

  /// Runs the blocks, and returns early if one crashes.
  void run(RunBlocks blocks, const BlockRange& range, const void* const* arguments);
  /// Sets the owner of the fibers that run the kernel's threads; null if they run on the calling thread's own stack.
  void set_fibers(FiberOwner* fibers) noexcept { fibers_ = fibers; }
  std::optional<KernelCrash>& crash() noexcept { return crash_; }
  /// Ends the thread of the kernel.
  [[noreturn]] void leave(const KernelCrash& crash) noexcept;
  /// The crash reported by a signal, if the kernel caused it and so the handler may leave.
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

/// Whether WEIR_HOST_SIGNALS allows the handlers, and no sanitizer's runtime needs the signals. Throws
/// `invalid_environment`.
bool handles_signals();

}  // namespace weir::host
