# SPDX-License-Identifier: Apache-2.0
#
# How do I await a stream or an event in asyncio?
#
# `await stream` and `await event` let other tasks run until the work is done, and raise the same errors as `sync`. The
# current stream (`with stream:`) is each task's own.
import asyncio

import numpy as np
import weir

device = weir.Device()


async def fill(value: int) -> int:
    with device.create_stream() as stream:
        x = device.allocate(1000, weir.int32, kind="pinned")
        x.fill(value)
        await stream
        return int(np.asarray(x).sum())


async def main() -> list[int]:
    return await asyncio.gather(*(fill(value) for value in range(8)))


assert asyncio.run(main()) == [1000 * value for value in range(8)]
