# SPDX-License-Identifier: Apache-2.0
"""Weir: one Stream for NVIDIA GPUs, AMD GPUs and the CPU."""

from . import errors
from ._core import (
    Buffer,
    Device,
    Event,
    Graph,
    Kernel,
    KernelFunction,
    LaunchConfig,
    MemoryPool,
    Module,
    Stream,
    compile,
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
from .errors import Error
