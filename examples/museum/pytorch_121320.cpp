// SPDX-License-Identifier: Apache-2.0
//
// PyTorch #121320: https://github.com/pytorch/pytorch/issues/121320
//
// Wrong: Two non-blocking copies are enqueued on one stream: floats to pinned memory, and from there to integers on
// the GPU. The second one changes the type, on the host and before it enqueues anything, so it read memory that the
// first one had not written yet.
// Cost: The issue's example prints 0 instead of 10.
// Here: As in the example. The fix converts on the GPU (#121341).
// Race: Stream::copy writes, then Buffer::host reads and writes
// Shake: 20 of 20 seeds, pct 20; without it 20 of 20 runs
#include "museum.hpp"

namespace {

constexpr unsigned n = 1;

constexpr const char* source = R"(
extern "C" __global__ void convert(unsigned n, const float* from, int* to) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = static_cast<int>(from[i]);
})";

void copy_converted(weir::Stream& stream, const weir::Buffer<int>& destination, const weir::Buffer<float>& pinned,
                    bool fixed) {
  weir::Device& device = stream.device();
  if (fixed) {
    const auto convert = device.compile(source)->kernel<void(unsigned, const float*, int*)>("convert");
    const auto floats = stream.allocate_async<float>(n);
    stream.copy(floats, pinned);
    stream.launch(convert, weir::grid_for(n), n, floats, destination);
  } else {
    const auto integers = device.allocate<int>(n, weir::MemoryKind::pinned);
    for (unsigned i = 0; i < n; ++i) integers.host()[i] = static_cast<int>(pinned.host()[i]);
    stream.copy(destination, integers);
    stream.synchronize();
  }
}

void run(weir::Device& device, bool fixed) {
  const weir::StreamPtr stream = device.create_stream();
  const auto a = device.allocate<float>(n), b = device.allocate<float>(n, weir::MemoryKind::pinned);
  const auto c = device.allocate<int>(n);
  b.host()[0] = 0;
  stream->fill(a, 10.0F);

  stream->copy(b, a);
  copy_converted(*stream, c, b, fixed);
  museum::expect(stream->read(c), 10, "c");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
