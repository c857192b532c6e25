// SPDX-License-Identifier: Apache-2.0
//
// How do I make many small copies in one call?
//
// `copy_batch` (cuMemcpyBatchAsync) takes a list of copies, which run in any order among themselves; later work of the
// stream runs after all of them. If the driver has no such call, Weir makes single copies: the feature `batch_copies` is
// then emulated.
#include <vector>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  const auto stream = device.create_stream();
  const std::size_t rows = 64, length = 256;
  const auto table = device.allocate<float>(rows * length), gathered = device.allocate<float>(rows / 2 * length);
  std::vector<float> numbers(rows * length);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  stream->copy(table, numbers);

  std::vector<weir::BatchCopy> copies;  // every second row
  for (std::size_t i = 0; i < rows / 2; ++i)
    copies.push_back({gathered.data() + i * length, table.data() + 2 * i * length, length * sizeof(float)});
  stream->copy_batch(copies);
  return stream->read(gathered)[3 * length + 1] == 6 * length + 1 ? 0 : 1;
}
