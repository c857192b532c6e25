# SPDX-License-Identifier: Apache-2.0
"""Chunks are copied in, computed and copied out at the same time: a stream for each, and three slots on the device."""

import numpy as np

import weir

SOURCE = r"""
extern "C" __global__ void smooth(int n, float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  for (int k = 0; k < 8; ++k) v = 0.5f * (v + 2.0f / v);
  x[i] = v;
}"""


@weir.kernel(SOURCE)
def smooth(n: weir.int32, x: weir.ptr[weir.float32]) -> None:
    """Newton's method for the square root of 2, from each number in x."""


chunks, size = 12, 1 << 18
device = weir.Device()
smooth.on(device)  # compiles it now
load, compute, store = (device.create_stream() for _ in range(3))
slots = [device.allocate(size, weir.float32) for _ in range(3)]
data = device.allocate((chunks, size), weir.float32, kind="pinned")
numbers = np.asarray(data)
numbers[:] = np.random.default_rng(1).random(numbers.shape, np.float32) + 1

stored: list[weir.Event] = []
for i in range(chunks):
    slot, part = slots[i % 3], data[i : i + 1]
    if i >= 3:
        load.wait(stored[i - 3])  # the slot is free
    slot.copy_from(part, stream=load)
    compute.wait(load)
    weir.launch(compute, weir.grid_for(size), smooth, size, slot)
    store.wait(compute)
    slot.copy_to(part, stream=store)
    stored.append(store.record())
store.sync()
np.testing.assert_allclose(numbers, np.sqrt(2), rtol=1e-6)
