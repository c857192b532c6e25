// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backends/host/engine/scheduler.hpp"
#include "backends/host/run/step_time.hpp"
#include "weir/ptr.hpp"

/// Loops that workers share without waiting for each other: the thread that finishes the last piece continues.
namespace weir::host {

/// Work in pieces that may run in any order and at once. Lives until the loop is done.
class Divisible {
 public:
  virtual void do_range(std::uint64_t first, std::uint64_t last) noexcept = 0;

 protected:
  virtual ~Divisible() = default;
};

/// Runs `[0, count)` in pieces of about `piece`, on this thread, which must be a worker, and on others that are free. True
/// if all is done. False if other threads are still running pieces; the last of them resumes `continuation`. `step_time`: of
/// loops like this one, or null. `most_workers`: how many may take part.
bool run_parallel(Divisible& work, std::uint64_t count, std::uint64_t piece, Level level, Continuation& continuation,
                  StepTime* step_time = nullptr, std::uint32_t most_workers = all_workers) noexcept;

}  // namespace weir::host
