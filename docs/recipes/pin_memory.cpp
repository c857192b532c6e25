// SPDX-License-Identifier: Apache-2.0
//
// How do I allocate pinned memory?
//
// With `MemoryKind::pinned` (cudaMallocHost): its pages are locked. A GPU copies from and to such memory without the
// host's help, so the copy really overlaps with other work. Kernels can also address it. `host()` returns the elements
// for the host.
#include <numeric>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  const auto stream = device.create_stream();
  const auto staging = device.allocate<int>(1000, weir::MemoryKind::pinned);
  const auto x = device.allocate<int>(1000);

  std::iota(staging.host().begin(), staging.host().end(), 0);
  stream->copy(x, staging);
  stream->zero(staging);  // behind the copy
  stream->copy(staging, x);
  stream->synchronize();
  return staging.host()[999] == 999 ? 0 : 1;
}
