// SPDX-License-Identifier: Apache-2.0
//
// Warp #1792: https://github.com/NVIDIA/warp/issues/1792
//
// Wrong: A matrix keeps the pinned memory and the event of the last copy of its size to the host. A reader of the
// size waits for that event. If the copy was captured, each launch of the graph repeats it, and it depends on the
// driver whether the event then covers the new copy. If it does not, the wait returns at once.
// Cost: 1 failure in 15206 tests, on one device of a CI machine.
// Here: The event is recorded outside the graph, as if the driver did not record it again.
// Race: Stream::copy writes, then Buffer::host reads and writes
// Shake: 20 of 20 seeds, pct 20; without it 20 of 20 runs
#include "museum.hpp"

namespace {

struct Matrix {
  explicit Matrix(weir::Device& device)
      : size(device.allocate<int>(1)),
        on_host(device.allocate<int>(1, weir::MemoryKind::pinned)),
        copied(device.create_event()) {}

  void read_back(weir::Stream& stream) const { stream.copy(on_host, size); }

  /// Returns the size after the work enqueued on `stream`.
  int synchronized_size(weir::Stream& stream, bool fixed) const {
    if (fixed) {
      read_back(stream);  // copy again, after the graph, whether or not the graph has captured a copy
      stream.record(*copied);
    }
    copied->synchronize();
    return on_host.host()[0];
  }

  weir::Buffer<int> size, on_host;
  weir::EventPtr copied;
};

void run(weir::Device& device, bool fixed) {
  const weir::StreamPtr stream = device.create_stream();
  const Matrix matrix(device);
  stream->fill(matrix.size, 0);
  matrix.read_back(*stream);
  stream->record(*matrix.copied);
  stream->synchronize();

  const weir::GraphPtr rebuild = stream->capture([&](weir::Stream& s) {
    s.fill(matrix.size, 12);
    matrix.read_back(s);
  });
  const weir::GraphExecPtr exec = rebuild->instantiate();
  exec->launch(*stream);
  const int size = matrix.synchronized_size(*stream, fixed);
  museum::expect(std::span(&size, 1), 12, "size");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
