# SPDX-License-Identifier: Apache-2.0
#
# How do I call a Python function in a stream's order?
#
# `launch_host_func` calls it after all earlier kernels and copies; later work waits for it. It may enqueue work, but
# must not wait for any. The next `sync` raises its exception. It cannot deadlock with the interpreter's lock
# ([how](python.md#host-functions-and-callbacks)).
import numpy as np
import weir

device = weir.Device()
if not device.supports("host_functions"):
    raise SystemExit(77)  # skipped
stream = device.create_stream()
pinned = device.allocate(4, weir.int32, kind="pinned")
numbers = np.asarray(pinned)
seen: list[int] = []

pinned.fill(10, stream=stream)
stream.launch_host_func(lambda: seen.extend(numbers))
pinned.fill(0, stream=stream)  # waits for the function
stream.sync()
assert seen == [10] * 4 and not numbers.any()


def fail(reason: str) -> None:
    raise OSError(reason)


stream.launch_host_func(fail, "no room on the disk")
try:
    stream.sync()
except OSError as error:
    print(error)
else:
    raise AssertionError
