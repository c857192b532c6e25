# SPDX-License-Identifier: Apache-2.0
#
# How do I allocate memory in a stream's order from Python (cudaMallocAsync)?
#
# `stream.allocate` returns memory for work that is enqueued after it. Drop it whenever you like: it is freed on its
# stream, after all work that the stream has by then, and nothing waits.
import weir

device = weir.Device()
if not device.supports("async_allocation"):
    raise SystemExit(77)  # skipped
stream = device.create_stream()
result = device.allocate(1000, weir.int32)
for step in range(1, 11):
    temporary = stream.allocate(1000, weir.int32)
    temporary.fill(step, stream=stream)
    result.copy_from(temporary, stream=stream)
    del temporary  # freed here, in the stream's order
assert (result.get(stream=stream) == 10).all()
