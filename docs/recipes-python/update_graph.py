# SPDX-License-Identifier: Apache-2.0
#
# How do I update the arguments of a graph in Python?
#
# Capture the work again with other arguments, and `update` the graph with the new one. It must have the same shape:
# `GraphUpdateFailedError` names the difference, and the graph stays as it was.
import weir

device = weir.Device()
if not device.supports("graph_update"):
    raise SystemExit(77)  # skipped
stream = device.create_stream()
x, y = device.allocate(1000, weir.int32), device.allocate(1000, weir.int32)


def fill(buffer: weir.Buffer, value: int) -> weir.Graph:
    with weir.capture(stream) as captured:
        buffer.fill(value)
    return captured.graph


graph = fill(x, 1)
graph.launch(stream)
graph.update(fill(y, 2))
graph.launch(stream)
assert (x.get(stream=stream) == 1).all() and (y.get(stream=stream) == 2).all()
