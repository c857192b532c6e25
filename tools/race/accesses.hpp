// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tools/race/memory.hpp"
#include "tools/race/report.hpp"
#include "tools/race/streams.hpp"
#include "tools/race/values.hpp"

namespace weir::race {

/// Compares each access of running work with the earlier ones and reports races.
class Accesses {
 public:
  Accesses(Report& report, Streams& streams) : report_(report), streams_(streams) {}

  Memory& memory() noexcept { return memory_; }

  /// Adds the range of pageable memory that a copy uses. It is watched until the host has waited for the copy.
  void add_pageable(const Region& region);
  /// Adds an access with its clock. `element`: the element that a fill repeats.
  void touch(Access access, const Clock& clock, bool is_free = false, std::span<const std::byte> element = {});
  /// Adds a write of a value, or a wait for one; a wait joins the clock of the write into `clock`.
  void operate(const MemoryOperation& operation, const Point& point, Clock& clock);
  /// Checks an access that ends the block, such as a free, without keeping it. Work of the device `awaited` is complete.
  void judge_end(const Block& block, const Access& access, std::string_view awaited);
  /// Removes the accesses of an operation that was refused.
  void withdraw(std::uint64_t operation, std::uintptr_t address);
  /// Checks the pairs whose waits have ended. At exit the other pairs are dropped, because the host or a kernel ended their
  /// waits in an order that is not known here.
  void settle(bool is_exit);

 private:
  /// Two accesses whose order depends on an open wait.
  struct UndecidedPair {
    Access first, second;
    Clock first_clock, second_clock;
    Block block;
  };

  void record_values(Block* block, const Access& access, const Clock& clock, std::span<const std::byte> element);
  void judge(const Access& first, const Access& second, const Clock& clock, const Block& block);
  void add_race(const Access& first, const Access& second, const Block& block);

  Report& report_;
  Streams& streams_;
  Memory memory_;
  Values values_;
  std::vector<UndecidedPair> undecided_;
  std::vector<std::uintptr_t> pageable_;  // the begins of pageable blocks
  std::size_t next_sweep_ = 256;
};

}  // namespace weir::race
