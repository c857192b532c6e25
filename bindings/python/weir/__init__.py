# SPDX-License-Identifier: Apache-2.0
"""Weir: one Stream for NVIDIA GPUs, AMD GPUs and the CPU."""

try:
    from . import _core
except ImportError as error:  # the cause has the extension's own text
    raise error.__cause__ or error from None
from . import dtypes, errors
from ._core import *
from ._core import version as __version__
from ._graph import capture
from ._kernel import kernel
from .dtypes import *
from .errors import *

__all__ = [
    "__version__", "Buffer", "capture", "compile", "Device", "errors", "Event", "from_dlpack", "get_current_stream",
    "Graph", "GraphBuilder", "GraphChanges", "grid_for", "Kernel", "kernel", "KernelFunction", "launch", "LaunchConfig",
    "load", "MemoryOperation", "MemoryPool", "Module", "Partition", "PortableGraph", "PortableMemory", "Stream",
]
__all__ += dtypes.__all__
__all__ += errors.__all__
