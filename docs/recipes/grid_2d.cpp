// SPDX-License-Identifier: Apache-2.0
//
// How do I launch a grid of two dimensions?
//
// `{{4, 2}, {16, 16}}` is 4 × 2 blocks of 16 × 16 threads, like `<<<dim3(4, 2), dim3(16, 16)>>>`. Round up, and let the
// threads outside return.
#include <vector>
#include <weir/weir.hpp>

constexpr const char* source = R"(
extern "C" __global__ void transpose(int rows, int columns, const int* in, int* out) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && column < columns) out[column * rows + row] = in[row * columns + column];
})";

int main() {
  weir::Device& device = weir::default_device();
  const auto transpose = device.compile(source)->untyped_kernel("transpose");
  const auto stream = device.create_stream();
  const int rows = 30, columns = 50;
  std::vector<int> matrix(rows * columns);
  for (int i = 0; i < rows * columns; ++i) matrix[static_cast<std::size_t>(i)] = i;
  const auto in = device.allocate<int>(rows * columns), out = device.allocate<int>(rows * columns);

  stream->copy(in, matrix);
  stream->launch(transpose, {{(columns + 15) / 16, (rows + 15) / 16}, {16, 16}}, rows, columns, in, out);
  const std::vector<int> result = stream->read(out);
  return result[0] == 0 && result[1] == columns && result[rows] == 1 ? 0 : 1;
}
