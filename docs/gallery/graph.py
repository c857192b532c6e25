# SPDX-License-Identifier: Apache-2.0
"""Three streams are captured as one graph, which is printed in Graphviz's language."""

import weir

device = weir.Device()
stream, left, right = (device.create_stream() for _ in range(3))
scale = weir.compile('extern "C" __global__ void scale(float* x) { x[threadIdx.x] *= 2; }', device)["scale"]
data, x, y = (device.allocate(256, weir.float32) for _ in range(3))

with weir.capture(stream) as captured:
    data.fill(1)
    for side, buffer in ((left, x), (right, y)):  # fork
        side.wait(stream)
        buffer.copy_from(data, stream=side)
        weir.launch(side, weir.LaunchConfig(1, 256), scale, buffer)
    for side in (left, right):  # join
        stream.wait(side)
    data[:128].copy_from(x[:128])
    data[128:].copy_from(y[128:])
print(captured.graph.debug_dot())
