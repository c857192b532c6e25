// SPDX-License-Identifier: Apache-2.0
//
// lupine #569: https://github.com/lupinemachines/lupine/pull/569
//
// Wrong: In CUDA, an event of the default stream follows the work of all blocking streams. This layer, which runs
// CUDA programs on remote GPUs, looked only at the queue of the stream that recorded the event: for its own copies,
// it treated the program's blocking streams as non-blocking.
// Cost: The CUDA sample simpleStreams read -1 instead of 2500 and failed.
// Here: As in the sample, four streams copy to the host, and the host waits for an event of the default stream.
// Race: Stream::copy writes, then Buffer::host reads and writes
// Shake: 20 of 20 seeds, pct 20; without it 20 of 20 runs
#include <array>

#include "museum.hpp"

namespace {

constexpr unsigned n = 4096;

void run(weir::Device& device, bool fixed) {
  std::array<weir::StreamPtr, 4> streams;
  for (auto& stream : streams) stream = device.create_stream({.blocking = fixed});
  const auto results = device.allocate<int>(n);
  const auto on_host = device.allocate<int>(n, weir::MemoryKind::pinned);
  for (int& value : on_host.host()) value = -1;

  const unsigned part = n / streams.size();
  for (unsigned i = 0; i < streams.size(); ++i) {
    streams[i]->fill(results.subspan(i * part, part), 2500);
    streams[i]->copy(on_host.subspan(i * part, part), results.subspan(i * part, part));
  }
  const weir::EventPtr stop = device.default_stream()->record();
  stop->synchronize();
  museum::expect(on_host.host(), 2500, "results");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
