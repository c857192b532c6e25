# SPDX-License-Identifier: Apache-2.0
#
# How do I let a stream wait for a value in memory in Python?
#
# `wait_value` (cuStreamWaitValue32) delays later work until the host, another stream or another device has written the
# value. Memory that the host writes must be pinned. A batch submits many of them at once. On GPUs streams share
# hardware queues, and a waiting stream may block the one that would write: enqueue the write first, or let the host
# write.
import numpy as np
import weir

device = weir.Device()
if not all(map(device.supports, ("wait_value_32", "wait_value_geq", "write_value_32", "batch_memory_operations"))):
    raise SystemExit(77)  # skipped
stream = device.create_stream()
flags = device.allocate(3, weir.uint32, kind="pinned")
words = np.asarray(flags)
words[:] = 0

stream.wait_value(flags[0:1], 1)  # goes on when flag 0 is 1 or more
write = weir.MemoryOperation.write
stream.batch_memory_operations([write(flags[1:2], 7), write(flags[2:3], 8)])
assert not stream.is_done and words[1] == 0
words[0] = 1  # the host lets it go
stream.sync()
assert list(words) == [1, 7, 8]
