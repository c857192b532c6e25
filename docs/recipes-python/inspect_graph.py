# SPDX-License-Identifier: Apache-2.0
#
# How do I see in Python what I have captured?
#
# `nodes` and `edges` are for tests; `debug_dot` (cudaGraphDebugDotPrint) is the graph in Graphviz's language: `python
# program.py | dot -Tsvg > graph.svg`.
import weir

device = weir.Device()
if not device.supports("graph_capture"):
    raise SystemExit(77)  # skipped
x, y = device.allocate(1000, weir.int32), device.allocate(1000, weir.int32)
with weir.capture(device.create_stream()) as captured:
    x.fill(1)
    y.copy_from(x)

graph = captured.graph
assert graph.nodes == ["fill", "copy"] and graph.edges == [(0, 1)]
if device.supports("graph_debug_dot"):
    print(graph.debug_dot())
