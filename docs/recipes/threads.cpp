// SPDX-License-Identifier: Apache-2.0
//
// How do I use Weir from multiple threads?
//
// Any thread may use any object; there is no current device and no context to set. Several threads may submit to one stream,
// and the work of each thread keeps its order. A stream for each thread keeps them out of each other's way.
#include <thread>
#include <vector>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  std::vector<int> results(4);
  std::vector<std::thread> threads;
  for (int& result : results) {
    threads.emplace_back([&device, &result] {
      const auto stream = device.create_stream();
      const auto x = device.allocate<int>(1000);
      stream->fill(x, 42);
      result = stream->read(x).back();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results == std::vector<int>(4, 42) ? 0 : 1;
}
