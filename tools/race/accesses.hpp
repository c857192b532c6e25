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

/// Accesses to memory, and the check for races among them.
namespace weir::race {

/// Compares each access of running work with the earlier ones and reports races.
class Accesses {
 public:
  Accesses(Report& report, Streams& streams) : report_(report), streams_(streams) {}

  Memory& memory() noexcept { return memory_; }

  /// Adds the range of pageable memory that a copy uses. The range is checked until the host has waited for the copy.
  void add_pageable(const Region& region);
  /// Checks an access against earlier ones and adds it. `clock`: the events before it. `element`: the element that a fill
  /// repeats.
  void touch(Access access, const Clock& clock, bool is_free = false, std::span<const std::byte> element = {});
  /// Adds a write of a value, or a wait for one. A wait joins the clock of the write that ends it into `clock`.
  void operate(const MemoryOperation& operation, const Point& point, Clock& clock);
  /// Checks an access that ends the block, such as a free, but does not keep it. `awaited`: the device whose work is
  /// complete then.
  void judge_end(const Block& block, const Access& access, std::string_view awaited);
  /// Removes the accesses of an operation that was refused.
  void withdraw(std::uint64_t operation, std::uintptr_t address);
  /// Checks the undecided pairs whose waits have ended. At exit the other pairs are dropped: the host or a kernel ended
  /// their waits, and their order is not known.
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
  std::vector<std::uintptr_t> pageable_;  // start addresses of pageable blocks
  std::size_t next_sweep_ = 256;
};

}  // namespace weir::race
