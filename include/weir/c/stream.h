// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_STREAM_H
#define WEIR_C_STREAM_H

#include "weir/c/base.h"
#include "weir/c/stream_memory.h"

/// @file
/// The C interface: streams, waits between streams, host functions and attributes. The work of one stream runs in the order
/// of the calls. Work of different streams runs in any order, unless events or waits order it. Functions that enqueue work
/// return before the work is done.

WEIR_C_BEGIN

// --- Making -------------------------------------------------------------------------------------------------------------

/// Levels of priority. Weir maps them to the device's priorities.
typedef enum weir_priority WEIR_C_ENUM {
  WEIR_PRIORITY_NORMAL = 0,
  WEIR_PRIORITY_LOW = 1,
  WEIR_PRIORITY_HIGH = 2,
  WEIR_PRIORITY_NUMBER = 3,  ///< `weir_stream_options::priority_number`
} weir_priority;

/// The options of a stream.
typedef struct weir_stream_options {
  size_t struct_size;  ///< `sizeof(weir_stream_options)`
  uint32_t flags;      ///< bits of `weir_stream_flags`
  weir_priority priority;
  int32_t priority_number;  ///< for `WEIR_PRIORITY_NUMBER`: see `weir_device_priority_range`; a lower number is more urgent
  uint32_t reserved;        ///< 0
} weir_stream_options;

/// The bits of `weir_stream_options::flags`.
typedef enum weir_stream_flags WEIR_C_ENUM {
  WEIR_STREAM_NON_BLOCKING = 0,
  WEIR_STREAM_BLOCKING = 1,  ///< the stream and the legacy default stream wait for each other's work
} weir_stream_flags;

/// How a stream was created, and who owns the vendor's stream.
typedef enum weir_stream_kind WEIR_C_ENUM {
  WEIR_STREAM_OWNED = 0,
  WEIR_STREAM_BORROWED = 1,
  WEIR_STREAM_ADOPTED = 2,
  WEIR_STREAM_LEGACY_DEFAULT = 3,
  WEIR_STREAM_PER_THREAD_DEFAULT = 4,
} weir_stream_kind;

/// Who owns a native handle that a stream wraps.
typedef enum weir_ownership WEIR_C_ENUM {
  WEIR_OWNERSHIP_BORROW = 0,  ///< other code owns the handle; Weir never destroys it
  WEIR_OWNERSHIP_ADOPT = 1,   ///< Weir owns the handle and destroys it with the stream's last reference
} weir_ownership;

/// Makes a stream. `options` may be null. `stream` gets a reference. Fails with `WEIR_ERROR_INVALID_ARGUMENT`, with the
/// valid range, for a numeric priority out of range. (cudaStreamCreateWithPriority)
WEIR_C_API weir_result weir_stream_create(weir_device* device, const weir_stream_options* options, weir_stream** stream);
/// The device's legacy default stream: it waits for blocking streams, and they wait for it. `stream` gets a reference.
/// (cudaStreamLegacy)
WEIR_C_API weir_result weir_stream_get_default(weir_device* device, weir_stream** stream);
/// The calling thread's default stream on this device; no other thread may use it. `stream` gets a reference. Feature
/// `per_thread_default_stream`. (cudaStreamPerThread)
WEIR_C_API weir_result weir_stream_get_per_thread(weir_device* device, weir_stream** stream);
/// Wraps a vendor's stream (cudaStream_t, hipStream_t). It must be a stream of this device; on CUDA, of its primary context.
/// Null and the vendor's constants for default streams (cudaStreamLegacy, cudaStreamPerThread) return the default streams;
/// they can only be borrowed. `destroy(user_data)`, if `destroy` is not null, is called once the wrapper is closed and its
/// stream-ordered memory is freed, or if this call fails. A borrowed handle must live until then. `stream` gets a reference.
/// Adopt a handle only once: otherwise it would be destroyed twice. Fails with `WEIR_ERROR_WRONG_DEVICE` or
/// `WEIR_ERROR_INVALID_ARGUMENT` if Weir detects a mistake.
WEIR_C_API weir_result weir_stream_wrap(weir_device* device, void* handle, weir_ownership ownership,
                                        void (*destroy)(void* user_data), void* user_data, weir_stream** stream);
