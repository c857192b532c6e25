// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backends/host/engine/scheduler.hpp"
#include "backends/host/run/step_time.hpp"
#include "weir/ptr.hpp"

/// Loops that workers share without waiting for each other: the thread that finishes the last piece continues.
namespace weir::host {

/// Work in pieces that may run in any order and concurrently. Must live until the loop is done.
class Divisible {
 public:
  virtual void do_range(std::uint64_t first, std::uint64_t last) noexcept = 0;

 protected:
  virtual ~Divisible() = default;
};

/// Runs `[0, count)` in pieces of about `piece`, on this thread, which must be a worker, and on other free workers. Returns
/// true if all is done; false if other threads still run pieces, the last of which resumes `continuation`. `step_time`:
/// measured on similar loops, or null. `most_workers`: how many may take part.
bool run_parallel(Divisible& work, std::uint64_t count, std::uint64_t piece, Level level, Continuation& continuation,
                  StepTime* step_time = nullptr, std::uint32_t most_workers = all_workers) noexcept;

}  // namespace weir::host
