# SPDX-License-Identifier: Apache-2.0
"""Weir: one Stream for NVIDIA GPUs, AMD GPUs and the CPU."""

try:
    from . import _core
except ImportError as error:  # the cause has the extension's own text
    raise error.__cause__ or error from None
from . import _signatures, errors
from ._core import (
    Buffer,
    Device,
    Event,
    Graph,
    GraphBuilder,
    GraphChanges,
    Kernel,
    KernelFunction,
    LaunchConfig,
    MemoryOperation,
    MemoryPool,
    Module,
    Partition,
    PortableGraph,
    PortableMemory,
    Stream,
    compile,
    from_dlpack,
    get_current_stream,
    grid_for,
    launch,
    load,
    version as __version__,
)
from ._graph import capture
from ._kernel import kernel
from .dtypes import (
    bfloat16,
    bool_,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    ptr,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .errors import *

__all__ = [
    "__version__",
    "bfloat16",
    "bool_",
    "Buffer",
    "capture",
    "compile",
    "complex128",
    "complex64",
    "Device",
    "dtype",
    "errors",
    "Event",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "get_current_stream",
    "Graph",
    "GraphBuilder",
    "GraphChanges",
    "grid_for",
    "int16",
    "int32",
    "int64",
    "int8",
    "Kernel",
    "kernel",
    "KernelFunction",
    "launch",
    "LaunchConfig",
    "load",
    "MemoryOperation",
    "MemoryPool",
    "Module",
    "Partition",
    "PortableGraph",
    "PortableMemory",
    "ptr",
    "Stream",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
]
__all__ += errors.__all__

_signatures.install(compile, LaunchConfig.__repr__, LaunchConfig(1, 1).__repr__)
