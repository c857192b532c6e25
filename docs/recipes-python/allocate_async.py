# SPDX-License-Identifier: Apache-2.0
#
# How do I allocate memory in a stream's order from Python (cudaMallocAsync)?
#
# `stream.allocate` gives memory to the work that is enqueued from then on. Drop it whenever you like: it is freed on its
# stream, behind all work enqueued there by then, and nothing waits.
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
