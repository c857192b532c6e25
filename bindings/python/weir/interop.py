# SPDX-License-Identifier: Apache-2.0
"""Shares streams with other libraries, in both directions. docs/python-interop.md lists the requirements of each library.

Their stream in Weir: ``weir.Stream.wrap(theirs)``, or ``with torch_stream():``, which makes it the current stream. Weir's
stream in theirs: ``as_torch(ours)`` and similar; their own ``with`` makes it current. Each function imports its library when
called; none of them blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from ._core import Stream

__all__ = ["as_cuda_core", "as_cupy", "as_numba", "as_rmm", "as_torch", "as_warp", "cupy_stream", "torch_stream"]


@contextmanager
def torch_stream(device: Any = None) -> Iterator[Stream]:
    """Makes PyTorch's current stream Weir's current stream inside the ``with`` block, and yields it.

    ``device``: a PyTorch device; default: PyTorch's current one.
    """
    with Stream.wrap(import_module("torch").cuda.current_stream(device)) as stream:
        yield stream


@contextmanager
def cupy_stream() -> Iterator[Stream]:
    """Makes CuPy's current stream Weir's current stream inside the ``with`` block, and yields it."""
    cuda = import_module("cupy").cuda
    with Stream.wrap(cuda.get_current_stream().ptr, cuda.Device().id) as stream:
        yield stream


def _handle(stream: Stream) -> int:
    return stream.__cuda_stream__()[1]


def _keeping(theirs: Any, stream: Stream) -> Any:
    theirs.weir_stream = stream  # keeps the owner of the handle alive
    return theirs


def as_torch(stream: Stream) -> Any:
    """A ``torch.cuda.Stream`` over Weir's: ``with torch.cuda.stream(as_torch(stream)):``."""
    torch = import_module("torch")
    index = stream.device.device_id
    if stream == stream.device.default_stream:
        return torch.cuda.default_stream(index)
    # On ROCm, PyTorch also uses the name cuda.
    return _keeping(torch.cuda.ExternalStream(stream.handle, device=index), stream)


def as_cupy(stream: Stream) -> Any:
    """A ``cupy.cuda.ExternalStream`` over Weir's: ``with as_cupy(stream):``."""
    return _keeping(import_module("cupy").cuda.ExternalStream(_handle(stream), stream.device.device_id), stream)


def as_numba(stream: Stream) -> Any:
    """A stream of ``numba.cuda`` over Weir's, for ``kernel[grid, block, as_numba(stream)]``."""
    cuda = import_module("numba.cuda")
    handle = _handle(stream)
    return _keeping(cuda.legacy_default_stream() if handle == 1 else cuda.external_stream(handle), stream)


def as_warp(stream: Stream) -> Any:
    """A ``warp.Stream`` over Weir's: ``with warp.ScopedStream(as_warp(stream)):``."""
    warp = import_module("warp")
    return _keeping(warp.Stream(f"cuda:{stream.device.device_id}", cuda_stream=_handle(stream)), stream)


def as_cuda_core(stream: Stream) -> Any:
    """A ``cuda.core.Stream`` over Weir's, which it keeps alive."""
    try:
        Device = import_module("cuda.core").Device
    except (ImportError, AttributeError):
        Device = import_module("cuda.core.experimental").Device
    former, device = Device(), Device(stream.device.device_id)
    device.set_current()  # cuda.core requires it; also changes the current device of PyTorch and CuPy
    try:
        return device.create_stream(stream)
    finally:
        former.set_current()


def as_rmm(stream: Stream) -> Any:
    """An ``rmm`` stream over Weir's, for ``rmm.DeviceBuffer(size=…, stream=as_rmm(stream))``."""
    return import_module("rmm.pylibrmm.stream").Stream(stream)
