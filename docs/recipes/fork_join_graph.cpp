// SPDX-License-Identifier: Apache-2.0
//
// How do I capture several streams in one graph?
//
// A stream joins the capture when it waits for a stream, or an event, of that capture. Before the capture ends, the
// stream that began it must wait for each stream that joined. The graph's branches then run at the same time.

#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  if (!device.supports(weir::Feature::graph_capture)) return 77;  // skipped
  const auto stream = device.create_stream(), side = device.create_stream();
  const auto x = device.allocate<int>(1000), y = device.allocate<int>(1000);

  stream->begin_capture();
  stream->fill(x, 1);
  side->wait(*stream);  // fork
  side->fill(y, 2);
  stream->fill(x, 3);
  stream->wait(*side);  // join
  stream->copy(x.subspan(0, 500), y.subspan(0, 500));
  const auto graph = stream->end_capture();

  graph->instantiate()->launch(*stream);
  const auto values = stream->read(x);
  return graph->topology().edges.size() == 4 && values[0] == 2 && values[999] == 3 ? 0 : 1;
}
