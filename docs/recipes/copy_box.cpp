// SPDX-License-Identifier: Apache-2.0
//
// How do I copy a part of a matrix or of a volume?
//
// A `PitchedSpan` is rows and slices of elements at a pitch; `pitched` makes one from dense memory, and `box` selects a
// part of it. `copy` of two of them is a 2D or 3D copy (cudaMemcpy2DAsync, or cudaMemcpy3DAsync if there are slices);
// `fill` also accepts one. This program copies a block of 2 × 3 elements out of a matrix of 4 × 8 on the device.
#include <vector>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  const auto stream = device.create_stream();
  const std::size_t rows = 4, columns = 8;
  std::vector<float> matrix(rows * columns);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<float>(i);
  const auto x = device.allocate<float>(matrix.size());
  stream->copy(x, matrix);

  std::vector<float> part(2 * 3);  // rows 1 and 2, columns 4 to 6
  stream->copy(weir::pitched(part, {3, 2}), weir::pitched(x, {columns, rows}).box({.x = 4, .y = 1}, {3, 2}));
  stream->synchronize();
  return part == std::vector<float>{12, 13, 14, 20, 21, 22} ? 0 : 1;
}
