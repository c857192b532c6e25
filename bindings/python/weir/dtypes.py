# SPDX-License-Identifier: Apache-2.0
"""Element types and kernel parameter types: ``weir.float32``, ``weir.ptr``.

They are classes with numpy's names, so that they can annotate kernel parameters. numpy accepts them as dtypes:
``numpy.zeros(4, weir.float32)``. Weir imports numpy only at the first such use.
"""

from __future__ import annotations

from types import GenericAlias

__all__ = ["bfloat16", "bool_", "complex64", "complex128", "dtype", "float16", "float32", "float64", "int8", "int16", "int32", "int64"]
__all__ += ["ptr", "uint8", "uint16", "uint32", "uint64"]

TYPE_CHECKING = False  # importing typing takes longer than importing all of Weir
if TYPE_CHECKING:
    from ctypes import _SimpleCData, c_void_p
    from typing import Any, Generic, SupportsComplex, SupportsFloat, SupportsIndex, SupportsInt

    from typing_extensions import TypeVar

    from ._core import Buffer
    from ._types import _CudaArray, _DLPack

    T = TypeVar("T", bound="scalar", default=Any)
    Argument = TypeVar("Argument")

    class parameter(Generic[Argument]):
        """A parameter of a kernel. A launch accepts an ``Argument`` for it."""


class dtype(type):
    """The metaclass of ``weir.float32`` and the other element types."""

    name: str
    itemsize: int
    kind: str

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any], *, kind: str = "", itemsize: int = 0) -> dtype:
        cls = super().__new__(mcs, name, bases, body)
        cls.name = name.rstrip("_")
        cls.kind = kind
        cls.itemsize = itemsize
        return cls

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **options: Any) -> None:
        super().__init__(name, bases, body)

    @property
    def typestr(cls) -> str:
        """The type in the notation of ``__array_interface__``: ``"<f4"``."""
        return f"{'|' if cls.itemsize == 1 else '<'}{cls.kind}{cls.itemsize}"

    @property
    def dtype(cls) -> Any:
        """The numpy dtype. Raises ``TypeError`` for ``bfloat16``, which numpy does not have."""
        import numpy

        if cls.kind == "bf":
            raise TypeError("numpy has no bfloat16; view the buffer as weir.uint16")
        return numpy.dtype(cls.typestr)

    def __repr__(cls) -> str:
        return f"weir.{cls.__name__}"

    def __eq__(cls, other: object) -> bool:
        """Whether `other` names the same type, as for numpy's dtypes: ``buffer.dtype == numpy.float32``."""
        if isinstance(other, dtype):
            return cls is other
        try:
            return as_dtype(other) is cls
        except TypeError:
            return NotImplemented

    __hash__ = type.__hash__


class scalar(metaclass=dtype):
    """A typed value, for a kernel with unknown parameter types: ``weir.float32(2)``."""

    __slots__ = ("value",)

    def __init__(self, value: complex) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"{type(self)!r}({self.value!r})"


if TYPE_CHECKING:

    class _bool(scalar, parameter[SupportsInt | scalar | _SimpleCData[Any]]): ...

    class _integer(scalar, parameter[SupportsIndex | scalar | _SimpleCData[Any]]): ...

    class _real(scalar, parameter[SupportsFloat | scalar | _SimpleCData[Any]]): ...

    class _complex(scalar, parameter[SupportsComplex | SupportsFloat | scalar]): ...

else:
    _bool = _integer = _real = _complex = scalar


class bool_(_bool, kind="b", itemsize=1):
    """``bool``: one byte."""


class int8(_integer, kind="i", itemsize=1):
    """``signed char``"""


class int16(_integer, kind="i", itemsize=2):
    """``short``"""


class int32(_integer, kind="i", itemsize=4):
    """``int``"""


class int64(_integer, kind="i", itemsize=8):
    """``long``, ``long long``"""


class uint8(_integer, kind="u", itemsize=1):
    """``unsigned char``"""


class uint16(_integer, kind="u", itemsize=2):
    """``unsigned short``"""


class uint32(_integer, kind="u", itemsize=4):
    """``unsigned int``"""


class uint64(_integer, kind="u", itemsize=8):
    """``unsigned long``, ``size_t``"""


class float16(_real, kind="f", itemsize=2):
    """``__half``"""


class bfloat16(_real, kind="bf", itemsize=2):
    """``__nv_bfloat16``"""


class float32(_real, kind="f", itemsize=4):
    """``float``"""


class float64(_real, kind="f", itemsize=8):
    """``double``"""


class complex64(_complex, kind="c", itemsize=8):
    """Two ``float``."""


class complex128(_complex, kind="c", itemsize=16):
    """Two ``double``."""


if TYPE_CHECKING:

    class ptr(Generic[T], parameter[Buffer | _DLPack | _CudaArray | SupportsIndex | c_void_p | None]):
        """A kernel's pointer parameter: ``weir.ptr[weir.float32]`` takes a ``Buffer`` of ``float32``, ``weir.ptr`` any."""

else:

    class ptr:
        """A kernel's pointer parameter: ``weir.ptr[weir.float32]`` takes a ``Buffer`` of ``float32``, ``weir.ptr`` any."""

        __class_getitem__ = classmethod(GenericAlias)


_by_name = {
    t.name: t
    for t in (bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64)
    + (float16, bfloat16, float32, float64, complex64, complex128)
}
_by_name.update({t.typestr: t for t in _by_name.values()})
_by_name.update({t.typestr[1:]: t for t in list(_by_name.values())})
_by_name.update({"bool_": bool_, "?": bool_, "int": int64, "float": float64, "complex": complex128})


def as_dtype(object: Any) -> dtype:
    """The Weir type for a numpy, PyTorch, CuPy or Python type, or for a name: ``"float32"``, ``"f4"``, ``"<f4"``."""
    if isinstance(object, dtype):
        name = object.name
    elif isinstance(object, str):
        name = object
    elif getattr(object, "isnative", True) is False:  # a numpy dtype, whose name omits the byte order
        raise TypeError(f"{object!r} has the other byte order than this machine; Weir has none of these")
    else:
        name = getattr(object, "name", None) or getattr(object, "__name__", None) or str(object).rpartition(".")[2]
    try:
        return _by_name[name]
    except (KeyError, TypeError):
        names = ", ".join(t.__name__ for t in dict.fromkeys(_by_name.values()))
        raise TypeError(f"{object!r} is no type of elements; Weir has {names}") from None
