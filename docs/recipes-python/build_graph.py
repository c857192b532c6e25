# SPDX-License-Identifier: Apache-2.0
#
# How do I build a graph by hand in Python, from nodes and edges?
#
# `GraphBuilder.add` takes the nodes that the new one depends on, and a function that submits its work to a stream,
# which is then the current one. So everything that a stream can capture can be a node.
import numpy as np
import weir

device = weir.Device()
if not device.supports("graph_capture"):
    raise SystemExit(77)  # skipped
x, y = device.allocate(1000, weir.int32), device.allocate(1000, weir.int32)

builder = weir.GraphBuilder(device)
a = builder.add([], lambda stream: x.fill(1))
b = builder.add([], lambda stream: y.fill(2))
c = builder.add([a, b], lambda stream: y[:500].copy_from(x[:500]))
graph = builder.finish()

stream = device.create_stream()
graph.launch(stream)
assert sorted(graph.edges) == [(a, c), (b, c)]
assert (y.get(stream=stream) == np.repeat([1, 2], 500)).all()
