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

/// The accesses of work that runs: judges each against those before it, and reports the races.
class Accesses {
 public:
  Accesses(Report& report, Streams& streams) : report_(report), streams_(streams) {}

  Memory& memory() noexcept { return memory_; }

  /// A copy uses memory that Weir does not know, but for the range. It is watched until the host knows the copy to be done.
  void add_pageable(const Region& region);
  /// Adds an access with its clock. `element`: what a fill repeats.
  void touch(Access access, const Clock& clock, bool is_free = false, std::span<const std::byte> element = {});
  /// A write of a value, or a wait for one, whose clock it joins.
  void operate(const MemoryOperation& operation, const Point& point, Clock& clock);
  /// Judges an access that ends the block, as a free does, and does not keep it. Work of the device `awaited` is over.
  void judge_end(const Block& block, const Access& access, std::string_view awaited);
  /// Forgets the accesses of an operation that was not made.
  void withdraw(std::uint64_t operation, std::uintptr_t address);
  /// Judges the pairs whose waits are over. At exit the others are dropped: where a wait stayed open, the host or a
  /// kernel ended it, in an order that is not known here.
  void settle(bool is_exit);

 private:
  /// Two accesses whose order depends on a wait that is open.
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
  std::vector<std::uintptr_t> pageable_;  // where such blocks began
  std::size_t next_sweep_ = 256;
};

}  // namespace weir::race
