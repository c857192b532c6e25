// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

/// A map from addresses to the memory blocks that tools have seen.
namespace weir::model {

inline std::uintptr_t number_of(const void* address) noexcept { return reinterpret_cast<std::uintptr_t>(address); }

/// The memory blocks known to Weir, by address. A block has a `begin` and an `end`; blocks do not overlap.
template <class Block>
class MemoryMap {
 public:
  /// Adds a block. First removes the blocks that overlap it, because they must have ended without a report.
  Block& add(Block block) {
    auto next = blocks_.lower_bound(block.begin);
    if (next != blocks_.begin() && std::prev(next)->second.end > block.begin) --next;
    while (next != blocks_.end() && next->first < block.end) next = blocks_.erase(next);
    return blocks_[block.begin] = std::move(block);
  }
  /// Removes and returns the block that begins at the address.
  std::optional<Block> remove(std::uintptr_t begin) {
    auto taken = blocks_.extract(begin);
    return taken.empty() ? std::nullopt : std::optional<Block>(std::move(taken.mapped()));
  }
  /// Returns the block that contains the byte at the address, or null.
  const Block* find(std::uintptr_t address) const {
    const Block* const before = last_before(address);
    return before != nullptr && address < before->end ? before : nullptr;
  }
  Block* find(std::uintptr_t address) { return const_cast<Block*>(std::as_const(*this).find(address)); }
  /// Returns the last block that begins at or before the address, or null.
  const Block* last_before(std::uintptr_t address) const {
    const auto next = blocks_.upper_bound(address);
    return next != blocks_.begin() ? &std::prev(next)->second : nullptr;
  }
  Block* last_before(std::uintptr_t address) { return const_cast<Block*>(std::as_const(*this).last_before(address)); }
  /// Returns the first block that begins after the address, or null.
  const Block* first_behind(std::uintptr_t address) const {
    const auto next = blocks_.upper_bound(address);
    return next != blocks_.end() ? &next->second : nullptr;
  }
  /// Calls `function(block)` for each block, in the order of addresses.
  template <class F>
  void for_each(F&& function) const {
    for (const auto& [begin, block] : blocks_) function(block);
  }

 private:
  std::map<std::uintptr_t, Block> blocks_;
};

}  // namespace weir::model
