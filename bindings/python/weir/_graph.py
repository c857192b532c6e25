# SPDX-License-Identifier: Apache-2.0
"""``with weir.capture() as captured:``."""

from __future__ import annotations

from ._core import Device, Graph, Stream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Literal


class capture:
    """Captures the work of ``stream``, which is the current stream inside the block::

        with weir.capture() as captured:
            weir.launch(captured.stream, config, kernel, n, x)
        captured.graph.launch(stream)

    ``stream``: None for a new one of the default device. ``mode``: as for ``Stream.begin_capture``. ``portable``:
    ``Graph.save`` can save the graph; each captured operation costs microseconds more. If the block raises, the capture is
    dropped.
    """

    graph: Graph
    """The captured graph, set when the block has ended."""
    stream: Stream

    def __init__(self, stream: Stream | None = None, mode: Literal["relaxed", "thread_local", "global"] = "relaxed", *, portable: bool = False) -> None:
        self.stream = Device().create_stream() if stream is None else stream
        self._mode = mode
        self._portable = portable

    def __enter__(self) -> capture:
        self.stream.begin_capture(self._mode, portable=self._portable)
        self.stream.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.stream.__exit__()
        if kind is None:
            self.graph = self.stream.end_capture()
        else:
            self.stream.discard_capture()
