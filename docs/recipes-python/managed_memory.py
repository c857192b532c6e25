# SPDX-License-Identifier: Apache-2.0
#
# How do I use unified (managed) memory in Python?
#
# `kind="managed"` (cudaMallocManaged) has one address for host and device; the driver moves the pages. Let the device
# finish before numpy touches it. `prefetch` moves it ahead of its use.
import numpy as np
import weir

device = weir.Device()
if not device.supports("managed_memory"):
    raise SystemExit(77)  # skipped
add = weir.compile('extern "C" __global__ void add(int value, int* x) { x[threadIdx.x] += value; }', device)["add"]
stream = device.create_stream()
x = device.allocate(100, weir.int32, kind="managed")
numbers = np.asarray(x)

numbers[:] = 40
if device.supports("managed_prefetch"):
    x.prefetch(stream=stream)
weir.launch(stream, weir.LaunchConfig(1, 100), add, weir.int32(2), x)
stream.sync()
assert (numbers == 42).all()
