// SPDX-License-Identifier: Apache-2.0
//
// How do I allocate memory, and who frees it?
//
// A `Buffer<T>` is a shared owner of `size()` elements of the device's memory. The memory is freed when the last owner
// is gone; you may destroy objects in any order. Pass a `Buffer` to a kernel for each pointer parameter. `subspan`
// returns a part of it.

#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  const auto stream = device.create_stream();

  auto x = device.allocate<float>(1000);  // cudaMalloc; the content is undefined
  const auto same = x.share();            // a second owner of the same memory
  x.reset();                              // nothing is freed yet
  stream->fill(same, 1.0F);
  stream->fill(same.first(500), 2.0F);  // the first 500 elements
  const auto values = stream->read(same);
  return values[499] == 2.0F && values[500] == 1.0F ? 0 : 1;
}
