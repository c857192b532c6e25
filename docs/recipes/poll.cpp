// SPDX-License-Identifier: Apache-2.0
//
// How do I ask whether work is done, without waiting?
//
// `is_complete` of a stream (cudaStreamQuery) or an event (cudaEventQuery). False means that the
// work is not done yet, never that it failed: a failure is thrown as an error.
#include <chrono>
#include <thread>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  const auto stream = device.create_stream();
  const auto x = device.allocate<int>(1 << 20);
  stream->fill(x, 42);
  int polls = 0;
  while (!stream->is_complete()) {
    ++polls;  // something useful would be done here
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return polls >= 0 && stream->read(x).front() == 42 ? 0 : 1;
}
