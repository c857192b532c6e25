// SPDX-License-Identifier: Apache-2.0
//
// How do I allocate memory in a stream's order, and free it asynchronously?
//
// `allocate_async` (cudaMallocAsync) returns memory for work that is enqueued after it. You may drop the last owner at
// once: the memory is freed on the stream that it was made on, after all work that the stream has by then. Nothing
// waits, so use it where cudaMalloc and cudaFree are too slow.
#include <vector>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  if (!device.supports(weir::Feature::async_allocation)) return 77;  // skipped
  const auto stream = device.create_stream();
  const auto result = device.allocate<int>(1000);
  for (int step = 1; step <= 10; ++step) {
    const auto temporary = stream->allocate_async<int>(1000);
    stream->fill(temporary, step);
    stream->copy(result, temporary);
  }  // freed here, in the stream's order
  return stream->read(result) == std::vector<int>(1000, 10) ? 0 : 1;
}
