// SPDX-License-Identifier: Apache-2.0
//
// How do I allocate memory in a stream's order, and free it asynchronously?
//
// `allocate_async` (cudaMallocAsync) gives memory to the work that is enqueued from then on. Its last owner may go at once:
// the memory is freed on the stream that it was made on, behind all work enqueued there by then. Nothing waits:
// where cudaMalloc and cudaFree are too slow, this is the remedy.
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
