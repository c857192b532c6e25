# SPDX-License-Identifier: Apache-2.0
#
# How do I get notified in Python when work is done, or has failed?
#
# `add_callback(function, arg)`, like CuPy's: the function is called soon afterwards, with the stream, None or an
# exception, and `arg`. Nothing waits for it, and it must not wait for work.
import queue

import weir

device = weir.Device()
stream = device.create_stream()
x = device.allocate(1000, weir.int32)
results: queue.Queue[tuple[Exception | None, str]] = queue.Queue()
x.fill(1, stream=stream)
stream.add_callback(lambda stream, error, name: results.put((error, name)), "filled")
assert results.get(timeout=60) == (None, "filled")
