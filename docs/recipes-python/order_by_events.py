# SPDX-License-Identifier: Apache-2.0
#
# How do I wait for a point in a stream in Python, and not for all of it?
#
# `record` makes an event that marks the point. Streams wait for it without Python; `sync` blocks, with a timeout if you
# like. For all streams of a device, call `device.sync()`.
import weir

device = weir.Device()
stream, other = device.create_stream(), device.create_stream()
x, y = device.allocate(1, weir.int32), device.allocate(1, weir.int32)

x.fill(1, stream=stream)
first = stream.record()  # a new event; record(event) uses one again
y.fill(2, stream=stream)
other.wait(first)  # x is written; y need not be
x.fill(3, stream=other)
first.sync(timeout=60)  # TimeoutError after a minute
assert first.is_done
assert x.get(stream=other) == [3] and y.get(stream=stream) == [2]
