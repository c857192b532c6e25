// SPDX-License-Identifier: Apache-2.0
//
// How do I keep some of the device free for urgent work (green contexts, SM partitions)?
//
// `Device::partition` splits off compute units. Kernels of its streams run only on these, so two partitions never
// compete. Everything else, including memory and events, belongs to the device.

#include <weir/weir.hpp>

constexpr const char* source = R"(
extern "C" __global__ void add(int v, int* x) { x[threadIdx.x] += v; })";

int main() {
  weir::Device& device = weir::default_device();
  if (!device.supports(weir::Feature::partitions)) return 77;  // skipped
  const auto all = device.properties().multiprocessor_count;
  if (all < 2) return 77;
  const auto add = device.compile(source)->kernel<void(int, int*)>("add");

  // Drivers round up: ask how many units it became.
  const auto urgent = device.partition({.compute_units = 1});
  const auto stream = urgent->create_stream({.priority = weir::Priority::high});
  const auto x = device.allocate<int>(32);
  stream->zero(x);
  stream->launch(add, {1, 32}, 7, x);
  return stream->read(x).front() == 7 && urgent->compute_units() >= 1 ? 0 : 1;
}
