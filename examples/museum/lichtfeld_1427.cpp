// SPDX-License-Identifier: Apache-2.0
//
// LichtFeld-Studio #1427: https://github.com/MrNeRF/LichtFeld-Studio/issues/1427
//
// Wrong: A loader returns images, masks and depths, which it makes on its own stream. The training waits for the
// depth's event; the image and the mask have no event, so their conversion may still run.
// Cost: Occasional crashes by illegal addresses; none under compute-sanitizer, which "serializes stream ops, so a
// clean run under it isn't a verdict". The fix cost no speed: 149.7 and 149.4 iterations a second.
// Here: The depth is loaded first, and its event recorded; the image comes after it.
// Race: Stream::copy writes, then Stream::copy reads
// Shake: 5 of 20 seeds, pct 8; without it 0 of 20 runs
#include "museum.hpp"

namespace {

constexpr std::size_t n = 1 << 14;

struct Frame {
  weir::Buffer<int> depth, image;
  weir::EventPtr depth_ready = nullptr, image_ready = nullptr;
};

Frame load(weir::Stream& loader, weir::Span<const int> file, bool fixed) {
  weir::Device& device = loader.device();
  Frame frame{.depth = device.allocate<int>(n), .image = device.allocate<int>(n)};
  loader.copy(frame.depth, file.first(n));
  frame.depth_ready = loader.record();
  loader.copy(frame.image, file.last(n));
  if (fixed) frame.image_ready = loader.record();
  return frame;
}

void run(weir::Device& device, bool fixed) {
  const auto loader = device.create_stream(), training = device.create_stream();
  const auto file = device.allocate<int>(2 * n);
  const auto depth = device.allocate<int>(n), image = device.allocate<int>(n);
  loader->fill(file.first(n), 1);
  loader->fill(file.last(n), 2);

  const Frame frame = load(*loader, file, fixed);
  training->wait(frame.depth_ready);
  training->copy(depth, frame.depth);
  if (frame.image_ready) training->wait(frame.image_ready);
  training->copy(image, frame.image);
  device.synchronize();
  museum::expect(training->read(depth), 1, "depth");
  museum::expect(training->read(image), 2, "image");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
