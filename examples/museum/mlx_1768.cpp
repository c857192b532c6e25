// SPDX-License-Identifier: Apache-2.0
//
// mlx #1768: https://github.com/ml-explore/mlx/pull/1768
//
// Wrong: Streams signal progress by a counter: a wait for step 1 ends when the counter is at least 1. A load on
// another thread signals step 2 when it is done, without waiting for step 1. That ends the wait for step 1, whose
// work is still running.
// Cost: Not reported. "That would have gone unnoticed for long."
// Here: `compute` makes `a` and signals 1; `io` loads and signals 2; `all_sum` waits for 1 and reads `a`.
// Race: Stream::fill writes, then Stream::copy reads
// Shake: 1 of 20 seeds, pct 8; without it 0 of 20 runs
#include <cstdint>

#include "museum.hpp"

namespace {

constexpr std::size_t n = 1 << 16;

void run(weir::Device& device, bool fixed) {
  const auto compute = device.create_stream(), io = device.create_stream(), all_sum = device.create_stream();
  const auto a = device.allocate<int>(n), loaded = device.allocate<int>(n), sum = device.allocate<int>(n);
  const auto events = device.allocate<std::uint32_t>(2);
  std::uint32_t* const event = events.data();
  std::uint32_t* const event_of_load = fixed ? event + 1 : event;  // the fix: a separate event
  compute->fill(a, 0);
  compute->fill(events, 0U);
  compute->synchronize();

  compute->fill(a, 1);
  compute->write_value(event, 1U);
  io->fill(loaded, 3);
  io->write_value(event_of_load, 2U);
  all_sum->wait_value(event, 1U);  // until the counter is at least 1
  all_sum->copy(sum, a);

  device.synchronize();
  museum::expect(all_sum->read(sum), 1, "sum");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
