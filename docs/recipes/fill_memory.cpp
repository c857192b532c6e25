// SPDX-License-Identifier: Apache-2.0
//
// How do I set memory to a value (fill, zero)?
//
// `fill` takes elements of any trivially copyable type, and a value of that type, not a byte like cudaMemset. `zero`
// clears elements of any size. `fill` also takes a box of rows at a pitch.
#include <cstdint>
#include <vector>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  const auto stream = device.create_stream();
  const auto x = device.allocate<float>(100);
  const auto y = device.allocate<double>(100);
  const auto bytes = device.allocate<std::uint8_t>(4 * 16);

  stream->fill(x, 1.5F);
  stream->zero(y);
  stream->zero(bytes);
  stream->fill(weir::pitched(bytes, {16, 4}).box({}, {3, 4}), 7);  // the first 3 elements of each of 4 rows
  const auto filled = stream->read(bytes);
  return stream->read(x) == std::vector<float>(100, 1.5F) && stream->read(y) == std::vector<double>(100) &&
                 filled[50] == 7 && filled[51] == 0
             ? 0
             : 1;
}
