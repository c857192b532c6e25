# SPDX-License-Identifier: Apache-2.0
"""Makes ``inspect.signature`` work for the extension's functions, whose signatures nanobind stores only as text."""

from __future__ import annotations

import gc
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from inspect import Signature
    from typing import Any


def signature_of(function: Any) -> Signature:
    import inspect  # slow to import

    text, _, defaults = function.__nb_signature__[0]
    scope = {f"default_{i}": value for i, value in enumerate(defaults or ())}
    exec("from __future__ import annotations\n" + re.sub(r"\\(\d+)", r"default_\1", text) + ": ...", scope)
    signature = inspect.signature(scope[function.__name__])
    if type(function).__name__ != "nb_bound_method":
        return signature
    return signature.replace(parameters=list(signature.parameters.values())[1:])


def install(function: Any, method: Any, bound_method: Any) -> None:
    """Adds ``__signature__`` to the types of the extension's functions; each argument is a function of one type.

    The types do not accept new attributes, but their dictionaries do.
    """
    for one in (function, method, bound_method):
        (attributes,) = gc.get_referents(type(one).__dict__)
        attributes["__signature__"] = property(signature_of)
