// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_ERRORS_H
#define WEIR_ERRORS_H

/// @file
/// The codes of errors, for C++ (`weir::Errc`), C (`weir_result`) and Python (the classes of exceptions).

/// The list of codes: X(number, name, NAME, class, sentence). `NAME`: as C spells it. `class`: the Python class, which
/// several codes may share. Numbers never change, because programs contain them. docs/errors.md lists usual causes and
/// remedies.
#define WEIR_ERRORS(X)                                                                                                      \
  X(1, invalid_argument, INVALID_ARGUMENT, InvalidArgumentError, "an argument is outside its domain")                       \
  X(2, length_mismatch, LENGTH_MISMATCH, LengthMismatchError, "the two sides of a copy differ in length")                   \
  X(3, stream_closed, STREAM_CLOSED, StreamClosedError, "the stream was closed")                                            \
  X(4, wrong_device, WRONG_DEVICE, WrongDeviceError, "the object belongs to another device or backend")                     \
  X(5, wrong_thread, WRONG_THREAD, InvalidArgumentError, "the stream is another thread's per-thread default stream")        \
  X(6, unsupported, UNSUPPORTED, UnsupportedError, "the device lacks a feature")                                            \
  X(7, called_from_host_function, CALLED_FROM_HOST_FUNCTION, CalledFromHostFunctionError,                                   \
    "a host function must not call Weir")                                                                                   \
  X(8, forked_process, FORKED_PROCESS, ForkedProcessError, "the backend was opened before fork(); the child cannot use it") \
  X(9, capture_unsupported, CAPTURE_UNSUPPORTED, CaptureError, "not allowed while capturing; the capture continues")        \
  X(10, capture_invalidated, CAPTURE_INVALIDATED, CaptureError, "an earlier error invalidated the capture")                 \
  X(11, capture_merge, CAPTURE_MERGE, CaptureError, "the call would join two separate captures")                            \
  X(12, capture_unmatched, CAPTURE_UNMATCHED, CaptureError, "another stream began the capture")                             \
  X(13, capture_unjoined, CAPTURE_UNJOINED, CaptureError,                                                                   \
    "the stream that began the capture has not waited for a stream that joined it; the capture has ended")                  \
  X(14, capture_isolation, CAPTURE_ISOLATION, CaptureError, "captured work would depend on work outside the capture")       \
  X(15, capture_implicit, CAPTURE_IMPLICIT, CaptureError, "the legacy default stream would be ordered against a capture")   \
  X(16, captured_event, CAPTURED_EVENT, CaptureError,                                                                       \
    "the event was last recorded in a capture, so it never completes by itself")                                            \
  X(17, capture_wrong_thread, CAPTURE_WRONG_THREAD, CaptureError,                                                           \
    "another thread began the capture, and in its mode only that thread may end it")                                        \
  X(18, not_capturing, NOT_CAPTURING, CaptureError, "the stream is not capturing")                                          \
  X(19, already_capturing, ALREADY_CAPTURING, CaptureError, "the stream is already capturing")                              \
  X(20, timing_disabled, TIMING_DISABLED, InvalidArgumentError, "the event was made without timing")                        \
  X(21, not_recorded, NOT_RECORDED, InvalidArgumentError, "the event was never recorded")                                   \
  X(22, not_ready, NOT_READY, NotReadyError, "the event is not complete")                                                   \
  X(23, out_of_memory, OUT_OF_MEMORY, OutOfMemoryError, "memory is exhausted")                                              \
  X(24, pool_exhausted, POOL_EXHAUSTED, Error, "all streams of the pool are leased")                                        \
  X(25, compilation_failed, COMPILATION_FAILED, CompilationFailedError, "the source did not compile")                       \
  X(26, compiler_not_found, COMPILER_NOT_FOUND, CompilerNotFoundError, "no compiler was found")                             \
  X(27, invalid_image, INVALID_IMAGE, InvalidImageError, "this device cannot load the image")                               \
  X(28, kernel_not_found, KERNEL_NOT_FOUND, KernelNotFoundError, "the module has no kernel of that name")                   \
  X(29, graph_update_failed, GRAPH_UPDATE_FAILED, GraphUpdateFailedError,                                                   \
    "the new graph differs too much; the executable graph is unchanged")                                                    \
  X(30, invalid_environment, INVALID_ENVIRONMENT, InvalidEnvironmentError, "an environment variable does not parse")        \
  X(31, backend_unknown, BACKEND_UNKNOWN, BackendUnavailableError, "there is no backend of that name")                      \
  X(32, plugin_not_found, PLUGIN_NOT_FOUND, BackendUnavailableError, "the backend's plugin was not found")                  \
  X(33, plugin_incompatible, PLUGIN_INCOMPATIBLE, BackendUnavailableError, "the plugin was built for another Weir")         \
  X(34, headers_incompatible, HEADERS_INCOMPATIBLE, BackendUnavailableError,                                                \
    "the program was built with the headers of another Weir")                                                               \
  X(35, driver_not_found, DRIVER_NOT_FOUND, BackendUnavailableError, "the vendor's driver library could not be opened")     \
  X(36, driver_too_old, DRIVER_TOO_OLD, BackendUnavailableError, "the driver lacks a function that Weir needs")             \
  X(37, no_device, NO_DEVICE, BackendUnavailableError, "the driver reports no device")                                      \
  X(38, driver_failed, DRIVER_FAILED, BackendUnavailableError, "the driver did not start")                                  \
  X(39, device_fault, DEVICE_FAULT, DeviceFaultError, "work on the device failed; the device's state may be lost")          \
  X(40, backend_failure, BACKEND_FAILURE, BackendFailureError, "the driver reported an error")                              \
  X(41, communicator_failed, COMMUNICATOR_FAILED, BackendFailureError,                                                      \
    "a peer, the network or a timeout made the communicator fail")

#endif
