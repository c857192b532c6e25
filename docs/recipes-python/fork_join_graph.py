# SPDX-License-Identifier: Apache-2.0
#
# How do I capture several streams in one graph in Python?
#
# A stream joins the capture when it waits for a stream, or an event, of that capture. Before the capture ends, the
# stream that began it must wait for each that joined. The graph's branches then run at the same time.
import numpy as np
import weir

device = weir.Device()
if not device.supports("graph_capture"):
    raise SystemExit(77)  # skipped
stream, side = device.create_stream(), device.create_stream()
x, y = device.allocate(1000, weir.int32), device.allocate(1000, weir.int32)

with weir.capture(stream) as captured:
    x.fill(1)
    side.wait(stream)  # fork
    y.fill(2, stream=side)
    x.fill(3)
    stream.wait(side)  # join
    x[:500].copy_from(y[:500])
captured.graph.launch(stream)
assert len(captured.graph.edges) == 4
assert (x.get(stream=stream) == np.repeat([2, 3], 500)).all()
