// SPDX-License-Identifier: Apache-2.0
//
// ninfer-3090 #38: https://github.com/ashalliants/ninfer-3090/pull/38
//
// Wrong: Inputs are copied from pageable memory by a blocking copy on the legacy default stream. It blocks until the
// source has been read, not until the data has arrived. The engine's stream is non-blocking and does not wait for
// the default stream.
// Cost: A test that sometimes failed. A copy of that test read stale data in 146 of 200 runs on an idle RTX 3090, up to
// 17.8 % of the buffer; no copy of up to 256 KiB ever did.
// Here: The engine's graph copies the input to the output. It may run before the input is there.
// Race: Stream::copy writes, then Stream::copy reads
// Shake: 10 of 20 seeds, pct 10; without it 4 of 20 runs
#include <vector>

#include "museum.hpp"

namespace {

void run(weir::Device& device, bool fixed) {
  constexpr std::size_t n = 1 << 18;
  const auto engine = device.create_stream();  // non-blocking by default
  const auto input = device.allocate<int>(n), output = device.allocate<int>(n);
  engine->fill(input, 0);
  const auto graph = engine->capture([&](weir::Stream& stream) { stream.copy(output, input); })->instantiate();
  engine->synchronize();

  const std::vector<int> values(n, 1);
  const auto copies = device.default_stream();
  copies->copy(input, values);
  if (fixed) copies->synchronize();
  graph->launch(*engine);

  const auto result = engine->read(output);
  copies->synchronize();
  museum::expect(result, 1, "output");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
