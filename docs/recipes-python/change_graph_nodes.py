# SPDX-License-Identifier: Apache-2.0
#
# How do I change one kernel's arguments in a graph in Python, or switch a node off?
#
# `last_captured_node` names the node that was captured last. `GraphChanges` collects new arguments, and nodes to
# disable or to enable; `apply` makes all changes in one call, without a new capture. Running launches are not affected.
import weir

device = weir.Device()
if not device.supports("graph_node_changes"):
    raise SystemExit(77)  # skipped
module = weir.compile('extern "C" __global__ void add(int value, int* x) { x[threadIdx.x] += value; }', device)
add = module.get_kernel("add", types=(weir.int32, weir.ptr[weir.int32]))
config = weir.LaunchConfig(1, 256)
stream = device.create_stream()
x, y = device.allocate(256, weir.int32), device.allocate(256, weir.int32)
x.fill(0, stream=stream)
y.fill(0, stream=stream)

with weir.capture(stream) as captured:
    weir.launch(stream, config, add, 1, x)
    first = stream.last_captured_node
    weir.launch(stream, config, add, 10, x)
    second = stream.last_captured_node
graph = captured.graph
graph.launch(stream)  # x is 11

changes = weir.GraphChanges(device)
changes.launch(first, config, add, 5, y)
changes.disable(second)
graph.apply(changes)
graph.launch(stream)  # y is 5
assert (x.get(stream=stream) == 11).all() and (y.get(stream=stream) == 5).all()
