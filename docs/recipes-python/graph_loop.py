# SPDX-License-Identifier: Apache-2.0
#
# How do I put a loop into a graph in Python?
#
# `capture_while` adds a node that runs its body again as long as a value in memory is not zero (CUDA's conditional
# nodes; Warp's `capture_while`). The body changes the value; Python takes no part.
import weir

SOURCE = r"""
extern "C" __global__ void step(unsigned int* left, int* sum) { *sum += *left; *left -= 1; }
"""

device = weir.Device()
if not device.supports("graph_conditional_nodes"):
    raise SystemExit(77)  # skipped
step = weir.compile(SOURCE, device)["step"]
stream = device.create_stream()
left, total = device.allocate(1, weir.uint32), device.allocate(1, weir.int32)
total.fill(0, stream=stream)

with weir.capture(stream) as captured:
    left.fill(100)
    stream.capture_while(left, lambda body: weir.launch(body, weir.LaunchConfig(1, 1), step, left, total))
captured.graph.launch(stream)
assert total.get(stream=stream) == [sum(range(101))]
