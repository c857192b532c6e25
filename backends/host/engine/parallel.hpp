// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backends/host/engine/scheduler.hpp"
#include "backends/host/run/step_time.hpp"
#include "weir/ptr.hpp"

/// Loops whose pieces several workers run together. No worker waits for another: the thread that finishes the last piece
/// continues the stream.
namespace weir::host {

/// Work that consists of pieces, which may run in any order and concurrently. It must live until the loop is done.
class Divisible {
 public:
  virtual void do_range(std::uint64_t first, std::uint64_t last) noexcept = 0;

 protected:
  virtual ~Divisible() = default;
};

/// Runs the steps `[0, count)` of `work` in pieces of about `piece` steps, on this thread, which must be a worker, and on
/// other free workers. Returns true if all steps are done. Returns false if other threads are still running pieces; the last
/// of them then resumes `continuation`. `step_time`: measurements from similar loops, or null. `most_workers`: how many
/// workers may take part.
bool run_parallel(Divisible& work, std::uint64_t count, std::uint64_t piece, Level level, Continuation& continuation,
                  StepTime* step_time = nullptr, std::uint32_t most_workers = all_workers) noexcept;

}  // namespace weir::host
