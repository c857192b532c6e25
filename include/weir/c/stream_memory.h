// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_STREAM_MEMORY_H
#define WEIR_C_STREAM_MEMORY_H

#include "weir/c/base.h"

/// @file
/// The C interface: memory operations of a stream: copies, fills, managed memory, and writes of and waits for values.
/// Addresses may be in any memory that the device can access. Sizes and pitches are in bytes. A copy or fill of zero bytes
/// does nothing.

WEIR_C_BEGIN

// --- Copies and fills ---------------------------------------------------------------------------------------------------

/// Copies `bytes` bytes. The driver finds the direction from the addresses. Copies between device, pinned and managed memory
/// do not block the caller; copies from or to pageable memory may. If the source is pageable memory, no pending work may
/// write it: CUDA reads up to 2 MiB of it during the call. (cudaMemcpyAsync)
WEIR_C_API weir_result weir_stream_copy(weir_stream* stream, void* destination, const void* source, size_t bytes);
/// Copies `bytes` bytes to the host after all work enqueued so far, and blocks until the copy is done. Fails like
/// `weir_stream_synchronize`; on a capturing stream it enqueues nothing.
WEIR_C_API weir_result weir_stream_read(weir_stream* stream, void* destination, const void* source, size_t bytes);
/// A box of bytes in rows and slices: an image, a volume, or a part of one.
typedef struct weir_pitched {
  void* data;          ///< the first byte
  size_t width;        ///< bytes of a row
  size_t height;       ///< rows in a slice
  size_t depth;        ///< number of slices
  size_t row_pitch;    ///< bytes from one row to the next; 0: rows are dense
  size_t slice_pitch;  ///< bytes from one slice to the next, a multiple of `row_pitch`; 0: slices are dense
} weir_pitched;

/// Copies a box to another box of the same extent; fails with `WEIR_ERROR_LENGTH_MISMATCH` if the extents differ. Fails with
/// `WEIR_ERROR_INVALID_ARGUMENT` if rows or slices overlap. (cudaMemcpy2DAsync, cudaMemcpy3DAsync)
WEIR_C_API weir_result weir_stream_copy_pitched(weir_stream* stream, const weir_pitched* destination,
                                                const weir_pitched* source);

/// One copy of a batch.
typedef struct weir_batch_copy {
  void* destination;
  const void* source;
  size_t bytes;
} weir_batch_copy;

/// When a batch may read its sources. (CUmemcpySrcAccessOrder)
typedef enum weir_source_access WEIR_C_ENUM {
  WEIR_SOURCE_IN_STREAM_ORDER = 0,  ///< after the stream's earlier work is done
  WEIR_SOURCE_ANY_TIME = 1,         ///< at any time after the call; the program promises that no earlier work of the stream
                                    ///< writes the sources
} weir_source_access;

/// Makes `count` copies in one call. They run in any order; later work waits for all of them. Feature `batch_copies`.
/// (cuMemcpyBatchAsync)
WEIR_C_API weir_result weir_stream_copy_batch(weir_stream* stream, const weir_batch_copy* copies, size_t count,
                                              weir_source_access access);
/// Copies between two devices of the stream's backend: directly if they can access each other, otherwise through the host.
/// (cudaMemcpyPeerAsync)
WEIR_C_API weir_result weir_stream_copy_peer(weir_stream* stream, void* destination, const weir_device* destination_device,
                                             const void* source, const weir_device* source_device, size_t bytes);
/// Sets `count` elements of `element_size` bytes (1, 2 or 4) to the low bits of `value`. (cuMemsetD8Async, cuMemsetD16Async,
/// cuMemsetD32Async)
WEIR_C_API weir_result weir_stream_fill(weir_stream* stream, void* destination, uint32_t value, size_t element_size,
                                        size_t count);
/// Sets `count` elements to the `element_size` bytes at `element`, which are read before the call returns. `alignment`: the
/// alignment of `destination` in bytes, a power of 2.
WEIR_C_API weir_result weir_stream_fill_pattern(weir_stream* stream, void* destination, const void* element,
                                                size_t element_size, size_t alignment, size_t count);
/// Sets every element of a box to the low bits of `value`. Elements have `element_size` bytes: 1, 2 or 4.
/// (cudaMemset2DAsync, cudaMemset3DAsync)
WEIR_C_API weir_result weir_stream_fill_pitched(weir_stream* stream, const weir_pitched* destination, uint32_t value,
                                                size_t element_size);

// --- Managed memory -----------------------------------------------------------------------------------------------------

/// Which streams may access managed memory.
typedef enum weir_attach_mode WEIR_C_ENUM {
  WEIR_ATTACH_GLOBAL = 0,  ///< any stream on any device
  WEIR_ATTACH_HOST = 1,    ///< no device
  WEIR_ATTACH_SINGLE = 2,  ///< only this stream, and the host while the stream is idle
} weir_attach_mode;

