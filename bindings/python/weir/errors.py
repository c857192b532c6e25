# SPDX-License-Identifier: Apache-2.0
"""Errors: one class per kind, all derived from ``weir.Error``. docs/errors.md lists causes and remedies by these names."""

from __future__ import annotations

__all__ = [
    "Error",
    "InvalidArgumentError",
    "LengthMismatchError",
    "StreamClosedError",
    "WrongDeviceError",
    "WrongThreadError",
    "UnsupportedError",
    "CalledFromHostFunctionError",
    "ForkedProcessError",
    "CaptureUnsupportedError",
    "CaptureInvalidatedError",
    "CaptureMergeError",
    "CaptureUnmatchedError",
    "CaptureUnjoinedError",
    "CaptureIsolationError",
    "CaptureImplicitError",
    "CapturedEventError",
    "CaptureWrongThreadError",
    "NotCapturingError",
    "AlreadyCapturingError",
    "TimingDisabledError",
    "NotRecordedError",
    "NotReadyError",
    "OutOfMemoryError",
    "PoolExhaustedError",
    "CompilationFailedError",
    "CompilerNotFoundError",
    "InvalidImageError",
    "KernelNotFoundError",
    "GraphUpdateFailedError",
    "InvalidEnvironmentError",
    "BackendUnknownError",
    "PluginNotFoundError",
    "PluginIncompatibleError",
    "HeadersIncompatibleError",
    "DriverNotFoundError",
    "DriverTooOldError",
    "NoDeviceError",
    "DriverFailedError",
    "DeviceFaultError",
    "BackendFailureError",
    "CommunicatorFailedError",
    "HostFunctionTimeoutError",
    "SlowKernelWarning",
]


class Error(RuntimeError):
    """The base class of Weir's errors. The text reads "operation on object: cause; remedy"."""

    code: str = "unknown"
    """The kind of error: ``"stream_closed"``."""
    operation: str = ""
    """The call: ``"Stream.sync"``, or C++'s name for it, ``"Stream::copy"``."""
    object: str = ""
    """The object it was called on, with backend, device and handle; may be empty."""
    detail: str = ""
    """Cause and remedy."""
    native_code: int = 0
    """The driver's error code; 0 if the error is not the driver's."""
    native_name: str = ""
    """The driver's name for it: ``"CUDA_ERROR_INVALID_VALUE"``."""

    __str__ = BaseException.__str__  # not OSError's, which TimeoutError inherits


# Mistakes of the caller.

class InvalidArgumentError(Error, ValueError):
    """An argument outside its domain."""

    code = "invalid_argument"


class LengthMismatchError(Error, ValueError):
    """The two sides of a typed copy differ in length."""

    code = "length_mismatch"


class StreamClosedError(Error):
    """The stream was closed."""

    code = "stream_closed"


class WrongDeviceError(Error, ValueError):
    """An object of another device or backend."""

    code = "wrong_device"


class WrongThreadError(Error):
    """The per-thread default stream of another thread."""

    code = "wrong_thread"


class UnsupportedError(Error, NotImplementedError):
    """The device lacks a feature; the message has the reason."""

    code = "unsupported"


class CalledFromHostFunctionError(Error):
    """A host function must not call Weir."""

    code = "called_from_host_function"


class ForkedProcessError(Error):
    """The backend was opened before fork(); the child cannot use it."""

    code = "forked_process"


# Capture.

class CaptureUnsupportedError(Error):
    """The operation is not allowed while capturing; the capture goes on."""

    code = "capture_unsupported"


class CaptureInvalidatedError(Error):
    """The capture was invalidated by an earlier error."""

    code = "capture_invalidated"


class CaptureMergeError(Error):
    """The call would join two separate captures."""

    code = "capture_merge"


class CaptureUnmatchedError(Error):
    """Another stream began the capture."""

    code = "capture_unmatched"


class CaptureUnjoinedError(Error):
    """The capture was ended while a forked stream was not joined to its first stream."""

    code = "capture_unjoined"


class CaptureIsolationError(Error):
    """Captured work would depend on work outside the capture."""

    code = "capture_isolation"


class CaptureImplicitError(Error):
    """The legacy default stream would be ordered against a capture."""

    code = "capture_implicit"


class CapturedEventError(Error):
    """The event was last recorded in a capture, so it does not complete by itself."""

    code = "captured_event"


class CaptureWrongThreadError(Error):
    """Another thread began the capture, in a mode that lets only that thread end it."""

    code = "capture_wrong_thread"


class NotCapturingError(Error):
    """The call needs a capture, and there is none."""

    code = "not_capturing"


class AlreadyCapturingError(Error):
    """The stream is capturing already."""

    code = "already_capturing"


# Events.

class TimingDisabledError(Error):
    """Elapsed time was asked of an event made without timing."""

    code = "timing_disabled"


class NotRecordedError(Error):
    """Elapsed time was asked of an event that was never recorded."""

    code = "not_recorded"


class NotReadyError(Error):
    """Elapsed time was asked of an event that is not complete."""

    code = "not_ready"


# Resources.

class OutOfMemoryError(Error, MemoryError):
    """Host or device memory is exhausted."""

    code = "out_of_memory"


class PoolExhaustedError(Error):
    """All slots of a pool are leased."""

    code = "pool_exhausted"


# Modules and graphs.

class CompilationFailedError(Error):
    """The source did not compile; the message has the compiler's log."""

    code = "compilation_failed"


class CompilerNotFoundError(Error):
    """No compiler was found."""

    code = "compiler_not_found"


class InvalidImageError(Error, ValueError):
    """The device cannot load the module image."""

    code = "invalid_image"


class KernelNotFoundError(Error, LookupError):
    """The module has no kernel of that name."""

    code = "kernel_not_found"


class GraphUpdateFailedError(Error):
    """The new graph's topology differs too much; the executable graph is unchanged."""

    code = "graph_update_failed"


# Backends.

class InvalidEnvironmentError(Error, ValueError):
    """An environment variable has an invalid value."""

    code = "invalid_environment"


class BackendUnknownError(Error, ValueError):
    """No backend of that name is known or found."""

    code = "backend_unknown"


class PluginNotFoundError(Error):
    """The backend's plugin is in none of the folders searched."""

    code = "plugin_not_found"


class PluginIncompatibleError(Error):
    """The plugin was built for another Weir."""

    code = "plugin_incompatible"


class HeadersIncompatibleError(Error):
    """The program was built with the headers of another Weir."""

    code = "headers_incompatible"


class DriverNotFoundError(Error):
    """The vendor's driver library could not be opened."""

    code = "driver_not_found"


class DriverTooOldError(Error):
    """The driver lacks a function that Weir needs."""

    code = "driver_too_old"


class NoDeviceError(Error):
    """The driver works but reports no device."""

    code = "no_device"


class DriverFailedError(Error):
    """The driver did not start."""

    code = "driver_failed"


# Failures of the device or the driver.

class DeviceFaultError(Error):
    """Work on the device failed; the device's state may be lost."""

    code = "device_fault"


class BackendFailureError(Error):
    """Any other error of the vendor's driver; see the native code."""

    code = "backend_failure"


class CommunicatorFailedError(Error):
    """A peer, the network or a timeout made the communicator fail; make a new one."""

    code = "communicator_failed"


# Of the Python package itself.


class HostFunctionTimeoutError(Error, TimeoutError):
    """A stream continued without a host function: no thread could get the GIL."""

    code = "host_function_timeout"


class SlowKernelWarning(UserWarning):
    """Kernels with barriers run slowly on the CPU, for want of a compiler that has the work-group pass. Given once."""
