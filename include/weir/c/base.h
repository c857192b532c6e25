// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_BASE_H
#define WEIR_C_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// @file
/// The C interface: versions, results, errors, and the handles of all objects.

#ifdef __cplusplus
#define WEIR_C_BEGIN extern "C" {
#define WEIR_C_END }
// Fixes the underlying type of an enumeration in C++, so that passing a number that is not an enumerator is not undefined
// behaviour.
#define WEIR_C_ENUM : unsigned int
#else
#define WEIR_C_BEGIN
#define WEIR_C_END
#define WEIR_C_ENUM
#endif
/// Marks the functions that `libweir_c` exports.
#define WEIR_C_API __attribute__((visibility("default")))

/// The revision of these headers. Each release that adds to the C interface increments it.
#define WEIR_C_REVISION 1

WEIR_C_BEGIN

// --- Handles ------------------------------------------------------------------------------------------------------------

/// One vendor's opened driver, or the CPU, with its devices. Lives until the process ends.
typedef struct weir_backend weir_backend;
/// A device of a backend. Lives until the process ends.
typedef struct weir_device weir_device;
/// A queue of work on one device, in order (cudaStream_t).
typedef struct weir_stream weir_stream;
/// A point in a stream's order (cudaEvent_t).
typedef struct weir_event weir_event;
/// A block of memory.
typedef struct weir_allocation weir_allocation;
/// A pool of stream-ordered memory (cudaMemPool_t).
typedef struct weir_memory_pool weir_memory_pool;
/// A pinned range of the program's own host memory (cudaHostRegister).
typedef struct weir_host_registration weir_host_registration;
/// Device code that is loaded on a device (CUmodule).
typedef struct weir_module weir_module;
/// A function of a module, which a stream launches (CUfunction).
typedef struct weir_kernel weir_kernel;
/// Captured work (cudaGraph_t).
typedef struct weir_graph weir_graph;
/// A graph that is ready to run (cudaGraphExec_t).
typedef struct weir_graph_exec weir_graph_exec;
/// A graph that was loaded from a file. Its memory and host functions must be bound before it can be built.
typedef struct weir_portable_graph weir_portable_graph;

// --- Results ------------------------------------------------------------------------------------------------------------

/// The result of a call. docs/errors.md lists usual causes and remedies. A later release of the library may return other
/// numbers.
typedef enum weir_result WEIR_C_ENUM {
  WEIR_SUCCESS = 0,
  WEIR_ERROR_INVALID_ARGUMENT = 1,           ///< an argument outside its domain
  WEIR_ERROR_LENGTH_MISMATCH = 2,            ///< the two sides of a copy differ in length
  WEIR_ERROR_STREAM_CLOSED = 3,              ///< the stream was closed
  WEIR_ERROR_WRONG_DEVICE = 4,               ///< an object belongs to another device or backend
  WEIR_ERROR_WRONG_THREAD = 5,               ///< the stream is another thread's per-thread default stream
  WEIR_ERROR_UNSUPPORTED = 6,                ///< the device lacks a feature; the message has the reason
  WEIR_ERROR_CALLED_FROM_HOST_FUNCTION = 7,  ///< a host function must not call Weir
  WEIR_ERROR_FORKED_PROCESS = 8,             ///< the backend was opened before fork(); the child cannot use it
  WEIR_ERROR_CAPTURE_UNSUPPORTED = 9,        ///< not allowed while capturing; the capture continues
  WEIR_ERROR_CAPTURE_INVALIDATED = 10,       ///< an earlier error invalidated the capture
  WEIR_ERROR_CAPTURE_MERGE = 11,             ///< the call would join two separate captures
  WEIR_ERROR_CAPTURE_UNMATCHED = 12,         ///< another stream began the capture
  WEIR_ERROR_CAPTURE_UNJOINED = 13,          ///< the capture was ended while a forked stream was not joined
  WEIR_ERROR_CAPTURE_ISOLATION = 14,         ///< captured work would depend on work outside the capture
  WEIR_ERROR_CAPTURE_IMPLICIT = 15,          ///< the legacy default stream would be ordered against a capture
  WEIR_ERROR_CAPTURED_EVENT = 16,            ///< the event was last recorded in a capture; it never completes
  WEIR_ERROR_CAPTURE_WRONG_THREAD = 17,      ///< only the thread that began the capture may end it
  WEIR_ERROR_NOT_CAPTURING = 18,             ///< the call needs an open capture
  WEIR_ERROR_ALREADY_CAPTURING = 19,         ///< the stream is already capturing
  WEIR_ERROR_TIMING_DISABLED = 20,           ///< elapsed time of an event made without timing
  WEIR_ERROR_NOT_RECORDED = 21,              ///< elapsed time of an event that was never recorded
  WEIR_ERROR_NOT_READY = 22,                 ///< elapsed time of an event that is not complete
  WEIR_ERROR_OUT_OF_MEMORY = 23,             ///< host or device memory is exhausted
  WEIR_ERROR_POOL_EXHAUSTED = 24,            ///< all streams of a pool are leased
  WEIR_ERROR_COMPILATION_FAILED = 25,        ///< the source did not compile; the message has the compiler's log
  WEIR_ERROR_COMPILER_NOT_FOUND = 26,        ///< no compiler was found
  WEIR_ERROR_INVALID_IMAGE = 27,             ///< this device cannot load the image
  WEIR_ERROR_KERNEL_NOT_FOUND = 28,          ///< the module has no kernel of that name
  WEIR_ERROR_GRAPH_UPDATE_FAILED = 29,       ///< the new graph differs too much; the executable is unchanged
  WEIR_ERROR_INVALID_ENVIRONMENT = 30,       ///< an environment variable does not parse
  WEIR_ERROR_BACKEND_UNKNOWN = 31,           ///< no backend of that name is known or found
  WEIR_ERROR_PLUGIN_NOT_FOUND = 32,          ///< the backend's plugin is in none of the folders searched
  WEIR_ERROR_PLUGIN_INCOMPATIBLE = 33,       ///< the plugin was built for another Weir
  WEIR_ERROR_HEADERS_INCOMPATIBLE = 34,      ///< libweir_c was built with the headers of another libweir
  WEIR_ERROR_DRIVER_NOT_FOUND = 35,          ///< the vendor's driver library could not be opened
  WEIR_ERROR_DRIVER_TOO_OLD = 36,            ///< the driver lacks a function that Weir needs
  WEIR_ERROR_NO_DEVICE = 37,                 ///< the driver works but reports no device
  WEIR_ERROR_DRIVER_FAILED = 38,             ///< the driver did not start
  WEIR_ERROR_DEVICE_FAULT = 39,              ///< work on the device failed; the device's state may be lost
  WEIR_ERROR_BACKEND_FAILURE = 40,           ///< any other error of the driver; see `weir_error::native_code`
  WEIR_ERROR_COMMUNICATOR_FAILED = 41,       ///< from collectives, which are not available in C
  WEIR_ERROR_UNKNOWN = 999,                  ///< an exception from another library, thrown by a callback written in C++
} weir_result;