/// The target of a prefetch of managed memory.
typedef enum weir_prefetch_target WEIR_C_ENUM {
  WEIR_PREFETCH_DEVICE = 0,  ///< to the stream's device
  WEIR_PREFETCH_HOST = 1,    ///< to the host
} weir_prefetch_target;

/// Sets which streams may access managed memory. Fails with `WEIR_ERROR_INVALID_ARGUMENT` for memory of another kind,
/// `WEIR_ERROR_CAPTURE_UNSUPPORTED` while capturing. Feature `managed_attach`. (cudaStreamAttachMemAsync)
WEIR_C_API weir_result weir_stream_attach_memory(weir_stream* stream, const weir_allocation* managed, weir_attach_mode mode);
/// Moves the bytes `[offset, offset + bytes)` of managed memory to the device or the host ahead of their use. Fails with
/// `WEIR_ERROR_INVALID_ARGUMENT` for memory of another kind and for bytes outside the allocation,
/// `WEIR_ERROR_CAPTURE_UNSUPPORTED` while capturing. Feature `managed_prefetch`. (cudaMemPrefetchAsync)
WEIR_C_API weir_result weir_stream_prefetch(weir_stream* stream, const weir_allocation* managed, size_t offset, size_t bytes,
                                            weir_prefetch_target target);

// --- Values -------------------------------------------------------------------------------------------------------------

/// The condition that ends a wait. `m` is the value in memory, `v` the value passed to the call.
typedef enum weir_wait_condition WEIR_C_ENUM {
  WEIR_WAIT_GEQ = 0,  ///< m - v, as a signed number, is not negative: counters may wrap. Feature `wait_value_geq`
  WEIR_WAIT_EQ = 1,   ///< m == v
  WEIR_WAIT_AND = 2,  ///< (m & v) != 0
  WEIR_WAIT_NOR = 3,  ///< ~(m | v) != 0. Feature `wait_value_nor`
} weir_wait_condition;

/// Options of a wait for a value.
typedef enum weir_wait_flags WEIR_C_ENUM {
  WEIR_WAIT_DEFAULT = 0,
  WEIR_WAIT_FLUSH = 1,  ///< when the wait ends, earlier remote writes are visible. Feature `wait_value_flush`
} weir_wait_flags;

/// The kinds of operations in a batch.
typedef enum weir_memory_operation_kind WEIR_C_ENUM {
  WEIR_WRITE_VALUE32 = 0,
  WEIR_WRITE_VALUE64 = 1,
  WEIR_WAIT_VALUE32 = 2,
  WEIR_WAIT_VALUE64 = 3,
  WEIR_FLUSH_REMOTE_WRITES = 4,  ///< makes earlier remote writes visible. Feature `wait_value_flush`
} weir_memory_operation_kind;

/// One operation of a batch. Later releases add no fields, because the structure is used in arrays and has no `struct_size`.
/// (CUstreamBatchMemOpParams)
typedef struct weir_memory_operation {
  weir_memory_operation_kind kind;
  weir_wait_condition condition;  ///< for a wait
  uint32_t flags;                 ///< for a wait: `weir_wait_flags`
  uint32_t reserved;              ///< 0
  void* address;                  ///< a device address, aligned to the value's size
  uint64_t value;
} weir_memory_operation;

/// Writes a value once all earlier work is done. `address`: a device address, aligned to 4 bytes. Feature `write_value_32`;
/// on a capturing stream `memory_operations_in_capture`. (cuStreamWriteValue32)
WEIR_C_API weir_result weir_stream_write_value32(weir_stream* stream, uint32_t* address, uint32_t value);
/// Like `weir_stream_write_value32`, for a value of 64 bits. Feature `write_value_64`. (cuStreamWriteValue64)
WEIR_C_API weir_result weir_stream_write_value64(weir_stream* stream, uint64_t* address, uint64_t value);
/// Makes later work wait until the value at `address` satisfies the condition. The host, another stream or another device
/// may write the value. The call blocks neither the host nor other streams. `flags`: bits of `weir_wait_flags`. Feature
/// `wait_value_32`. (cuStreamWaitValue32)
WEIR_C_API weir_result weir_stream_wait_value32(weir_stream* stream, const uint32_t* address, uint32_t value,
                                                weir_wait_condition condition, uint32_t flags);
/// Like `weir_stream_wait_value32`, for a value of 64 bits. Feature `wait_value_64`. (cuStreamWaitValue64)
WEIR_C_API weir_result weir_stream_wait_value64(weir_stream* stream, const uint64_t* address, uint64_t value,
                                                weir_wait_condition condition, uint32_t flags);
/// Submits `count` operations in one call. They run in order, and no other work of the stream runs between them. Does
/// nothing if `count` is 0. Feature `batch_memory_operations`, and the features of the single operations.
/// (cuStreamBatchMemOp)
WEIR_C_API weir_result weir_stream_batch_memory_operations(weir_stream* stream, const weir_memory_operation* operations,
                                                           size_t count);

WEIR_C_END

#endif
