// SPDX-License-Identifier: Apache-2.0
//
// How do I measure how long work takes on the device?
//
// Take the elapsed time between two events with `timing`, which is off by default because it makes events slower.
// `elapsed_since` returns milliseconds, and throws `not_ready` until the later event is complete.
#include <cstdio>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  if (!device.supports(weir::Feature::event_timing)) return 77;  // skipped
  const auto stream = device.create_stream();
  const auto x = device.allocate<int>(1 << 22), y = device.allocate<int>(1 << 22);
  stream->zero(x);

  const auto begin = stream->record({.timing = true});
  for (int i = 0; i < 10; ++i) stream->copy(y, x);
  const auto end = stream->record({.timing = true});
  end->synchronize();
  const double ms = end->elapsed_since(*begin).count();
  std::printf("10 copies of 16 MiB: %.3f ms, %.1f GB/s\n", ms, 10 * 2 * 16.8e6 / (ms * 1e6));
  return ms > 0 ? 0 : 1;
}