/// The result's name, "stream_closed", or "success"; "unknown" for a number that the library does not define. Static text.
/// (cudaGetErrorName)
WEIR_C_API const char* weir_result_name(weir_result result);

/// The calling thread's last failure.
typedef struct weir_error {
  size_t struct_size;     ///< `sizeof(weir_error)`
  weir_result code;       ///< `WEIR_SUCCESS` if no call of this thread has failed; all texts are "" then
  uint32_t reserved;      ///< 0
  const char* message;    ///< the whole text: "weir_stream_wait_event: Stream::wait on cuda:0 stream 0x55…: cause; remedy"
  const char* operation;  ///< the operation's C++ name, "Stream::wait", or the C function
  const char* object;     ///< the object of the call: "cuda:0 stream 0x55…", or ""
  const char* detail;     ///< cause and remedy
  int64_t native_code;    ///< the driver's code; 0 if the error does not come from a driver
  const char* native_name;     ///< "CUDA_ERROR_INVALID_VALUE"
  const char* native_message;  ///< the driver's message
} weir_error;

/// Explains the calling thread's last failed call; "" if none has failed. Never null. The text lives until the thread's next
/// failed call, or until the thread ends. Successful calls neither change nor clear it. (cudaGetErrorString, sqlite3_errmsg)
WEIR_C_API const char* weir_last_error_message(void);
/// Writes the parts of that explanation to `error`. Set `error->struct_size` before the call. The texts live as long as the
/// text of `weir_last_error_message`. Fails with `WEIR_ERROR_INVALID_ARGUMENT` for null and for an invalid `struct_size`;
/// only then does it replace the last error.
WEIR_C_API weir_result weir_last_error(weir_error* error);

/// Frees memory that a function returned through a `char**` or a `void**`. Null: does nothing. (sqlite3_free)
WEIR_C_API void weir_free(void* memory);

// --- Versions -----------------------------------------------------------------------------------------------------------

/// Weir's version as a number: 0.1.0 is 100, 1.2.3 is 10203. (cudaRuntimeGetVersion)
WEIR_C_API uint32_t weir_version(void);
/// Weir's version as text: "0.1.0". Static text.
WEIR_C_API const char* weir_version_string(void);
/// The library's own `WEIR_C_REVISION`. The library supports this revision and all earlier ones.
WEIR_C_API uint32_t weir_c_revision(void);

WEIR_C_END

#endif