/// Adds a reference and returns the stream.
WEIR_C_API weir_stream* weir_stream_retain(weir_stream* stream);
/// Releases a reference. The last release closes the stream; work that was enqueued still runs. (cudaStreamDestroy)
WEIR_C_API void weir_stream_release(weir_stream* stream);
/// Closes the stream, even if there are other references to it. Drops a capture that the stream began. Does not wait for
/// enqueued work. A second call does nothing. No other thread may use the stream during the call. Fails with
/// `WEIR_ERROR_INVALID_ARGUMENT` for a default stream.
WEIR_C_API weir_result weir_stream_close(weir_stream* stream);
/// Closes the stream without destroying the vendor's handle: the caller becomes its owner and must destroy it. Fails with
/// `WEIR_ERROR_INVALID_ARGUMENT` unless the stream is owned or adopted.
WEIR_C_API weir_result weir_stream_release_handle(weir_stream* stream, void** handle);
/// The range of the device's stream priorities, in the vendor's numbering: a lower number is more urgent. Either pointer may
/// be null. (cudaDeviceGetStreamPriorityRange)
WEIR_C_API weir_result weir_device_priority_range(const weir_device* device, int32_t* least, int32_t* greatest);

// --- Identity -----------------------------------------------------------------------------------------------------------

/// The device that the stream's work runs on. (cudaStreamGetDevice)
WEIR_C_API weir_device* weir_stream_device(const weir_stream* stream);
/// How the stream was created.
WEIR_C_API weir_stream_kind weir_stream_get_kind(const weir_stream* stream);
/// The vendor's stream, for comparing and logging. Weir's stream still owns it.
WEIR_C_API void* weir_stream_native_handle(const weir_stream* stream);
/// Like `weir_stream_native_handle`, for code that uses the stream through the vendor's API. Such code may begin a capture,
/// so from now on each call on this stream first queries the driver for captures.
WEIR_C_API weir_result weir_stream_share_native_handle(weir_stream* stream, void** handle);
/// The vendor's context (CUcontext). Feature `native_context`. (cuStreamGetCtx)
WEIR_C_API weir_result weir_stream_native_context(const weir_stream* stream, void** context);
/// A number that is unique for the life of the process. (cudaStreamGetId)
WEIR_C_API weir_result weir_stream_id(const weir_stream* stream, uint64_t* id);
/// Whether the stream and the legacy default stream do not wait for each other. (cudaStreamGetFlags)
WEIR_C_API weir_result weir_stream_is_non_blocking(const weir_stream* stream, bool* non_blocking);
/// The priority as the vendor numbers it. (cudaStreamGetPriority)
WEIR_C_API weir_result weir_stream_get_priority(const weir_stream* stream, int32_t* priority);
/// Whether `weir_stream_close` or `weir_stream_release_handle` was called.
WEIR_C_API bool weir_stream_is_closed(const weir_stream* stream);
/// Describes the stream: "cuda:0 stream 0x55… (capturing)", to be freed with `weir_free`. Also works for a closed stream.
WEIR_C_API weir_result weir_stream_describe(const weir_stream* stream, char** text);
/// Names the stream for tools, descriptions and errors, until it is closed. Null or empty removes the name.
/// (nvtxNameCudaStreamA)
WEIR_C_API weir_result weir_stream_set_name(weir_stream* stream, const char* name);
/// Compares two streams by backend, device and native handle, for sorting and for keys. Returns a negative number, 0 or a
/// positive number. All wrappers of one vendor's stream are equal; a closed stream equals only itself. Null is less than any
/// stream.
WEIR_C_API int32_t weir_stream_compare(const weir_stream* a, const weir_stream* b);
/// A hash consistent with `weir_stream_compare`.
WEIR_C_API size_t weir_stream_hash(const weir_stream* stream);

// --- Order --------------------------------------------------------------------------------------------------------------

