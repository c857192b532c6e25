// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_EVENT_H
#define WEIR_C_EVENT_H

#include "weir/c/base.h"

/// @file
/// The C interface: events. An event is a point in the order of a stream; streams and the host can wait for it.

WEIR_C_BEGIN

/// The options of an event; combine them with `|`.
typedef enum weir_event_flags WEIR_C_ENUM {
  WEIR_EVENT_DEFAULT = 0,
  WEIR_EVENT_TIMING = 1,         ///< record the time, for `weir_event_elapsed_time`
  WEIR_EVENT_BLOCKING_SYNC = 2,  ///< `weir_event_synchronize` sleeps instead of spinning
  WEIR_EVENT_INTERPROCESS = 4,   ///< can be sent to another process; not with `WEIR_EVENT_TIMING`
} weir_event_flags;

/// A handle that lets another process open an allocation or an event. It is plain bytes: send them by any means.
typedef struct weir_interprocess_handle {
  uint8_t bytes[64];
} weir_interprocess_handle;

/// Makes an event. It is complete until it is recorded, and a wait for it does nothing. `flags`: bits of `weir_event_flags`;
/// unlike in CUDA, an event has timing only on request. `event` gets a reference. The flags need the features
/// `event_timing`, `blocking_sync_events` and `interprocess_events`. (cudaEventCreateWithFlags)
WEIR_C_API weir_result weir_event_create(weir_device* device, uint32_t flags, weir_event** event);
/// Adds a reference and returns the event.
WEIR_C_API weir_event* weir_event_retain(weir_event* event);
/// Releases a reference. The last release destroys the event; this does not affect work that already waits for it.
/// (cudaEventDestroy)
WEIR_C_API void weir_event_release(weir_event* event);
/// The device of the streams that can record the event.
WEIR_C_API weir_device* weir_event_device(const weir_event* event);
/// The event's flags.
WEIR_C_API uint32_t weir_event_get_flags(const weir_event* event);
/// The vendor's event (cudaEvent_t, hipEvent_t), for comparing and logging. Weir's event still owns it.
WEIR_C_API void* weir_event_native_handle(const weir_event* event);
/// Returns the native handle, for code that records the event through the vendor's API. From now on Weir assumes that such
/// code may record the event at any time.
WEIR_C_API void* weir_event_share_native_handle(weir_event* event);
/// Whether the event was ever recorded through Weir.
WEIR_C_API bool weir_event_is_recorded(const weir_event* event);
/// Describes the event: "cuda:0 event 0x7f…". Free the text with `weir_free`.
WEIR_C_API weir_result weir_event_describe(const weir_event* event, char** text);
/// Names the event for tools and descriptions. Null or empty removes the name. (nvtxNameCudaEventA)
WEIR_C_API weir_result weir_event_set_name(weir_event* event, const char* name);

/// Records `event` after all work enqueued so far on `stream`, which must belong to its device (`WEIR_ERROR_WRONG_DEVICE`).
/// Recording an event again moves it to the new point; waits that were enqueued before still wait for the old point.
/// (cudaEventRecord)
WEIR_C_API weir_result weir_event_record(weir_event* event, weir_stream* stream);
/// Records `event` as a node of the graph that `stream` captures: each launch of the graph records it. Fails with
/// `WEIR_ERROR_NOT_CAPTURING`. Feature `external_events`. (cudaEventRecordWithFlags, cudaEventRecordExternal)
WEIR_C_API weir_result weir_event_record_external(weir_event* event, weir_stream* stream);
/// Whether all work before the record is done. Returns the device's error if the work failed; `WEIR_ERROR_CAPTURED_EVENT` if
/// the last record was in a capture; `WEIR_ERROR_CAPTURE_UNSUPPORTED` if an open capture forbids the query. (cudaEventQuery,
/// but "not ready" is not an error)
WEIR_C_API weir_result weir_event_query(const weir_event* event, bool* complete);
/// Blocks the calling thread until the event is complete. Fails like `weir_event_query`. (cudaEventSynchronize)
WEIR_C_API weir_result weir_event_synchronize(const weir_event* event);
/// Like `weir_event_synchronize`, but waits for at most `timeout_ns` nanoseconds. `complete` is set to false if the event is
/// not complete by then, which is not a failure. A timeout of zero or less queries once.
WEIR_C_API weir_result weir_event_synchronize_for(const weir_event* event, int64_t timeout_ns, bool* complete);
/// Milliseconds from the record of `start` to the record of `end`, by the device's clock (resolution about half a
/// microsecond). Checks in this order, and fails with `WEIR_ERROR_WRONG_DEVICE`, `…_TIMING_DISABLED`, `…_NOT_RECORDED`,
/// `…_CAPTURED_EVENT` or `…_NOT_READY`. (cudaEventElapsedTime)
WEIR_C_API weir_result weir_event_elapsed_time(const weir_event* start, const weir_event* end, double* milliseconds);
/// Returns a handle that lets another process open the event. The event must have the flag `WEIR_EVENT_INTERPROCESS`.
/// (cudaIpcGetEventHandle)
WEIR_C_API weir_result weir_event_get_interprocess_handle(const weir_event* event, weir_interprocess_handle* handle);
/// Opens an event of another process. `event` gets a reference. (cudaIpcOpenEventHandle)
WEIR_C_API weir_result weir_event_open(weir_device* device, const weir_interprocess_handle* handle, weir_event** event);

WEIR_C_END

#endif
