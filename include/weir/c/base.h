// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_BASE_H
#define WEIR_C_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir/errors.h"

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

/// The result of a call: success, or an error of the list `WEIR_ERRORS` (weir/errors.h), such as `WEIR_ERROR_STREAM_CLOSED`.
/// docs/errors.md lists usual causes and remedies. A later release of the library may return other numbers.
typedef enum weir_result WEIR_C_ENUM {
  WEIR_SUCCESS = 0,
#define WEIR_C_RESULT(number, name, NAME, type, sentence) WEIR_ERROR_##NAME = number,
  WEIR_ERRORS(WEIR_C_RESULT)
#undef WEIR_C_RESULT
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
