// SPDX-License-Identifier: Apache-2.0
//
// How do I see what I have captured?
//
// `topology` returns nodes and edges, for tests. `debug_dot` (cudaGraphDebugDotPrint) returns the graph in Graphviz's
// language, for a picture: `./program | dot -Tsvg > graph.svg`.
#include <cstdio>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  if (!device.supports(weir::Feature::graph_capture)) return 77;  // skipped
  const auto stream = device.create_stream();
  const auto x = device.allocate<int>(1000), y = device.allocate<int>(1000);
  const auto graph = stream->capture([&](weir::Stream& s) {
    s.fill(x, 1);
    s.copy(y, x);
  });

  const weir::Topology shape = graph->topology();
  for (const weir::NodeKind kind : shape.nodes) std::printf("%s\n", to_string(kind).data());
  if (device.supports(weir::Feature::graph_debug_dot)) std::printf("%s\n", graph->debug_dot().c_str());
  return shape.count(weir::NodeKind::fill) == 1 && shape.reaches(shape.roots().front(), shape.leaves().front()) ? 0 : 1;
}
