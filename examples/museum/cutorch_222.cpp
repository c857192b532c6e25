// SPDX-License-Identifier: Apache-2.0
//
// cutorch #222: https://github.com/torch/cutorch/pull/222
//
// Wrong: A barrier records one event on each stream in turn, and waits for it once. Each record replaces the
// previous one, so the barrier waits only for the last stream.
// Cost: Not reported. The tests passed because the stream that was recorded last also finished last; an engineer of
// NVIDIA read the code.
// Here: Four streams fill a quarter each, and a fifth stream copies the whole after the barrier.
// Race: Stream::fill writes, then Stream::copy reads
// Shake: 6 of 20 seeds, pct 13; without it 0 of 20 runs
#include <array>

#include "museum.hpp"

namespace {

using Streams = std::array<weir::StreamPtr, 4>;

void broken_barrier(weir::Stream& waiting, const Streams& streams) {
  const auto event = waiting.device().create_event();
  for (const auto& stream : streams) stream->record(event);
  waiting.wait(event);
}

void fixed_barrier(weir::Stream& waiting, const Streams& streams) {
  const auto event = waiting.device().create_event();
  for (const auto& stream : streams) {
    stream->record(event);
    waiting.wait(event);  // waits only for the latest record before this call
  }
}

void run(weir::Device& device, bool fixed) {
  constexpr std::size_t quarter = 1 << 14;
  const auto waiting = device.create_stream();
  const auto x = device.allocate<int>(4 * quarter), y = device.allocate<int>(4 * quarter);
  Streams streams;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    streams[i] = device.create_stream();
    streams[i]->fill(x.subspan(i * quarter, quarter), 1);
  }
  (fixed ? fixed_barrier : broken_barrier)(*waiting, streams);
  waiting->copy(y, x);
  museum::expect(waiting->read(y), 1, "y");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
