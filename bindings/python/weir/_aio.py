# SPDX-License-Identifier: Apache-2.0
"""``await event`` and ``await stream``."""

from __future__ import annotations

import asyncio

from ._core import Event, Stream, _raise_thrown, _when_complete


async def wait(object: Event | Stream) -> None:
    """Returns when the event, or all work enqueued on the stream so far, is done."""
    if object.is_done:  # raises the error of failed work
        if isinstance(object, Stream):
            _raise_thrown(object)
        return
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def finish(error: Exception | None) -> None:
        if future.done():  # the task was cancelled
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

    def notify(_stream: None, error: Exception | None, _argument: None) -> None:
        try:
            loop.call_soon_threadsafe(finish, error)
        except RuntimeError:  # the loop is closed, so no task waits
            pass

    _when_complete(object if isinstance(object, Event) else object.record(), notify)
    await future
    if isinstance(object, Stream):
        _raise_thrown(object)
