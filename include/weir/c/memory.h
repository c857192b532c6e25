// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_MEMORY_H
#define WEIR_C_MEMORY_H

#include "weir/c/base.h"
#include "weir/c/event.h"

/// @file
/// The C interface: memory of devices, pinned and managed memory, pools, and host memory of the program's that is pinned.
///
/// An address from `weir_allocation_data` goes into copies and launches as it is; so do addresses within. What uses memory
/// must be done before its last owner lets go of it, except for stream-ordered memory and its own stream.

WEIR_C_BEGIN

/// Which memory, and who may touch it.
typedef enum weir_memory_kind WEIR_C_ENUM {
  WEIR_MEMORY_DEVICE = 0,   ///< the device's own; the host may not touch it (cudaMalloc)
  WEIR_MEMORY_PINNED = 1,   ///< page-locked host memory: copies of it are asynchronous (cudaMallocHost)
  WEIR_MEMORY_MANAGED = 2,  ///< host and device use the same address (cudaMallocManaged). Feature `managed_memory`
} weir_memory_kind;

// --- Allocations --------------------------------------------------------------------------------------------------------

/// Allocates `bytes` bytes with undefined content, aligned to at least 256. Zero bytes: an allocation whose address is null.
/// `allocation` gets a reference. Fails with `WEIR_ERROR_OUT_OF_MEMORY`; `WEIR_ERROR_CAPTURE_UNSUPPORTED` if an open capture
/// forbids it. (cudaMalloc, cudaMallocHost, cudaMallocManaged)
WEIR_C_API weir_result weir_allocation_create(weir_device* device, size_t bytes, weir_memory_kind kind,
                                              weir_allocation** allocation);
/// Allocates device memory in stream order, for work that is enqueued on `stream` after this call. The last owner's release
/// frees it on this stream, behind all work enqueued by then. `pool`: of this device; null for the default one. `allocation`
/// gets a reference. Feature `async_allocation`; while capturing `graph_memory_nodes`. (cudaMallocAsync)
WEIR_C_API weir_result weir_allocation_create_async(weir_stream* stream, size_t bytes, weir_memory_pool* pool,
                                                    weir_allocation** allocation);
/// Makes memory of another allocator that of an allocation, whose last owner's release calls `deleter(data, user_data)`, if
/// not null; in a host function another thread calls it. Work that uses the memory must be over by then, unless `deleter`
/// frees in the order of a stream. `allocation` gets a reference. If this fails, the memory is still the caller's.
WEIR_C_API weir_result weir_allocation_adopt(weir_device* device, void* data, size_t bytes, weir_memory_kind kind,
                                             void (*deleter)(void* data, void* user_data), void* user_data,
                                             weir_allocation** allocation);
/// Adds an owner, and returns the allocation.
WEIR_C_API weir_allocation* weir_allocation_retain(weir_allocation* allocation);
/// Gives a reference back. The last one frees the memory: that of `weir_allocation_create` at once, which may wait for work
/// of the device; stream-ordered memory behind all work enqueued on its stream. (cudaFree, cudaFreeHost, cudaFreeAsync)
WEIR_C_API void weir_allocation_release(weir_allocation* allocation);
/// The first byte. The host may use it only if the memory is pinned or managed.
WEIR_C_API void* weir_allocation_data(const weir_allocation* allocation);
/// The size in bytes, as it was asked for.
WEIR_C_API size_t weir_allocation_size(const weir_allocation* allocation);
/// Which memory it is.
WEIR_C_API weir_memory_kind weir_allocation_kind(const weir_allocation* allocation);
/// The device that it was allocated on.
WEIR_C_API weir_device* weir_allocation_device(const weir_allocation* allocation);
/// The stream in whose order it is freed, borrowed; null for memory of `weir_allocation_create`.
WEIR_C_API weir_stream* weir_allocation_stream(const weir_allocation* allocation);
/// Whether the host may read and write the memory directly.
WEIR_C_API bool weir_allocation_host_accessible(const weir_allocation* allocation);
/// Names the memory for tools. Null or empty: no name.
WEIR_C_API weir_result weir_allocation_set_name(weir_allocation* allocation, const char* name);
/// A handle with which another process opens device memory of `weir_allocation_create`. This process must keep the memory
/// alive. Feature `interprocess_memory`. (cudaIpcGetMemHandle)
WEIR_C_API weir_result weir_allocation_get_interprocess_handle(const weir_allocation* allocation,
                                                               weir_interprocess_handle* handle);