/// Blocks the calling thread until all work enqueued so far is done. Returns an error if the work failed;
/// `WEIR_ERROR_UNKNOWN` if a host function written in C++ threw an exception. Fails with `WEIR_ERROR_CAPTURE_UNSUPPORTED` if
/// this stream is capturing, or an open capture forbids the wait. (cudaStreamSynchronize)
WEIR_C_API weir_result weir_stream_synchronize(weir_stream* stream);
/// Like `weir_stream_synchronize`, but waits for at most `timeout_ns` nanoseconds. `complete` is set to false if work is
/// still pending then, which is not a failure. A timeout of zero or less queries once.
WEIR_C_API weir_result weir_stream_synchronize_for(weir_stream* stream, int64_t timeout_ns, bool* complete);
/// Whether all work enqueued so far is done. Fails like `weir_stream_synchronize`. (cudaStreamQuery, but "not ready" is not
/// an error)
WEIR_C_API weir_result weir_stream_query(const weir_stream* stream, bool* complete);
/// Creates an event like `weir_event_create`, and records it after all work enqueued so far. `event` gets a reference.
WEIR_C_API weir_result weir_stream_record(weir_stream* stream, uint32_t event_flags, weir_event** event);
/// Makes later work of `stream` wait for `event`, which may belong to another device of the backend. Does not block the
/// host. Fails with `WEIR_ERROR_CAPTURE_ISOLATION` or `WEIR_ERROR_CAPTURE_MERGE` if the wait would invalidate a capture; the
/// capture continues. (cudaStreamWaitEvent)
WEIR_C_API weir_result weir_stream_wait_event(weir_stream* stream, const weir_event* event);
/// Adds a node that waits for `event` to the graph being captured: each launch of the graph waits for the event's last
/// record. Fails with `WEIR_ERROR_NOT_CAPTURING`. Feature `external_events`. (cudaStreamWaitEvent, cudaEventWaitExternal)
WEIR_C_API weir_result weir_stream_wait_event_external(weir_stream* stream, const weir_event* event);
/// Makes later work of `stream` wait for all work enqueued so far on `other`. Does nothing if both are the same stream.
/// Fails like `weir_stream_wait_event`.
WEIR_C_API weir_result weir_stream_wait_stream(weir_stream* stream, weir_stream* other);

// --- Host work ----------------------------------------------------------------------------------------------------------

/// Calls `function(user_data)` on a thread of the driver, in stream order: the function starts after all earlier work is
/// done, and later work waits until the function has returned. `function` must not call Weir or wait for work of this
/// device. It is not called if the stream has failed. A captured function belongs to the graph and runs at every launch.
/// `destroy(user_data)`, if not null, is called exactly once: after the function has returned for the last time or can no
/// longer be called, and if this call fails. It may run on any thread. Feature `host_functions`; on a capturing stream
/// `host_functions_in_capture`. (cudaLaunchHostFunc)
WEIR_C_API weir_result weir_stream_launch_host_function(weir_stream* stream, void (*function)(void* user_data),
                                                        void (*destroy)(void* user_data), void* user_data);
/// Like `weir_stream_launch_host_function`, and names the function. Tools, `weir_stream_pending` and saved graphs use the
/// name. Null or empty: no name.
WEIR_C_API weir_result weir_stream_launch_named_host_function(weir_stream* stream, const char* name,
                                                              void (*function)(void* user_data),
                                                              void (*destroy)(void* user_data), void* user_data);
/// Like `weir_stream_launch_host_function`, but the callback also runs if the stream has failed: `callback(stream, status,
/// user_data)`, where `status` is the error. Fails with `WEIR_ERROR_CAPTURE_UNSUPPORTED` while capturing. Feature
/// `stream_callbacks`. (cudaStreamAddCallback)
WEIR_C_API weir_result weir_stream_add_callback(weir_stream* stream,
                                                void (*callback)(weir_stream* stream, weir_result status, void* user_data),
                                                void (*destroy)(void* user_data), void* user_data);

// --- Pending work -------------------------------------------------------------------------------------------------------

