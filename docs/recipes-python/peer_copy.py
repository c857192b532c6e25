# SPDX-License-Identifier: Apache-2.0
#
# How do I copy from one GPU to another in Python?
#
# `copy_from`, as between any two buffers, on a stream of either device; a stream of one may wait for a stream of the other.
# `enable_peer_access` lets kernels of one device address the memory of the other.
import weir

default = weir.Device()
devices = [device for device in weir.Device.get_all_devices() if device.backend == default.backend]
if len(devices) < 2:
    raise SystemExit(77)  # skipped
first, second = devices[:2]
producer, consumer = first.create_stream(), second.create_stream()
x, y = first.allocate(1000, weir.int32), second.allocate(1000, weir.int32)

x.fill(42, stream=producer)
consumer.wait(producer)
y.copy_from(x, stream=consumer)
assert (y.get(stream=consumer) == 42).all()
if second.can_access_peer(first):
    second.enable_peer_access(first)
