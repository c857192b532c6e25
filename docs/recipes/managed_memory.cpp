// SPDX-License-Identifier: Apache-2.0
//
// How do I use memory that host and device share?
//
// `MemoryKind::managed` (cudaMallocManaged, unified memory) has one address for both; the driver moves the pages. Let the
// device finish before the host touches it. `prefetch` moves it ahead of its use.

#include <weir/weir.hpp>

constexpr const char* source = R"(
extern "C" __global__ void add(int n, int value, int* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += value;
})";

int main() {
  weir::Device& device = weir::default_device();
  if (!device.supports(weir::Feature::managed_memory)) return 77;  // skipped
  const auto add = device.compile(source)->untyped_kernel("add");
  const auto stream = device.create_stream();
  const int n = 1000;
  const auto x = device.allocate<int>(n, weir::MemoryKind::managed);

  for (int& value : x.host()) value = 40;
  if (device.supports(weir::Feature::managed_prefetch)) stream->prefetch(x);
  stream->launch(add, weir::grid_for(n), n, 2, x);
  stream->synchronize();
  return x.host()[0] == 42 && x.host()[n - 1] == 42 ? 0 : 1;
}
