# SPDX-License-Identifier: Apache-2.0
"""The exceptions: a class for each kind of error that programs handle separately. All derive from ``weir.Error``.

``Error.code`` is more precise than the class. docs/errors.md lists causes and remedies for each code.
"""

from __future__ import annotations

__all__ = [
    "Error", "InvalidArgumentError", "LengthMismatchError", "WrongDeviceError", "StreamClosedError", "UnsupportedError",
    "CalledFromHostFunctionError", "ForkedProcessError", "NotReadyError", "CaptureError", "GraphUpdateFailedError",
    "OutOfMemoryError", "CompilationFailedError", "CompilerNotFoundError", "InvalidImageError", "KernelNotFoundError",
    "InvalidEnvironmentError", "BackendUnavailableError", "DeviceFaultError", "BackendFailureError",
]


class Error(RuntimeError):
    """The base class of Weir's errors. The text reads "operation on object: cause; remedy"."""

    code: str = "unknown"
    """The error's code in docs/errors.md: ``"stream_closed"``. Several codes may share a class."""
    operation: str = ""
    """The call that failed: its name in Python, ``"Stream.sync"``, or in C++, ``"Stream::copy"``."""
    object: str = ""
    """The object of the call, with its backend, device and handle; may be empty."""
    detail: str = ""
    """Cause and remedy."""
    native_code: int = 0
    """The driver's error code; 0 if the error is not the driver's."""
    native_name: str = ""
    """The driver's name for it: ``"CUDA_ERROR_INVALID_VALUE"``."""


# Mistakes of the caller.


class InvalidArgumentError(Error, ValueError):
    """An argument outside its domain, an event without times, or another thread's default stream."""


class LengthMismatchError(Error, ValueError):
    """The two sides of a copy differ in length or shape."""


class WrongDeviceError(Error, ValueError):
    """An object of another device or backend."""


class StreamClosedError(Error):
    """The stream was closed."""


class UnsupportedError(Error, NotImplementedError):
    """The device lacks a feature; the message has the reason."""


class CalledFromHostFunctionError(Error):
    """A function that a stream calls must not wait for work."""


class ForkedProcessError(Error):
    """The backend was opened before fork(); the child cannot use it."""


class NotReadyError(Error):
    """The elapsed time is not known yet, because an event is not done."""


# Captures and graphs.


class CaptureError(Error):
    """A capture makes the call impossible. ``code`` and the message have the reason, and whether the capture continues."""


class GraphUpdateFailedError(Error):
    """The new graph's topology differs too much; the executable graph is unchanged."""


# Resources.


class OutOfMemoryError(Error, MemoryError):
    """Host or device memory is exhausted."""


# Kernels.


class CompilationFailedError(Error):
    """The source did not compile; the message has the compiler's log."""


class CompilerNotFoundError(Error):
    """No compiler was found; the message names the package to install."""


class InvalidImageError(Error, ValueError):
    """The device cannot load the module or the graph file."""


class KernelNotFoundError(Error, LookupError):
    """The module has no kernel of that name."""


# Backends.


class InvalidEnvironmentError(Error, ValueError):
    """An environment variable has an invalid value."""


class BackendUnavailableError(Error):
    """A backend cannot be used: its name is unknown, or its plugin, its driver or a device is missing or incompatible."""


class DeviceFaultError(Error):
    """Work on the device failed; the device's state may be lost."""


class BackendFailureError(Error):
    """Any other error of the vendor's driver; see the native code."""