/// The kinds of pending work.
typedef enum weir_pending_kind WEIR_C_ENUM {
  WEIR_PENDING_NOTHING = 0,  ///< all work is done
  WEIR_PENDING_UNKNOWN = 1,  ///< work is pending, but Weir cannot identify it: docs/health.md
  WEIR_PENDING_KERNEL = 2,
  WEIR_PENDING_MEMORY = 3,  ///< a copy, a fill, a written value or a free
  WEIR_PENDING_HOST_FUNCTION = 4,
  WEIR_PENDING_STREAM = 5,  ///< a wait for another stream, or for an event recorded on it
  WEIR_PENDING_VALUE = 6,   ///< a wait for a value in memory: `weir_pending_work::wait`
  WEIR_PENDING_GRAPH = 7,
  WEIR_PENDING_OTHER = 8,
} weir_pending_kind;

/// The first operation of a stream that is not done.
typedef struct weir_pending_work {
  size_t struct_size;  ///< `sizeof(weir_pending_work)`
  weir_pending_kind kind;
  uint32_t reserved;           ///< 0
  uint64_t behind;             ///< the number of later operations on the stream, if known
  weir_memory_operation wait;  ///< for `WEIR_PENDING_VALUE`: the condition
} weir_pending_work;

/// Describes the first operation that is not done, for which `weir_stream_synchronize` would wait. `work`: set its
/// `struct_size` before the call. `description` is set to a text that the caller must free: "kernel 'scale'" and the number
/// of later operations. Either may be null. Exact on the host backend; on GPUs Weir identifies operations only if the
/// environment variable WEIR_JOURNAL is set. Fails like `weir_stream_query`.
WEIR_C_API weir_result weir_stream_pending(const weir_stream* stream, weir_pending_work* work, char** description);

// --- Attributes ---------------------------------------------------------------------------------------------------------

/// How a host thread waits in `weir_stream_synchronize` (cudaSynchronizationPolicy).
typedef enum weir_synchronization_policy WEIR_C_ENUM {
  WEIR_SYNCHRONIZATION_AUTOMATIC = 0,
  WEIR_SYNCHRONIZATION_SPIN = 1,
  WEIR_SYNCHRONIZATION_YIELD = 2,
  WEIR_SYNCHRONIZATION_BLOCK = 3,
} weir_synchronization_policy;

/// How the L2 cache treats a line (cudaAccessProperty).
typedef enum weir_access_property WEIR_C_ENUM {
  WEIR_ACCESS_NORMAL = 0,
  WEIR_ACCESS_STREAMING = 1,
  WEIR_ACCESS_PERSISTING = 2,
} weir_access_property;

/// A window of memory and how the L2 cache should treat it (cudaAccessPolicyWindow).
typedef struct weir_access_policy_window {
  size_t struct_size;  ///< `sizeof(weir_access_policy_window)`
  void* base;
  uint64_t size_bytes;
  float hit_ratio;  ///< the share of accesses, 0 to 1, that get `hit`; the others get `miss`
  weir_access_property hit;
  weir_access_property miss;
  uint32_t reserved;  ///< 0
} weir_access_policy_window;

/// How a host thread waits in `weir_stream_synchronize`. Feature `synchronization_policy`. (cudaStreamGetAttribute)
WEIR_C_API weir_result weir_stream_get_synchronization_policy(const weir_stream* stream,
                                                              weir_synchronization_policy* policy);
/// Sets how a host thread waits in `weir_stream_synchronize`. Feature `synchronization_policy`. (cudaStreamSetAttribute)
WEIR_C_API weir_result weir_stream_set_synchronization_policy(weir_stream* stream, weir_synchronization_policy policy);
/// The stream's window of memory that the L2 cache keeps. `window`: set its `struct_size` before the call. Feature
/// `access_policy_window`.
WEIR_C_API weir_result weir_stream_get_access_policy_window(const weir_stream* stream, weir_access_policy_window* window);
/// Sets that window. Fails with `WEIR_ERROR_INVALID_ARGUMENT` for a hit ratio that is not between 0 and 1. Feature
/// `access_policy_window`. (cudaStreamSetAttribute)
WEIR_C_API weir_result weir_stream_set_access_policy_window(weir_stream* stream, const weir_access_policy_window* window);
/// Copies the synchronization policy and the access policy window from `other`, a stream of the same device.
/// (cudaStreamCopyAttributes)
WEIR_C_API weir_result weir_stream_copy_attributes(weir_stream* stream, const weir_stream* other);

WEIR_C_END

#endif
