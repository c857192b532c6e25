// SPDX-License-Identifier: Apache-2.0
// Runs the kernel on the CPU with 7, and prints the result.
#include <cstdio>
#include <vector>

#include "weir/weir.hpp"

namespace kernels {
weir::KernelBundle scale();
}

int main() try {
  weir::Device& device = weir::device("host");
  const auto scale = device.load(kernels::scale())->untyped_kernel("scale");
  const auto stream = device.create_stream();
  std::vector<int> numbers(1000, 7);
  const auto x = device.allocate<int>(numbers.size());
  stream->copy(x, numbers);
  stream->launch(scale, weir::grid_for(numbers.size()), 1000, x);
  stream->copy(numbers, x);
  stream->synchronize();
  std::printf("%d\n", numbers.back());
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
