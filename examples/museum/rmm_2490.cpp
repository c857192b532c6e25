// SPDX-License-Identifier: Apache-2.0
//
// rmm #2490: https://github.com/rapidsai/rmm/pull/2490
//
// Wrong: A pool keeps free blocks by stream, with an event after each stream's last use. A stream that takes over
// the blocks of another waits for that stream's event, but does not record its own event again, so the event does
// not cover them.
// Cost: Hit in production, with 8 threads and 8 streams on one pool: a radix sort lost its memory while it ran.
// Here: `c` takes a block from `b`, which took it over from `a`. The fill of `a` may come after that of `c`.
// Race: Stream::fill writes, then Stream::fill writes
// Shake: 8 of 20 seeds, pct 8; without it 1 of 20 runs
#include <vector>

#include "museum.hpp"

namespace {

/// The free blocks of a stream, and the event after their last use.
struct FreeList {
  explicit FreeList(weir::Device& device) : stream(device.create_stream()), event(device.create_event()) {}

  void deallocate(weir::Span<int> block) {
    blocks.push_back(block);
    stream->record(event);
  }

  /// Takes over all blocks of another list.
  void merge(FreeList& other, bool fixed) {
    stream->wait(other.event);
    blocks.insert(blocks.end(), other.blocks.begin(), other.blocks.end());
    other.blocks.clear();
    if (fixed) stream->record(event);  // so that this list's event also covers that wait
  }

  /// Takes over one block of another list, to use it on this stream.
  weir::Span<int> steal_from(FreeList& other) {
    stream->wait(other.event);
    const weir::Span<int> block = other.blocks.back();
    other.blocks.pop_back();
    return block;
  }

  weir::StreamPtr stream;
  weir::EventPtr event;
  std::vector<weir::Span<int>> blocks;
};

void run(weir::Device& device, bool fixed) {
  const auto memory = device.allocate<int>(1 << 16);
  FreeList a(device), b(device), c(device);

  a.stream->fill(memory, 1);
  a.deallocate(memory);
  b.merge(a, fixed);  // as if only both lists together had enough memory
  const weir::Span<int> block = c.steal_from(b);
  c.stream->fill(block, 2);
  device.synchronize();
  museum::expect(c.stream->read(block), 2, "block");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
