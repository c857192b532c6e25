# SPDX-License-Identifier: Apache-2.0
#
# How do I keep some of the device free for urgent work in Python (green contexts)?
#
# `create_partition` splits off compute units. Kernels of its streams run only on these, so two partitions never
# compete. Everything else, including memory and events, belongs to the device.
import numpy as np
import weir

device = weir.Device()
if not device.supports("partitions") or device.properties.multiprocessor_count < 2:
    raise SystemExit(77)  # skipped
add = weir.compile('extern "C" __global__ void add(int value, int* x) { x[threadIdx.x] += value; }', device)["add"]

urgent = device.create_partition(compute_units=1)
assert urgent.compute_units >= 1  # drivers round up
with urgent.create_stream(priority="high") as stream:
    x = device.allocate(32, weir.int32).copy_from(np.arange(32, dtype=np.int32))
    weir.launch(stream, weir.LaunchConfig(1, 32), add, weir.int32(7), x)
    assert (x.get() == np.arange(32) + 7).all()
