// SPDX-License-Identifier: Apache-2.0
//
// ROCm/hip #1205: https://github.com/ROCm/hip/issues/1205
//
// Wrong: alpaka runs host code in a queue's order by hipStreamAddCallback, which promises that the stream waits for
// the callback. This HIP ran callbacks on separate threads, and the stream did not wait for them.
// Cost: alpaka's tests failed; its tasks were no longer thread-safe.
// Here: A stream that waits for the queue plays the thread of a callback. The task changes data that the queue has
// copied to the host and will copy back.
// Race: Stream::copy reads, then Buffer::host reads and writes
// Shake: 13 of 20 seeds, pct 11; without it 20 of 20 runs
#include <future>
#include <utility>

#include "museum.hpp"

namespace {

constexpr unsigned n = 4096;

class Queue {
 public:
  explicit Queue(weir::Device& device) : stream_(device.create_stream()), callbacks_(device.create_stream()) {}

  weir::Stream& stream() { return *stream_; }

  void enqueue(weir::HostFunction task, bool fixed) {
    callbacks_->wait(*stream_);
    callbacks_->launch_host_function(std::move(task));
    if (fixed) stream_->wait(*callbacks_);
  }

 private:
  weir::StreamPtr stream_, callbacks_;
};

void run(weir::Device& device, bool fixed) {
  Queue queue(device);
  const auto x = device.allocate<int>(n);
  const auto on_host = device.allocate<int>(n, weir::MemoryKind::pinned);
  std::promise<void> all_enqueued;
  auto add_one = [on_host = on_host.share()] {
    for (int& value : on_host.host()) ++value;
  };

  queue.stream().launch_host_function([&] { all_enqueued.get_future().wait(); });  // keeps the GPU busy in the meantime
  queue.stream().fill(x, 1);
  queue.stream().copy(on_host, x);
  queue.enqueue(std::move(add_one), fixed);
  queue.stream().copy(x, on_host);
  all_enqueued.set_value();
  device.synchronize();
  museum::expect(queue.stream().read(x), 2, "x");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
