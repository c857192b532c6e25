# SPDX-License-Identifier: Apache-2.0
#
# How do I borrow a stream for a while in Python instead of making a new one?
#
# Use a queue of streams: `get` waits until one is free, `put` returns it. A returned stream may still have work; the
# next user's work runs after it. In asyncio take an `asyncio.Queue`, and `await streams.get()`.
import queue

import weir

device = weir.Device()
streams: queue.SimpleQueue[weir.Stream] = queue.SimpleQueue()
for _ in range(2):
    streams.put(device.create_stream())

x = device.allocate(1000, weir.int32)
for i in range(1, 11):
    with (stream := streams.get()):  # waits until one is free
        x.fill(i)
        stream.sync()
    streams.put(stream)

with streams.get():
    assert (x.get() == 10).all()
