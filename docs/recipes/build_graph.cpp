// SPDX-License-Identifier: Apache-2.0
//
// How do I build a graph by hand, from nodes and edges?
//
// `GraphBuilder::add` takes the nodes that the new one depends on, and a function that submits its work to a stream, as
// in a capture. So everything that a stream can capture can be a node.

#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  if (!device.supports(weir::Feature::graph_capture)) return 77;  // skipped
  const auto x = device.allocate<int>(1000), y = device.allocate<int>(1000);

  weir::GraphBuilder builder(device);
  const auto a = builder.add({}, [&](weir::Stream& s) { s.fill(x, 1); });
  const auto b = builder.add({}, [&](weir::Stream& s) { s.fill(y, 2); });
  builder.add({a, b}, [&](weir::Stream& s) { s.copy(y.subspan(0, 500), x.subspan(0, 500)); });
  const auto graph = builder.finish();

  const auto stream = device.create_stream();
  graph->instantiate()->launch(*stream);
  const auto result = stream->read(y);
  return result.front() == 1 && result.back() == 2 && graph->topology().roots().size() == 2 ? 0 : 1;
}
