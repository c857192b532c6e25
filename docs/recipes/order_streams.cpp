// SPDX-License-Identifier: Apache-2.0
//
// How do I make one stream wait for another?
//
// After `wait(Stream&)`, later work of one stream runs after everything that is enqueued on the other so far. The host
// does not wait. The call combines cudaEventRecord and cudaStreamWaitEvent, with an event that Weir keeps.
#include <vector>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  const auto producer = device.create_stream(), consumer = device.create_stream();
  const auto x = device.allocate<int>(1 << 20), y = device.allocate<int>(1 << 20);

  producer->fill(x, 42);
  consumer->wait(*producer);
  consumer->copy(y, x);
  producer->wait(*consumer);  // and back: x is overwritten when it has been copied
  producer->zero(x);
  return consumer->read(y) == std::vector<int>(1 << 20, 42) ? 0 : 1;
}
