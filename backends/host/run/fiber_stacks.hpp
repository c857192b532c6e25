// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/host/run/fiber_switch.hpp"

/// Stacks for the threads of a block that wait.
namespace weir::host {

/// The size of a stack: as much as CUDA's limit of local memory for a thread. Only pages that a thread has touched occupy
/// memory.
inline constexpr std::size_t fiber_stack_bytes = std::size_t{512} << 10U;

/// Stacks for the threads of one block, each above a guard page. Used by one thread at a time.
class FiberStacks {
 public:
  /// Throws std::bad_alloc if the address space is used up, or if guard pages would use more than half of the memory maps
  /// that the process may have.
  explicit FiberStacks(std::uint32_t capacity);
  ~FiberStacks();
  FiberStacks(const FiberStacks&) = delete;
  FiberStacks& operator=(const FiberStacks&) = delete;

  std::uint32_t capacity() const noexcept { return capacity_; }
  /// Returns an unused stack that is prepared to call `entry`. At most `capacity` stacks may be in use.
  FiberContext& take(void (*entry)()) noexcept;
  void give_back(FiberContext& stack) noexcept { free_.push_back(&stack); }
  /// Makes all stacks unused. Must also be called before the first `take`.
  void give_all_back() noexcept;
  /// Whether the address is in the guard page of `stack`.
  static bool overflows(const FiberContext& stack, const void* address) noexcept;

 private:
  bool make_guards(std::size_t most_maps) noexcept;

  std::uint32_t capacity_;
  std::vector<FiberContext> contexts_;
  std::vector<FiberContext*> free_;
  std::byte* memory_;
  std::size_t maps_ = 0;  // memory maps that the guard pages use
};

/// The process's pool of FiberStacks. A worker borrows an object while it runs blocks.
class FiberStackPool {
 public:
  static FiberStackPool& instance();

  /// Returns stacks for at least `fibers` threads. If the system has no more and `may_wait`, waits until another worker
  /// returns some. Throws std::bad_alloc if waiting cannot help.
  std::unique_ptr<FiberStacks> borrow(std::uint32_t fibers, bool may_wait);
  void give_back(std::unique_ptr<FiberStacks> stacks) noexcept;

 private:
  FiberStackPool() = default;
  std::unique_ptr<FiberStacks> find(std::uint32_t fibers);

  std::mutex mutex_;
  std::condition_variable given_back_;
  std::vector<std::unique_ptr<FiberStacks>> idle_;
  std::size_t borrowed_ = 0;
};

}  // namespace weir::host
