// SPDX-License-Identifier: Apache-2.0
//
// llama.cpp #26040, #23321: https://github.com/ggml-org/llama.cpp/pull/26040
//
// Wrong: A model's layers are split between GPU and CPU. A split on the GPU only enqueues its copies and kernels.
// The next split, on the CPU, has no input to wait for. It runs at once, in memory that the GPU's copy has not read
// yet, because the allocator assumes that a split is over when the next one begins.
// Cost: With --no-kv-offload on Vulkan, Qwen models answered with gibberish.
// Here: The GPU's input and the CPU's results have the same place in host memory.
// Race: Stream::copy reads, then Buffer::host reads and writes
// Shake: 19 of 20 seeds, pct 17; without it 20 of 20 runs
#include "museum.hpp"

namespace {

constexpr unsigned n = 4096;

void run(weir::Device& device, bool fixed) {
  const weir::StreamPtr gpu = device.create_stream();
  const auto embedding = device.allocate<float>(n);
  const auto place = device.allocate<float>(n, weir::MemoryKind::pinned);

  // The first split writes its input and copies it.
  for (float& x : place.host()) x = 1;
  gpu->copy(embedding, place);

  // The second split runs on the CPU.
  if (fixed) gpu->synchronize();
  for (float& x : place.host()) x = 2;

  museum::expect(gpu->read(embedding), 1.0F, "embedding");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
