# SPDX-License-Identifier: Apache-2.0
#
# How do streams, kernels and graphs go together in Python?
#
# One stream copies from pinned memory while another one fills; then one waits for the other, and the host waits once, in
# `get`. The repeated step is captured as a graph.
import numpy as np
import weir

SOURCE = r"""
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}"""


@weir.kernel(SOURCE)
def saxpy(n: weir.int32, a: weir.float32, x: weir.ptr[weir.float32], y: weir.ptr[weir.float32]) -> None: ...


n = 1 << 20
device = weir.Device()
copier, worker = device.create_stream(), device.create_stream()
pinned = device.allocate(n, weir.float32, kind="pinned")
host = np.asarray(pinned)  # the same memory
host[:] = np.random.rand(n)
x, y = device.allocate(n, weir.float32), device.allocate(n, weir.float32)

x.copy_from(pinned, stream=copier)  # does not block
y.fill(1, stream=worker)
worker.wait(copier)

with weir.capture(worker) as captured:
    weir.launch(worker, weir.grid_for(n), saxpy, n, 2, x, y)
for _ in range(10):
    captured.graph.launch(worker)
np.testing.assert_allclose(y.get(stream=worker), 20 * host + 1, rtol=1e-5)
