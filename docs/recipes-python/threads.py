# SPDX-License-Identifier: Apache-2.0
#
# How do I use Weir from several threads of Python?
#
# Any thread may use any object, with [a few limits](python.md#free-threaded-python); the current stream is each thread's own.
# Calls that may wait release the interpreter's lock. A stream for each thread keeps them out of each other's way.
from concurrent.futures import ThreadPoolExecutor

import weir

device = weir.Device()


def work(value: int) -> int:
    with device.create_stream():
        x = device.allocate(1000, weir.int32)
        x.fill(value)
        return int(x.get().sum())


with ThreadPoolExecutor(4) as pool:
    assert list(pool.map(work, range(20))) == [1000 * value for value in range(20)]
