# SPDX-License-Identifier: Apache-2.0
"""The exceptions: a class for each kind of error that programs handle separately. All derive from ``weir.Error``.

``Error.code`` is more precise than the class. docs/errors.md lists causes and remedies for each code.
"""

from __future__ import annotations

__all__ = [
    "Error",
    "InvalidArgumentError",
    "LengthMismatchError",
    "WrongDeviceError",
    "StreamClosedError",
    "UnsupportedError",
    "CalledFromHostFunctionError",
    "ForkedProcessError",
    "NotReadyError",
    "CaptureError",
    "GraphUpdateFailedError",
    "OutOfMemoryError",
    "CompilationFailedError",
    "CompilerNotFoundError",
    "InvalidImageError",
    "KernelNotFoundError",
    "InvalidEnvironmentError",
    "BackendUnavailableError",
    "DeviceFaultError",
    "BackendFailureError",
]


class Error(RuntimeError):
    """The base class of Weir's errors. The text reads "operation on object: cause; remedy"."""

    code: str = "unknown"
    """The error's code in docs/errors.md: ``"stream_closed"``. Several codes may share a class."""
    codes: tuple[str, ...] = ()
    """All codes of the class, if there are several."""
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

    code = "invalid_argument"
    codes = ("invalid_argument", "timing_disabled", "not_recorded", "wrong_thread")


class LengthMismatchError(Error, ValueError):
    """The two sides of a copy differ in length or shape."""

    code = "length_mismatch"


class WrongDeviceError(Error, ValueError):
    """An object of another device or backend."""

    code = "wrong_device"


class StreamClosedError(Error):
    """The stream was closed."""

    code = "stream_closed"


class UnsupportedError(Error, NotImplementedError):
    """The device lacks a feature; the message has the reason."""

    code = "unsupported"


class CalledFromHostFunctionError(Error):
    """A function that a stream calls must not wait for work."""

    code = "called_from_host_function"


class ForkedProcessError(Error):
    """The backend was opened before fork(); the child cannot use it."""

    code = "forked_process"


class NotReadyError(Error):
    """The elapsed time is not known yet, because an event is not done."""

    code = "not_ready"


# Captures and graphs.


class CaptureError(Error):
    """A capture makes the call impossible. ``code`` and the message have the reason, and whether the capture continues."""

    code = "capture_unsupported"
    codes = (
        "capture_unsupported",
        "capture_invalidated",
        "capture_merge",
        "capture_unmatched",
        "capture_unjoined",
        "capture_isolation",
        "capture_implicit",
        "captured_event",
        "capture_wrong_thread",
        "not_capturing",
        "already_capturing",
    )


class GraphUpdateFailedError(Error):
    """The new graph's topology differs too much; the executable graph is unchanged."""

    code = "graph_update_failed"


# Resources.


class OutOfMemoryError(Error, MemoryError):
    """Host or device memory is exhausted."""

    code = "out_of_memory"


# Kernels.


class CompilationFailedError(Error):
    """The source did not compile; the message has the compiler's log."""

    code = "compilation_failed"


class CompilerNotFoundError(Error):
    """No compiler was found; the message names the package to install."""

    code = "compiler_not_found"


class InvalidImageError(Error, ValueError):
    """The device cannot load the module or the graph file."""

    code = "invalid_image"


class KernelNotFoundError(Error, LookupError):
    """The module has no kernel of that name."""

    code = "kernel_not_found"


# Backends.


class InvalidEnvironmentError(Error, ValueError):
    """An environment variable has an invalid value."""

    code = "invalid_environment"


class BackendUnavailableError(Error):
    """A backend cannot be used: its name is unknown, or its plugin, its driver or a device is missing or incompatible."""

    code = "backend_unknown"
    codes = (
        "backend_unknown",
        "plugin_not_found",
        "plugin_incompatible",
        "headers_incompatible",
        "driver_not_found",
        "driver_too_old",
        "no_device",
        "driver_failed",
    )


class DeviceFaultError(Error):
    """Work on the device failed; the device's state may be lost."""

    code = "device_fault"


class BackendFailureError(Error):
    """Any other error of the vendor's driver; see the native code."""

    code = "backend_failure"
    codes = ("backend_failure", "communicator_failed")


_by_code = {code: one for one in Error.__subclasses__() for code in one.codes or (one.code,)}
