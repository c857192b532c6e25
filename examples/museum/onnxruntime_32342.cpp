// SPDX-License-Identifier: Apache-2.0
//
// onnxruntime #32342: https://github.com/microsoft/onnxruntime/issues/32342
//
// Wrong: An arena gives a free chunk to a stream if the chunk belonged to that stream or to none. Temporary tensors
// are allocated without a stream, so their chunks belong to none while queued work still uses them, and the next run
// gets them on another stream.
// Cost: Concurrent runs of one session failed sometimes with an illegal address, which an unrelated later call
// reported.
// Here: Two runs on two streams allocate a temporary tensor each, and get the same chunk.
// Race: Stream::copy writes, then Stream::copy writes
// Shake: 11 of 20 seeds, pct 1; without it 1 of 20 runs
#include "museum.hpp"

namespace {

constexpr std::size_t n = 1 << 16;

/// An arena with one chunk, which is free as soon as the host releases it.
class Arena {
 public:
  explicit Arena(weir::Device& device) : chunk_(device.allocate<int>(n)) {}
  /// `stream`: the stream that will use the chunk, or null.
  weir::Span<int> allocate(weir::Stream* stream) {
    if (last_stream_ != nullptr && stream != nullptr && last_stream_ != stream) stream->wait(*last_stream_);
    last_stream_ = stream;
    return chunk_;
  }

 private:
  weir::Buffer<int> chunk_;
  weir::Stream* last_stream_ = nullptr;
};

void run_model(weir::Stream& stream, weir::Span<const int> input, weir::Span<int> output, Arena& arena, bool fixed) {
  const auto temporary = arena.allocate(fixed ? &stream : nullptr);
  stream.copy(temporary, input);
  stream.copy(output, temporary);
}

void run(weir::Device& device, bool fixed) {
  const auto a = device.create_stream(), b = device.create_stream();
  const auto input_a = device.allocate<int>(n), input_b = device.allocate<int>(n);
  const auto output_a = device.allocate<int>(n), output_b = device.allocate<int>(n);
  a->fill(input_a, 1);
  b->fill(input_b, 2);
  device.synchronize();

  Arena arena(device);
  run_model(*a, input_a, output_a, arena, fixed);
  run_model(*b, input_b, output_b, arena, fixed);
  device.synchronize();
  museum::expect(a->read(output_a), 1, "output_a");
  museum::expect(b->read(output_b), 2, "output_b");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
