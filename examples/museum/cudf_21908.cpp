// SPDX-License-Identifier: Apache-2.0
//
// cudf #21908: https://github.com/NVIDIA/cudf/pull/21908
//
// Wrong: The JSON reader reads its sources on the streams of a pool into one buffer, and then uses the buffer on the
// user's stream. It had the fork, but no join after the reads.
// Cost: Not reported: it was found when another change was discussed.
// Here: Three sources are read into one buffer. The user's stream copies it while the last reads are still pending.
// Race: Stream::copy writes, then Stream::copy reads
// Shake: 17 of 20 seeds, pct 15; without it 20 of 20 runs
#include <array>

#include "museum.hpp"

namespace {

constexpr std::size_t source_size = 1 << 14, sources = 3;

weir::Buffer<int> ingest(weir::Span<const int> file, weir::Stream& stream, bool fixed) {
  std::array<weir::StreamPtr, sources> pool;
  auto buffer = stream.allocate_async<int>(sources * source_size);
  for (std::size_t i = 0; i < sources; ++i) {
    pool[i] = stream.device().create_stream();
    pool[i]->wait(stream);
    pool[i]->copy(buffer.subspan(i * source_size, source_size), file);
  }
  if (fixed) {
    for (const auto& one : pool) stream.wait(*one);
  }
  return buffer;
}

void run(weir::Device& device, bool fixed) {
  const auto stream = device.create_stream();
  const auto file = device.allocate<int>(source_size), table = device.allocate<int>(sources * source_size);
  stream->fill(file, 7);
  stream->fill(table, 0);
  const auto buffer = ingest(file, *stream, fixed);
  stream->copy(table, buffer);
  device.synchronize();
  museum::expect(stream->read(table), 7, "table");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
