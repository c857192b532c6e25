// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/host/run/fiber_switch.hpp"

/// The stacks on which threads of a block wait.
namespace weir::host {

/// As much as CUDA gives a thread of local memory. Only what is touched takes memory.
inline constexpr std::size_t fiber_stack_bytes = std::size_t{512} << 10U;

/// Stacks for one block, each above a guard page. For one thread at a time.
class FiberStacks {
 public:
  /// Throws std::bad_alloc if the system has no more addresses, or guard pages would take more than half of the maps that a
  /// process may have.
  explicit FiberStacks(std::uint32_t capacity);
  ~FiberStacks();
  FiberStacks(const FiberStacks&) = delete;
  FiberStacks& operator=(const FiberStacks&) = delete;

  std::uint32_t capacity() const noexcept { return capacity_; }
  /// A stack that nobody uses, prepared to call `entry`. There are `capacity` of them.
  FiberContext& take(void (*entry)()) noexcept;
  void give_back(FiberContext& stack) noexcept { free_.push_back(&stack); }
  /// What comes before the first `take`, too.
  void give_all_back() noexcept;
  /// Whether the address is in the guard page of `stack`.
  static bool overflows(const FiberContext& stack, const void* address) noexcept;

 private:
  bool make_guards(std::size_t most_maps) noexcept;

  std::uint32_t capacity_;
  std::vector<FiberContext> contexts_;
  std::vector<FiberContext*> free_;
  std::byte* memory_;
  std::size_t maps_ = 0;  // that its guard pages take
};

/// The process's FiberStacks. A worker borrows some while it runs blocks.
class FiberStackPool {
 public:
  static FiberStackPool& instance();

  /// With room for `fibers`. If there are no more it waits until another worker gives some back, if `may_wait`. Throws
  /// std::bad_alloc if that cannot help.
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
