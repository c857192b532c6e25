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

namespace weir::race {

MemoryAccess memory_of(const MemoryOperation& operation) noexcept;

/// Values that streams write and wait for, by their addresses: those of all streams that run, or those of one capture.
class Values {
 public:
  /// `point` and `clock`: of the operation. A wait joins the clock of the write that ends it into `clock`. Returns false for
  /// a wait if that write is not known.
  bool operate(const MemoryOperation& operation, const Point& point, Clock& clock, Report& report);
  /// Something else overwrites the values there: a fill by `write.element`, or what writes other values, which are not
  /// known. `is_of_device`: nothing else can have written.
  void overwrite(const SmallWrite& write, bool is_of_device, Report& report);
  /// Whether something has written or waited for a value there.
  bool has(const void* address) const { return values_.contains(address); }
  /// From here on `overwrite` notes what is written there.
  void add(const void* address) { values_.try_emplace(address); }
  /// Whether such a wait is open still.
  bool is_open(const MemoryOperation& wait) const;

 private:
  struct Write {
    std::uint64_t value = 0;
    Point point;
    Clock clock;
  };
  /// What one lane has written to one address.
  struct Writes {
    std::deque<Write> list;
    bool has_forgotten = false;  ///< there were more than are kept: the first are not known
  };
  struct Waiter {
    MemoryOperation wait{};
    Point point;
    std::shared_ptr<ValueWait> result;
    Point ended_by{};  ///< the first write that may have ended it
  };
  struct Value {
    std::map<std::uint32_t, Writes> writes;  // of each lane
    std::vector<Waiter> waiters;
    std::unique_ptr<Clock> unknown;      // what comes before the writes of values that are not known
    std::shared_ptr<ValueWait> endless;  // where there were more waits than are kept: no write ends the later ones
  };

  void write(const MemoryOperation& operation, const Point& point, const Clock& clock, Report& report);
  bool wait(const MemoryOperation& operation, const Point& point, Clock& clock, Report& report);
  static std::vector<const Write*> ends_of(const MemoryOperation& operation, Value& value, const Clock& clock,
                                           Report& report);

  std::map<const void*, Value> values_;
};

}  // namespace weir::race
