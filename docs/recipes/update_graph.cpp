// SPDX-License-Identifier: Apache-2.0
//
// How do I update the arguments (parameters) of a graph?
//
// Capture the work again with other arguments, and `update` the executable with the new graph. It must have the same shape:
// `graph_update_failed` names the difference, and the executable stays as it was.

#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  if (!device.supports(weir::Feature::graph_update)) return 77;  // skipped
  const auto stream = device.create_stream();
  const auto x = device.allocate<int>(1000), y = device.allocate<int>(1000);
  stream->zero(y);

  const auto fill = [&](const weir::Buffer<int>& where, int value) {
    return stream->capture([&](weir::Stream& s) { s.fill(where, value); });
  };
  const auto ready = fill(x, 1)->instantiate();
  ready->launch(*stream);
  ready->update(*fill(y, 2));
  ready->launch(*stream);
  return stream->read(x).front() == 1 && stream->read(y).front() == 2 ? 0 : 1;
}
