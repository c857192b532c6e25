// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_EVENT_H
#define WEIR_C_EVENT_H

#include "weir/c/base.h"

/// @file
/// The C interface: events, points in the order of a stream, which streams and the host can wait for.

WEIR_C_BEGIN

/// How an event is made; to be combined with `|`.
typedef enum weir_event_flags WEIR_C_ENUM {
  WEIR_EVENT_DEFAULT = 0,
  WEIR_EVENT_TIMING = 1,         ///< record the time, for `weir_event_elapsed_time`
  WEIR_EVENT_BLOCKING_SYNC = 2,  ///< `weir_event_synchronize` sleeps instead of spinning
  WEIR_EVENT_INTERPROCESS = 4,   ///< can be sent to another process; not with `WEIR_EVENT_TIMING`
} weir_event_flags;

/// A handle with which another process opens an allocation or an event. Plain bytes; send them by any means.
typedef struct weir_interprocess_handle {
  uint8_t bytes[64];
} weir_interprocess_handle;

/// Makes an event. It is complete until it is recorded, and a wait for it does nothing. `flags`: of `weir_event_flags`;
/// unlike CUDA's, an event has no timing unless it is asked for. `event` gets a reference. Features `event_timing`,
/// `blocking_sync_events` and `interprocess_events` for those flags. (cudaEventCreateWithFlags)
WEIR_C_API weir_result weir_event_create(weir_device* device, uint32_t flags, weir_event** event);
/// Adds an owner, and returns the event.
WEIR_C_API weir_event* weir_event_retain(weir_event* event);
/// Gives a reference back. The last one ends the event; work that waits for it still does. (cudaEventDestroy)
WEIR_C_API void weir_event_release(weir_event* event);
/// The device on whose streams the event is recorded.
WEIR_C_API weir_device* weir_event_device(const weir_event* event);
/// The flags that the event was made with.
WEIR_C_API uint32_t weir_event_get_flags(const weir_event* event);
/// The vendor's event (cudaEvent_t, hipEvent_t), to compare and to log. The event still owns it.
WEIR_C_API void* weir_event_native_handle(const weir_event* event);
/// The same, to hand to other code, which may record it from now on.
WEIR_C_API void* weir_event_share_native_handle(weir_event* event);
/// Whether it was ever recorded through Weir.
WEIR_C_API bool weir_event_is_recorded(const weir_event* event);
/// "cuda:0 event 0x7f…", for the caller to free by `weir_free`.
WEIR_C_API weir_result weir_event_describe(const weir_event* event, char** text);
/// Names the event for tools and descriptions. Null or empty: no name. (nvtxNameCudaEventA)
WEIR_C_API weir_result weir_event_set_name(weir_event* event, const char* name);

/// Records `event` after all work enqueued so far on `stream`, which must be of its device (`WEIR_ERROR_WRONG_DEVICE`). A
/// new record moves the event; waits that were enqueued before keep the former point. (cudaEventRecord)
WEIR_C_API weir_result weir_event_record(weir_event* event, weir_stream* stream);
/// Records `event` as a node of the graph that `stream` captures: each launch of the graph records it. Fails with
/// `WEIR_ERROR_NOT_CAPTURING`. Feature `external_events`. (cudaEventRecordWithFlags, cudaEventRecordExternal)
WEIR_C_API weir_result weir_event_record_external(weir_event* event, weir_stream* stream);
/// Whether all work before the record is done. Returns the device's error if the work failed;
/// `WEIR_ERROR_CAPTURED_EVENT` if the last record was in a capture; `WEIR_ERROR_CAPTURE_UNSUPPORTED` if an open capture
/// forbids the query. (cudaEventQuery, but "not ready" is no error)
WEIR_C_API weir_result weir_event_query(const weir_event* event, bool* complete);
/// Blocks the calling thread until the event is complete. Fails as `weir_event_query`. (cudaEventSynchronize)
WEIR_C_API weir_result weir_event_synchronize(const weir_event* event);
/// Likewise, but gives up after `timeout_ns` nanoseconds: `complete` gets false then, and that is no failure. Zero or less:
/// asks once.
WEIR_C_API weir_result weir_event_synchronize_for(const weir_event* event, int64_t timeout_ns, bool* complete);
/// Milliseconds from the record of `start` to the record of `end`, by the device's clock (resolution about half a
/// microsecond). Fails with `WEIR_ERROR_WRONG_DEVICE`, `…_TIMING_DISABLED`, `…_NOT_RECORDED`, `…_CAPTURED_EVENT` or
/// `…_NOT_READY`, in this order. (cudaEventElapsedTime)
WEIR_C_API weir_result weir_event_elapsed_time(const weir_event* start, const weir_event* end, double* milliseconds);
/// A handle with which another process opens the event, which must have been made with `WEIR_EVENT_INTERPROCESS`.
/// (cudaIpcGetEventHandle)
WEIR_C_API weir_result weir_event_get_interprocess_handle(const weir_event* event, weir_interprocess_handle* handle);
/// Opens an event of another process. `event` gets a reference. Feature `interprocess_events`. (cudaIpcOpenEventHandle)
WEIR_C_API weir_result weir_event_open(weir_device* device, const weir_interprocess_handle* handle, weir_event** event);

WEIR_C_END

#endif
