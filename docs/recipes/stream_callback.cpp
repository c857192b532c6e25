// SPDX-License-Identifier: Apache-2.0
//
// How do I get notified when work is done, or has failed?
//
// `add_callback` (cudaStreamAddCallback) also runs when the stream has failed, and gets the error as its status; a host
// function would not run then. Like a host function it must not call Weir.
#include <future>
#include <system_error>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  if (!device.supports(weir::Feature::stream_callbacks)) return 77;  // skipped
  const auto stream = device.create_stream();
  const auto x = device.allocate<int>(1000);
  std::promise<std::error_code> promise;
  auto done = promise.get_future();
  stream->fill(x, 1);
  stream->add_callback([&promise](weir::Stream&, std::error_code status) { promise.set_value(status); });
  return done.get() ? 1 : 0;  // no error
}
