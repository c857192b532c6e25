// SPDX-License-Identifier: Apache-2.0
//
// IREE #23575: https://github.com/iree-org/iree/issues/23575
//
// Wrong: A runtime submits work on its user's stream, and wakes the user's thread before it has recorded the event
// that the user waits for. An event that was never recorded counts as complete.
// Cost: In about 1 run of 100, on loaded CI machines, users read zeros or values of a former run.
// Here: One thread has both roles. The user continues as soon as it is woken, which is the order that fails.
// Race: Stream::copy writes, then Buffer::host reads and writes
// Shake: 20 of 20 seeds, pct 20; without it 20 of 20 runs
#include <functional>

#include "museum.hpp"

namespace {

constexpr unsigned n = 4096;

/// Submits the runtime's work; `done` must mark its end. Calls `wake_user` when the user may wait for it.
void submit(weir::Stream& stream, const weir::Buffer<int>& output, weir::Event& done, bool fixed,
            const std::function<void()>& wake_user) {
  const auto values = stream.allocate_async<int>(n);
  stream.fill(values, 1);
  stream.copy(output, values);
  if (fixed) stream.record(done);
  wake_user();
  if (!fixed) stream.record(done);
}

void run(weir::Device& device, bool fixed) {
  const weir::StreamPtr external = device.create_stream();
  const weir::EventPtr done = device.create_event();
  const auto output = device.allocate<int>(n, weir::MemoryKind::pinned);
  for (int& value : output.host()) value = 0;

  submit(*external, output, *done, fixed, [&] {
    done->synchronize();
    museum::expect(output.host(), 1, "output");
  });
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
