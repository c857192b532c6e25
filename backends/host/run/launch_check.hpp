// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace weir::host {

class HostKernel;

/// Whether launches are checked, which WEIR_HOST_CHECK=fibers enables: each launch runs twice, on fibers and as it is
/// compiled, and the results are compared. All work then runs on one worker, so that no other work of a stream comes in
/// between. The environment is read once. Throws `invalid_environment`.
bool checks_launches();

/// Registers memory that kernels may write. Does nothing unless launches are checked.
void record_memory(void* memory, std::size_t bytes);
void forget_memory(void* memory) noexcept;

/// Compares the effects of two runs of a launch on all registered memory and on the module's variables. While this object
/// exists, no memory can be registered or removed.
class LaunchCheck {
 public:
  /// Saves the memory before the first run, which runs `reference`. Copies the values of the kernel's variables to the
  /// reference's module. Throws std::bad_alloc.
  LaunchCheck(const HostKernel& kernel, const HostKernel& reference);

  /// Whether the check can be made. It cannot if there is more memory than the limit for comparison.
  bool is_possible() const noexcept { return is_possible_; }
  /// Saves the results of the first run, and restores the memory from before it. Throws std::bad_alloc.
  void begin_second_run();
  /// Describes the first difference between the results of the two runs; empty if there is none. `arguments`: the addresses
  /// of the values of the launch's arguments, by which the description names the memory.
  std::string difference(std::span<const void* const> arguments, std::span<const Parameter> parameters) const;

 private:
  struct Saved {
    std::string variable;  // the variable's name; empty if this is other memory
    std::byte* memory;
    std::size_t size;
    const std::byte* other = nullptr;       // for a variable: its address in the reference's module
    std::unique_ptr<std::byte[]> before{};  // content before the first run
    std::unique_ptr<std::byte[]> after{};   // content after the first run; null if that run changed nothing
    const std::byte* expected() const noexcept { return other != nullptr ? other : after ? after.get() : before.get(); }
  };

  std::unique_lock<std::mutex> lock_;
  std::vector<Saved> saved_;
  bool is_possible_ = true;
};

}  // namespace weir::host
