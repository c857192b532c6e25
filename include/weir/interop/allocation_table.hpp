// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <unordered_map>
#include <utility>

#include "weir/memory.hpp"

/// `AllocationTable`: finds the owner of memory by its address, for the memory resources in this folder, which free by
/// address.
namespace weir::detail {

/// Owners of allocations, by their addresses. Any thread.
class AllocationTable {
 public:
  /// Stores `allocation` and returns its address.
  void* keep(AllocationPtr allocation) {
    void* const data = allocation->data();
    const std::lock_guard lock(mutex_);
    allocations_.emplace(data, std::move(allocation));
    return data;
  }
  /// Removes and returns the owner of the memory at that address; null if it is not in the table.
  AllocationPtr take(void* data) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = allocations_.find(data);
    if (found == allocations_.end()) return {};
    AllocationPtr allocation = std::move(found->second);
    allocations_.erase(found);
    return allocation;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<void*, AllocationPtr> allocations_;
};

}  // namespace weir::detail
