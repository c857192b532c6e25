// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "backends/host/scheduler.hpp"
#include "weir/ptr.hpp"

/// Loops shared out among the workers without anybody waiting for anybody: whoever finishes the last piece goes on.
namespace weir::host {

/// Work that can be done in pieces, in any order and at once. Lives until the loop is done.
class Divisible {
 public:
  virtual void do_range(std::uint64_t first, std::uint64_t last) noexcept = 0;

 protected:
  virtual ~Divisible() = default;
};

/// Does `[0, count)` in pieces of about `piece`, on this thread (which must be a worker) and on others that are free.
/// Returns true if all is done; false if others are still at it, and then `continuation` is resumed by the last of them.
bool run_parallel(Divisible& work, std::uint64_t count, std::uint64_t piece, Level level, Continuation& continuation) noexcept;

}  // namespace weir::host
