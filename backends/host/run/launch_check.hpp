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

/// Whether each launch runs twice, on fibers and as it is compiled, and what both write is compared: WEIR_HOST_CHECK=fibers.
/// Then one worker runs all work, so that no other work of a stream comes in between. The
/// environment is read once. Throws `invalid_environment`.
bool checks_launches();

/// Memory that kernels may write. Noted if launches are checked.
void record_memory(void* memory, std::size_t bytes);
void forget_memory(void* memory) noexcept;

/// What a launch does to all noted memory and to the variables of its module. Held while both runs are made; meanwhile no
/// memory is noted or forgotten.
class LaunchCheck {
 public:
  /// Keeps what is there before the first run, that of `reference`, whose module gets the values of the kernel's. Throws
  /// std::bad_alloc.
  LaunchCheck(const HostKernel& kernel, const HostKernel& reference);

  /// False: there is more memory than is compared.
  bool is_possible() const noexcept { return is_possible_; }
  /// Keeps what the first run wrote, and restores what was there before it. Throws std::bad_alloc.
  void begin_second_run();
  /// The first thing that the second run left otherwise than the first; empty if there is none. `arguments`: the address of
  /// each argument's value, by which the memory is named.
  std::string difference(std::span<const void* const> arguments, std::span<const std::size_t> sizes) const;

 private:
  struct Saved {
    std::string variable;  // its name, or empty
    std::byte* memory;
    std::size_t size;
    const std::byte* other = nullptr;       // of a variable: where the reference has it
    std::unique_ptr<std::byte[]> before{};  // the first run
    std::unique_ptr<std::byte[]> after{};   // the first run, if it changed anything
    const std::byte* expected() const noexcept { return other != nullptr ? other : after ? after.get() : before.get(); }
  };

  std::unique_lock<std::mutex> lock_;
  std::vector<Saved> saved_;
  bool is_possible_ = true;
};

}  // namespace weir::host
