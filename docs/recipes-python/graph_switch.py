# SPDX-License-Identifier: Apache-2.0
#
# How do I put an if-else or a switch into a graph in Python?
#
# `capture_if(condition, body, otherwise)` decides by a value that is not 0; `capture_switch` has a body for each of 0, 1,
# 2, … The value is read on the device when the node is reached.
from collections.abc import Callable

import weir

device = weir.Device()
if not device.supports("graph_switch_nodes"):
    raise SystemExit(77)  # skipped
stream = device.create_stream()
which, x, y = (device.allocate(1, dtype) for dtype in (weir.uint32, weir.int32, weir.int32))


def set_x(value: int) -> Callable[[weir.Stream], None]:
    return lambda body: x.fill(value)


with weir.capture(stream) as captured:
    stream.capture_switch(which, [set_x(0), set_x(10), set_x(20)])
    stream.capture_if(which, lambda body: y.fill(1), lambda body: y.fill(-1))
for value in (2, 0, 1):
    which.fill(value, stream=stream)
    captured.graph.launch(stream)
    assert x.get(stream=stream) == [10 * value]
    assert y.get(stream=stream) == [1 if value else -1]
