// SPDX-License-Identifier: Apache-2.0
//
// vmaf #1583: https://github.com/Netflix/vmaf/pull/1583
//
// Wrong: For each frame a sum is cleared on the extractor's stream, and a kernel adds to it on the picture's stream.
// Nothing orders the two, so the clearing may come late and erase the sum.
// Cost: 9 of 117 runs had wrong scores without an error: motion looked less than it was. The neighbouring extractor
// had the same mistake.
// Here: The sum of each frame's differences is read back; it is 0 if the fill came late.
// Race: Stream::fill writes, then kernel 'add_differences' updates by atomic operations
// Shake: 20 of 20 seeds, pct 20; without it 20 of 20 runs
#include <vector>

#include "museum.hpp"

namespace {

constexpr unsigned n = 1 << 12;
constexpr int frames = 3;

constexpr const char* source = R"(
extern "C" __global__ void add_differences(unsigned n, const int* picture, const int* previous, int* sum) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum, abs(picture[i] - previous[i]));
})";

void run(weir::Device& device, bool fixed) {
  const auto add = device.compile(source)->kernel<void(unsigned, const int*, const int*, int*)>("add_differences");
  const auto extractor = device.create_stream();
  const auto black = device.allocate<int>(n), white = device.allocate<int>(n), sum = device.allocate<int>(1);
  const auto sums = device.allocate<int>(frames);
  extractor->fill(black, 0);
  extractor->fill(white, 1);
  extractor->synchronize();

  std::vector<weir::StreamPtr> pictures;  // each picture has its own stream
  for (int frame = 0; frame < frames; ++frame) {
    const auto& picture = pictures.emplace_back(device.create_stream());
    extractor->fill(sum, 0);
    if (fixed) picture->wait(*extractor);
    picture->launch(add, weir::grid_for(n), n, white, black, sum);
    extractor->wait(*picture);
    extractor->copy(sums.subspan(static_cast<std::size_t>(frame), 1), sum);
  }
  museum::expect(extractor->read(sums), static_cast<int>(n), "sums");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
