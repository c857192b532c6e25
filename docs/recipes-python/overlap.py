# SPDX-License-Identifier: Apache-2.0
#
# How do I overlap copies with kernels in Python?
#
# With two streams and two buffers on the device (double buffering): while one chunk is computed, the next one is
# copied. The host's memory must be pinned, or each copy waits. Each stream works in order, so a buffer is never
# overwritten in use. [The gallery](gallery.md#copies-and-kernels-that-overlap) shows a picture.
import numpy as np
import weir

SOURCE = r"""
extern "C" __global__ void square(unsigned int n, float* x) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * x[i];
}"""


@weir.kernel(SOURCE)
def square(n: weir.uint32, x: weir.ptr[weir.float32]) -> None: ...


device = weir.Device()
chunks, chunk = 16, 1 << 18
data = device.allocate((chunks, chunk), weir.float32, kind="pinned")
np.asarray(data)[:] = 3
lanes = [(device.create_stream(), device.allocate(chunk, weir.float32)) for _ in range(2)]

for i in range(chunks):
    stream, x = lanes[i % 2]  # one lane copies while the other computes
    part = data[i : i + 1]
    x.copy_from(part, stream=stream)
    weir.launch(stream, weir.grid_for(chunk), square, chunk, x)
    x.copy_to(part, stream=stream)
for stream, _ in lanes:
    stream.sync()
assert (np.asarray(data) == 9).all()
