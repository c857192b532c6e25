// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/model/memory_map.hpp"
#include "tools/model/region.hpp"
#include "tools/model/step.hpp"
#include "tools/race/clock.hpp"
#include "weir/access.hpp"
#include "weir/update_kind.hpp"

/// Blocks of memory, and the accesses to them.
namespace weir::race {

using model::Region;
using model::StepPtr;

/// The origin of an access.
enum class Accessor : std::uint8_t {
  work,     ///< an operation of a stream
  watcher,  ///< the host, or a conditional node: like a wait, it may read a value before it is written
  value,    ///< a value that a stream writes: several streams may write it, and each write ends a wait
};

struct Access {
  Region region;
  AccessKind kind = AccessKind::read_write;
  Point point;
  StepPtr step;
  Accessor by = Accessor::work;
  std::shared_ptr<const Clock> clock = {};  ///< events before the access; null if no later check needs them
  StepPtr launch = {};                      ///< for a graph node: the launch
  std::optional<std::uint32_t> node = {};   ///< for a graph node: its index in the graph
  /// Set if a later access replaces this one as soon as the wait `until`, which opened between the two, has ended. `heir`:
  /// the later access's clock.
  std::shared_ptr<const Clock> heir = {};
  std::shared_ptr<ValueWait> until = {};
  UpdateKind update = UpdateKind::unknown;  ///< the update, if the operation does nothing else with the memory
  bool is_any_time = false;                 ///< a copy's source that may be read before the stream's earlier work ends

  bool writes() const noexcept { return kind != AccessKind::read; }
  /// Whether both only update the memory, so that their order does not matter: both are atomic, or both do the same known
  /// update.
  bool commutes_with(const Access& other) const noexcept {
    return (kind == AccessKind::atomic && other.kind == AccessKind::atomic) ||
           (update != UpdateKind::unknown && update == other.update);
  }
  /// Whether this access commutes with each access that `other` commutes with.
  bool commutes_like(const Access& other) const noexcept {
    return (kind == AccessKind::atomic || other.kind != AccessKind::atomic) &&
           (update == other.update || other.update == UpdateKind::unknown);
  }
  const std::string& where() const noexcept { return launch ? launch->where : step->where; }
  bool is_of(std::uint64_t operation) const noexcept {
    return step->operation == operation || (launch && launch->operation == operation);
  }
  bool conflicts_with(const Access& other) const noexcept {
    if (by == Accessor::value ? other.by != Accessor::work : other.by == Accessor::value && by != Accessor::work)
      return false;
    if (commutes_with(other)) return false;
    return (writes() || other.writes()) && !(point == other.point) && region.overlaps(other.region);
  }
};

inline Access make_access(const MemoryAccess& memory, const Point& point, StepPtr step, Accessor by = Accessor::work) {
  return {.region = Region(memory), .kind = memory.kind, .point = point, .step = std::move(step), .by = by,
          .update = memory.update};
}

/// A write of few bytes, which may be values that streams wait for.
struct SmallWrite {
  Region region;
  Point point;
  Clock clock;
  std::vector<std::byte> element;  ///< the element that a fill repeats; empty if the bytes are not known
};

/// An allocation, host memory that was registered, or a variable of a module.
struct Block {
  std::uintptr_t begin = 0, end = 0;
  StepPtr made;
  StepPtr freed = {};  ///< the stream-ordered free; null if there was none
  Point freed_at = {};
  std::vector<Access> accesses = {};
  std::string name = {};      ///< the name that the program gave it
  bool is_of_device = false;  ///< the host cannot write it
  bool is_pageable = false;   ///< memory that a copy uses; tools cannot see when it is freed
  std::vector<SmallWrite> small_writes = {};
};
using Memory = model::MemoryMap<Block>;

/// Adds an access with its clock, and removes the accesses that it replaces. If the block has `most_accesses`, also removes
/// accesses that are complete according to `host`, a clock that happens before all later operations. Returns false if
/// another access had to be removed.
bool add_access(Block& block, Access access, const Clock& clock, const Clock& host);

/// Limit on accesses that are kept for one block.
inline constexpr std::size_t most_accesses = 4096;
/// Limit on small writes that are kept for one block, and the greatest size of a small write.
inline constexpr std::size_t most_small_writes = 4, few_bytes = 4096;

}  // namespace weir::race
