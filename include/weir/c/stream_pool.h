// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_STREAM_POOL_H
#define WEIR_C_STREAM_POOL_H

#include "weir/c/base.h"
#include "weir/c/stream.h"

/// @file
/// The C interface: pools that lend streams, and the current stream of a thread.

WEIR_C_BEGIN

// --- Pools --------------------------------------------------------------------------------------------------------------

/// Whether a stream may be on loan to several at a time.
typedef enum weir_pool_sharing WEIR_C_ENUM {
  WEIR_POOL_EXCLUSIVE = 0,    ///< each stream is lent once at a time
  WEIR_POOL_ROUND_ROBIN = 1,  ///< loans rotate over the streams; several may share one
} weir_pool_sharing;

/// How a pool of streams is made.
typedef struct weir_stream_pool_options {
  size_t struct_size;    ///< `sizeof(weir_stream_pool_options)`
  uint32_t max_streams;  ///< 0: 32
  weir_pool_sharing sharing;
  uint32_t stream_flags;    ///< of `weir_stream_flags`, for its streams
  weir_priority priority;   ///< of its streams
  int32_t priority_number;  ///< for `WEIR_PRIORITY_NUMBER`
  uint32_t reserved;        ///< 0
} weir_stream_pool_options;

/// Makes a pool. Its streams are made when they are first needed. `options` may be null. `pool` gets a reference.
WEIR_C_API weir_result weir_stream_pool_create(weir_device* device, const weir_stream_pool_options* options,
                                               weir_stream_pool** pool);
/// Adds an owner, and returns the pool.
WEIR_C_API weir_stream_pool* weir_stream_pool_retain(weir_stream_pool* pool);
/// Gives a reference back. Loans may outlive the pool.
WEIR_C_API void weir_stream_pool_release(weir_stream_pool* pool);
/// How many streams the pool has made.
WEIR_C_API weir_result weir_stream_pool_size(const weir_stream_pool* pool, size_t* size);
/// Lends a stream, until the last reference to `lease` is given back. It may still have work of a former loan, behind which
/// new work runs. `lease` gets a reference. Fails with `WEIR_ERROR_POOL_EXHAUSTED` if all streams are on loan or capture.
WEIR_C_API weir_result weir_stream_pool_lease(weir_stream_pool* pool, weir_stream_lease** lease);
/// The stream on loan, borrowed.
WEIR_C_API weir_stream* weir_stream_lease_stream(const weir_stream_lease* lease);
/// Adds an owner, and returns the loan.
WEIR_C_API weir_stream_lease* weir_stream_lease_retain(weir_stream_lease* lease);
/// Gives a reference back. With the last one the stream returns to its pool.
WEIR_C_API void weir_stream_lease_release(weir_stream_lease* lease);

// --- The current stream ---------------------------------------------------------------------------------------------------

/// Makes `stream` the calling thread's current one on its device, and keeps it alive, until `weir_stream_scope_end`. Scopes
/// may end in any order; the newest one counts. Nothing in Weir depends on the current stream.
WEIR_C_API weir_result weir_stream_scope_begin(weir_stream* stream, weir_stream_scope** scope);
/// Ends a scope, on the thread that began it. Null: does nothing.
WEIR_C_API void weir_stream_scope_end(weir_stream_scope* scope);
/// The calling thread's current stream on `device`: the newest scope's, or the legacy default stream. `stream` gets a
/// reference.
WEIR_C_API weir_result weir_stream_get_current(weir_device* device, weir_stream** stream);

WEIR_C_END

#endif
