# SPDX-License-Identifier: Apache-2.0
"""The types of arguments, for type checkers. _core.pyi imports this file; programs do not."""

from collections.abc import Iterable
from os import PathLike
from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias, TypeVar

from typing_extensions import Buffer as _HasBuffer

from ._core import Buffer, Device, Stream
from .dtypes import dtype


class _CudaStream(Protocol):
    def __cuda_stream__(self) -> tuple[int, int]: ...


class _TorchStream(Protocol):
    @property
    def cuda_stream(self) -> int: ...


class _CupyStream(Protocol):
    @property
    def ptr(self) -> int: ...


class _DLPack(Protocol):
    def __dlpack_device__(self) -> tuple[Any, int]: ...


class _CudaArray(Protocol):
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


class _HasItemsize(Protocol):
    """The dtypes of numpy and PyTorch."""

    @property
    def itemsize(self) -> int: ...


_Array: TypeAlias = Buffer | _HasBuffer | _DLPack | _CudaArray
_Target = TypeVar("_Target", bound=_Array)
_Device: TypeAlias = Device | SupportsIndex | str | None
_DType: TypeAlias = dtype | type[Any] | str | _HasItemsize
_Extent: TypeAlias = SupportsIndex | Iterable[SupportsIndex]
_Path: TypeAlias = str | PathLike[str]
_Priority: TypeAlias = Literal["low", "normal", "high"] | SupportsIndex | None
_Shape: TypeAlias = SupportsIndex | Iterable[SupportsIndex]
_AnyStream: TypeAlias = Stream | _CudaStream | _TorchStream | _CupyStream | SupportsIndex
_Stream: TypeAlias = _AnyStream | None
