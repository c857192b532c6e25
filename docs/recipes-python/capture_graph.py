# SPDX-License-Identifier: Apache-2.0
#
# How do I capture a graph in Python and replay it?
#
# The work that the block enqueues on `captured.stream`, which is the current stream in the block, becomes a graph; if
# the block raises, the graph is dropped. Each `launch` runs all of it with one call. The graph uses the buffers that it
# was captured with, and keeps them alive.
import weir

device = weir.Device()
if not device.supports("graph_capture"):
    raise SystemExit(77)  # skipped
SOURCE = 'extern "C" __global__ void add(int* x, const int* y) { x[threadIdx.x] += y[threadIdx.x]; }'
add = weir.compile(SOURCE, device)["add"]
stream = device.create_stream()
x, y = device.allocate(32, weir.int32), device.allocate(32, weir.int32)
x.fill(0, stream=stream)

with weir.capture(stream) as captured:
    y.fill(2)
    weir.launch(captured.stream, weir.LaunchConfig(1, 32), add, x, y)
graph = captured.graph
for _ in range(10):
    graph.launch(stream)
assert graph.nodes == ["fill", "kernel"] and (x.get(stream=stream) == 20).all()
