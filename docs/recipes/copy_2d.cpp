// SPDX-License-Identifier: Apache-2.0
//
// How do I copy a part of a matrix?
//
// `copy_2d` (cudaMemcpy2DAsync) copies rows that start a pitch apart. Widths and pitches are in bytes. Here a block of 2 × 3
// elements is taken out of a matrix of 4 × 8 on the device.
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
  stream->copy_2d(part.data(), 3 * sizeof(float), x.data() + 1 * columns + 4, columns * sizeof(float), 3 * sizeof(float), 2);
  stream->synchronize();
  return part == std::vector<float>{12, 13, 14, 20, 21, 22} ? 0 : 1;
}
