// SPDX-License-Identifier: Apache-2.0
//
// TensorRT-LLM #15265: https://github.com/NVIDIA/TensorRT-LLM/pull/15265
//
// Wrong: A tensor is made on one stream and read on another, which waits for an event. The event orders the work,
// but not the memory: when the tensor is dropped, new work of the first stream can get its block while the second
// stream still reads it.
// Cost: An illegal address in each warm-up with a batch of 1088 on a B300, reported later and elsewhere.
// CUDA_LAUNCH_BLOCKING=1 hid it.
// Here: The weights are dropped once the indexer's work is enqueued, and the next tensor gets their memory.
// Race: Stream::copy reads, then the free writes
// Shake: 9 of 20 seeds, pct 13; without it 20 of 20 runs
#include "museum.hpp"

namespace {

constexpr std::size_t n = 1 << 16;

void run(weir::Device& device, bool fixed) {
  const auto aux = device.create_stream(), indexer = device.create_stream();
  const auto indices = device.allocate<int>(n);

  auto weights = aux->allocate_async<int>(n);
  aux->fill(weights, 1);
  const auto ready = aux->record();
  indexer->wait(ready);
  indexer->copy(indices, weights);
  if (fixed) aux->wait(*indexer);  // like record_stream: the block becomes free only after the indexer's work
  weights.reset();

  const auto next = aux->allocate_async<int>(n);  // may return the same block
  aux->fill(next, 2);
  device.synchronize();
  museum::expect(indexer->read(indices), 1, "indices");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
