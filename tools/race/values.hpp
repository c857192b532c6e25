// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "tools/race/clock.hpp"
#include "tools/race/memory.hpp"
#include "tools/race/report.hpp"
#include "weir/stream_memory.hpp"

/// The order that values in memory impose: streams write values and wait for them.
namespace weir::race {

/// Values that streams write and wait for, by address: those of all running streams, or those of one capture.
class Values {
 public:
  /// Adds a write of a value, or a wait for one, with its point and clock. A wait joins the clock of the write that ends it
  /// into `clock`. Returns false for a wait if that write is not known.
  bool operate(const MemoryOperation& operation, const Point& point, Clock& clock, Report& report);
  /// Records that other work overwrites values: a fill with `write.element`, or an operation that writes unknown values.
  /// `is_of_device`: the host cannot have written them.
  void overwrite(const SmallWrite& write, bool is_of_device, Report& report);
  /// Whether a stream has written or awaited a value at the address.
  bool has(const void* address) const { return values_.contains(address); }
  /// From now on, `overwrite` records writes to the address.
  void add(const void* address) { values_.try_emplace(address); }
  /// Whether the wait is still open.
  bool is_open(const MemoryOperation& wait) const;

 private:
  struct Write {
    std::uint64_t value = 0;
    Point point;
    Clock clock;
  };
  /// The writes of one lane to one address.
  struct Writes {
    std::deque<Write> list;
    bool has_forgotten = false;  ///< the oldest writes were dropped
  };
  struct Waiter {
    MemoryOperation wait{};
    Point point;
    std::shared_ptr<ValueWait> result;
    Point ended_by{};  ///< the first write that may have ended the wait
  };
  struct Value {
    std::map<std::uint32_t, Writes> writes;  // by lane
    std::vector<Waiter> waiters;
    std::unique_ptr<Clock> unknown;      // the joined clocks of the operations that wrote unknown values
    std::shared_ptr<ValueWait> endless;  // shared by the waits beyond the limit; no write ends it
  };

  void write(const MemoryOperation& operation, const Point& point, const Clock& clock, Report& report);
  bool wait(const MemoryOperation& operation, const Point& point, Clock& clock, Report& report);
  static std::vector<const Write*> ends_of(const MemoryOperation& operation, Value& value, const Clock& clock,
                                           Report& report);

  std::map<const void*, Value> values_;
};

}  // namespace weir::race