/// Another process's allocation of `bytes` bytes. `allocation` gets a reference. Feature `interprocess_memory`.
/// (cudaIpcOpenMemHandle)
WEIR_C_API weir_result weir_allocation_open(weir_device* device, const weir_interprocess_handle* handle, size_t bytes,
                                            weir_allocation** allocation);

/// Copies `bytes` bytes and waits, outside the order of any stream. Either address may be the host's. Fails with
/// `WEIR_ERROR_CAPTURE_UNSUPPORTED` if an open capture forbids it. (cudaMemcpy)
WEIR_C_API weir_result weir_device_copy(weir_device* device, void* destination, const void* source, size_t bytes);

// --- Pools --------------------------------------------------------------------------------------------------------------

/// How a pool is made.
typedef struct weir_memory_pool_options {
  size_t struct_size;          ///< `sizeof(weir_memory_pool_options)`
  uint64_t max_size;           ///< the most bytes the pool may hold (feature `memory_pool_max_size`); 0: no limit
  uint64_t release_threshold;  ///< unused bytes that the pool keeps at a synchronize; more goes back to the system
} weir_memory_pool_options;

/// Makes a pool of stream-ordered memory. `options` may be null. `pool` gets a reference. Feature `memory_pools`.
/// (cudaMemPoolCreate)
WEIR_C_API weir_result weir_memory_pool_create(weir_device* device, const weir_memory_pool_options* options,
                                               weir_memory_pool** pool);
/// The device's pool that other code uses, too. `pool` gets a reference. Feature `memory_pools`.
/// (cudaDeviceGetDefaultMemPool)
WEIR_C_API weir_result weir_memory_pool_get_default(weir_device* device, weir_memory_pool** pool);
/// Adds an owner, and returns the pool.
WEIR_C_API weir_memory_pool* weir_memory_pool_retain(weir_memory_pool* pool);
/// Gives a reference back. Allocations keep their pool alive. (cudaMemPoolDestroy)
WEIR_C_API void weir_memory_pool_release(weir_memory_pool* pool);
/// The device whose memory it is.
WEIR_C_API weir_device* weir_memory_pool_device(const weir_memory_pool* pool);
/// The vendor's pool (cudaMemPool_t, hipMemPool_t). This object still owns it.
WEIR_C_API void* weir_memory_pool_native_handle(const weir_memory_pool* pool);
/// Bytes that allocations use now, and bytes that the pool holds from the system. Either pointer may be null.
/// (cudaMemPoolGetAttribute)
WEIR_C_API weir_result weir_memory_pool_usage(const weir_memory_pool* pool, size_t* used_bytes, size_t* reserved_bytes);
/// Returns unused memory to the system until at most `keep_bytes` are reserved. (cudaMemPoolTrimTo)
WEIR_C_API weir_result weir_memory_pool_trim(weir_memory_pool* pool, size_t keep_bytes);
/// Changes how many unused bytes the pool keeps at a synchronize. (cudaMemPoolAttrReleaseThreshold)
WEIR_C_API weir_result weir_memory_pool_set_release_threshold(weir_memory_pool* pool, size_t bytes);

// --- Host memory that exists
// ------------------------------------------------------------------------------------------------

/// Pins `bytes` bytes of the program's own memory at `data`, which must outlive the registration. `registration` gets a
/// reference. Feature `host_registration`. (cudaHostRegister)
WEIR_C_API weir_result weir_host_registration_create(weir_device* device, void* data, size_t bytes,
                                                     weir_host_registration** registration);
/// Adds an owner, and returns the registration.
WEIR_C_API weir_host_registration* weir_host_registration_retain(weir_host_registration* registration);
/// Gives a reference back. The last one unpins the memory. (cudaHostUnregister)
WEIR_C_API void weir_host_registration_release(weir_host_registration* registration);
/// The address under which the host sees the memory.
WEIR_C_API void* weir_host_registration_data(const weir_host_registration* registration);
/// How many bytes are pinned.
WEIR_C_API size_t weir_host_registration_size(const weir_host_registration* registration);
/// The device's address of the memory. (cudaHostGetDevicePointer)
WEIR_C_API void* weir_host_registration_device_pointer(const weir_host_registration* registration);

WEIR_C_END

#endif
