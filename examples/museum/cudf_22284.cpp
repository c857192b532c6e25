// SPDX-License-Identifier: Apache-2.0
//
// cudf #22284: https://github.com/NVIDIA/cudf/issues/22284
//
// Wrong: A function stages its arguments in a local buffer, enqueues a copy of it and returns. When the buffer
// became pinned memory from a pool, to be faster, the copy became asynchronous: the buffer returned to the pool and
// was overwritten before it was read.
// Cost: The suspected cause of illegal and misaligned addresses in the CI of spark-rapids (cudf-spark #14630), which
// CUDA_LAUNCH_BLOCKING=1 made disappear.
// Here: Two columns are staged, one after the other. The device gets the second one's content twice.
// Race: Stream::copy reads, then Buffer::host reads and writes
// Shake: 18 of 20 seeds, pct 19; without it 20 of 20 runs
#include <utility>

#include "museum.hpp"

namespace {

constexpr std::size_t n = 1 << 16;

/// A pool with one pinned block. A returned block can be allocated again immediately.
class PinnedPool {
 public:
  explicit PinnedPool(weir::Device& device) : free_(device.allocate<int>(n, weir::MemoryKind::pinned)) {}
  weir::Buffer<int> allocate() { return std::move(free_); }
  void deallocate(weir::Buffer<int> block) { free_ = std::move(block); }

 private:
  weir::Buffer<int> free_;
};

void copy_column(weir::Span<int> column, int value, PinnedPool& pool, weir::Stream& stream, bool fixed) {
  auto staging = pool.allocate();
  for (int& element : staging.host()) element = value;
  stream.copy(column, staging);
  if (fixed) stream.synchronize();  // cudf's fix; an event in the pool would block for a shorter time
  pool.deallocate(std::move(staging));
}

void run(weir::Device& device, bool fixed) {
  const auto stream = device.create_stream();
  const auto a = device.allocate<int>(n), b = device.allocate<int>(n);
  PinnedPool pool(device);
  copy_column(a, 1, pool, *stream, fixed);
  copy_column(b, 2, pool, *stream, fixed);
  stream->synchronize();
  museum::expect(stream->read(a), 1, "a");
  museum::expect(stream->read(b), 2, "b");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
