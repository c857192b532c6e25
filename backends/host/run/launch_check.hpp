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

/// Whether each launch runs twice, on fibers and as it is compiled, and the results are compared: WEIR_HOST_CHECK=fibers.
/// One worker then runs all work, so that no other work of a stream comes in between. The environment is read once. Throws
/// `invalid_environment`.
bool checks_launches();

/// Registers memory that kernels may write, if launches are checked.
void record_memory(void* memory, std::size_t bytes);
void forget_memory(void* memory) noexcept;

/// The effect of a launch on all registered memory and on its module's variables. Exists during both runs; meanwhile no
/// memory can be registered or removed.
class LaunchCheck {
 public:
  /// Saves the memory before the first run, that of `reference`, whose module gets the values of the kernel's variables.
  /// Throws std::bad_alloc.
  LaunchCheck(const HostKernel& kernel, const HostKernel& reference);

  /// False if there is more memory than the limit for comparison.
  bool is_possible() const noexcept { return is_possible_; }
  /// Saves the results of the first run, and restores the memory. Throws std::bad_alloc.
  void begin_second_run();
  /// Describes the first difference between the two runs' results; empty if there is none. `arguments`: the addresses of the
  /// arguments' values, for naming the memory.
  std::string difference(std::span<const void* const> arguments, std::span<const Parameter> parameters) const;

 private:
  struct Saved {
    std::string variable;  // its name, or empty
    std::byte* memory;
    std::size_t size;
    const std::byte* other = nullptr;       // for a variable: its address in the reference
    std::unique_ptr<std::byte[]> before{};  // before the first run
    std::unique_ptr<std::byte[]> after{};   // after the first run, if it changed anything
    const std::byte* expected() const noexcept { return other != nullptr ? other : after ? after.get() : before.get(); }
  };

  std::unique_lock<std::mutex> lock_;
  std::vector<Saved> saved_;
  bool is_possible_ = true;
};

}  // namespace weir::host
