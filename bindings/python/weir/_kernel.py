# SPDX-License-Identifier: Apache-2.0
"""``@weir.kernel``."""

from __future__ import annotations

from ._core import KernelFunction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVarTuple, Unpack

    Ts = TypeVarTuple("Ts")


def kernel(source: str, **options: Any) -> Callable[[Callable[[Unpack[Ts]], None]], KernelFunction[tuple[Unpack[Ts]]]]:
    """Declares the signature of the kernel in ``source`` that has the function's name::

        @weir.kernel(source)
        def saxpy(n: weir.int32, a: weir.float32, x: weir.ptr[weir.float32], y: weir.ptr[weir.float32]) -> None:
            '''y = a x + y, for n elements.'''

        weir.launch(stream, weir.grid_for(n), saxpy, n, 2, x, y)

    A launch converts its arguments to these types. The source is compiled for a device at the first launch there; ``options``
    are those of ``compile``. The function itself is never called.
    """

    def decorate(function: Callable[[Unpack[Ts]], None]) -> KernelFunction[tuple[Unpack[Ts]]]:
        from typing import get_type_hints  # slow to import

        types = get_type_hints(function)
        types.pop("return", None)
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        missing = [name for name in names if name not in types]
        if missing:
            raise TypeError(f"kernel '{function.__name__}': the parameter {missing[0]} has no type; write {missing[0]}: weir.int32")
        made = KernelFunction(source, function.__name__, tuple(types[name] for name in names), **options)
        made.__doc__ = function.__doc__
        return made

    return decorate
