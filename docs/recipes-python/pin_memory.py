# SPDX-License-Identifier: Apache-2.0
#
# How do I allocate pinned memory in Python?
#
# `kind="pinned"` (cudaMallocHost): the device can address it, and copies of it do not block. As a numpy array it is the
# same memory; wait for the stream before you look at it.
import numpy as np
import weir

device = weir.Device()
stream = device.create_stream()
pinned = device.allocate(100_000, weir.float32, kind="pinned")
numbers = np.asarray(pinned)
numbers[:] = np.arange(100_000)

x = device.allocate(100_000, weir.float32)
x.copy_from(pinned, stream=stream)  # returns at once
pinned.fill(0, stream=stream)
pinned.copy_from(x, stream=stream)
stream.sync()
assert (numbers == np.arange(100_000)).all()
