// SPDX-License-Identifier: Apache-2.0
//
// How do I change one kernel's arguments in a graph, or switch a node off?
//
// `last_captured_node` names the node that was captured last. `GraphChanges` collects new arguments, and nodes to
// disable or to enable; `apply` makes all changes in one call, without a new capture. Running launches are not affected.

#include <weir/weir.hpp>

constexpr const char* source = R"(
extern "C" __global__ void add(int v, int* x) { x[threadIdx.x] += v; })";

int main() {
  weir::Device& device = weir::default_device();
  if (!device.supports(weir::Feature::graph_node_changes)) return 77;  // skipped
  const auto add = device.compile(source)->kernel<void(int, int*)>("add");
  const auto stream = device.create_stream();
  const auto x = device.allocate<int>(256), y = device.allocate<int>(256);
  stream->zero(x);
  stream->zero(y);

  weir::GraphNode first, second;
  const auto ready = stream->capture([&](weir::Stream& s) {
                             s.launch(add, {1, 256}, 1, x);
                             first = s.last_captured_node();
                             s.launch(add, {1, 256}, 10, x);
                             second = s.last_captured_node();
                           })->instantiate();
  ready->launch(*stream);  // x is 11

  weir::GraphChanges changes;
  changes.launch(first, add, {1, 256}, 5, y);
  changes.disable(second);
  ready->apply(changes);
  ready->launch(*stream);  // y is 5
  return stream->read(x).front() == 11 && stream->read(y).front() == 5 ? 0 : 1;
}
