// SPDX-License-Identifier: Apache-2.0
//
// How do I run a function of the host in a stream's order?
//
// `launch_host_function` (cudaLaunchHostFunc) takes any callback, which may own its data. A CPU thread of the driver
// calls it after all earlier kernels and copies; later work waits for it. It must not call Weir. The stream's next
// `synchronize` rethrows its exception.
#include <memory>
#include <stdexcept>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  if (!device.supports(weir::Feature::host_functions)) return 77;  // skipped
  const auto stream = device.create_stream();
  const auto x = device.allocate<int>(1, weir::MemoryKind::pinned);
  stream->fill(x, 42);
  int seen = 0;
  stream->launch_host_function([&seen, x = x.share()] { seen = x.host().front(); });
  stream->synchronize();
  if (seen != 42) return 1;

  stream->launch_host_function([owned = std::make_unique<int>(7)] {
    if (*owned == 7) throw std::runtime_error("no room on the disk");
  });
  try {
    stream->synchronize();
  } catch (const std::runtime_error&) {
    return 0;
  }
  return 1;
}
