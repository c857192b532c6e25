// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_MEMORY_H
#define WEIR_C_MEMORY_H

#include "weir/c/base.h"
#include "weir/c/event.h"

/// @file
/// The C interface: memory of devices, pinned and managed memory, pools, and pinning of the program's own host memory.
///
/// An address from `weir_allocation_data`, or any address in that memory, can be passed to copies and launches. Work that
/// uses memory must be done before the last reference is released, except for stream-ordered memory and its own stream.

WEIR_C_BEGIN

/// The kind of memory: where it is, and who may access it.
typedef enum weir_memory_kind WEIR_C_ENUM {
  WEIR_MEMORY_DEVICE = 0,   ///< the device's own; the host may not access it (cudaMalloc)
  WEIR_MEMORY_PINNED = 1,   ///< page-locked host memory: copies of it are asynchronous (cudaMallocHost)
  WEIR_MEMORY_MANAGED = 2,  ///< host and device use the same address (cudaMallocManaged). Feature `managed_memory`
} weir_memory_kind;

// --- Allocations --------------------------------------------------------------------------------------------------------

/// Allocates `bytes` bytes with undefined content, aligned to at least 256. Zero bytes give an allocation with a null
/// address. `allocation` gets a reference. Fails with `WEIR_ERROR_OUT_OF_MEMORY`; `WEIR_ERROR_CAPTURE_UNSUPPORTED` if an
/// open capture forbids it. (cudaMalloc, cudaMallocHost, cudaMallocManaged)
WEIR_C_API weir_result weir_allocation_create(weir_device* device, size_t bytes, weir_memory_kind kind,
                                              weir_allocation** allocation);
/// Allocates device memory in stream order, for work that is enqueued on `stream` after this call. The last release frees it
/// on this stream, after all work enqueued by then. `pool`: of this device; null for the default pool. `allocation` gets a
/// reference. Feature `async_allocation`; while capturing `graph_memory_nodes`. (cudaMallocAsync)
WEIR_C_API weir_result weir_allocation_create_async(weir_stream* stream, size_t bytes, weir_memory_pool* pool,
                                                    weir_allocation** allocation);
/// Makes an allocation of another allocator's memory. The last release calls `deleter(data, user_data)`, if not null; inside
/// a host function another thread calls it. Work that uses the memory must be over by then, unless `deleter` frees in the
/// order of a stream. `allocation` gets a reference. If this fails, the memory still belongs to the caller.
WEIR_C_API weir_result weir_allocation_adopt(weir_device* device, void* data, size_t bytes, weir_memory_kind kind,
                                             void (*deleter)(void* data, void* user_data), void* user_data,
                                             weir_allocation** allocation);
/// Adds a reference and returns the allocation.
WEIR_C_API weir_allocation* weir_allocation_retain(weir_allocation* allocation);
/// Releases a reference. The last release frees the memory: memory of `weir_allocation_create` at once, which may wait for
/// work of the device; stream-ordered memory after all work enqueued on its stream. (cudaFree, cudaFreeHost, cudaFreeAsync)
WEIR_C_API void weir_allocation_release(weir_allocation* allocation);
/// The first byte. The host may use it only if the memory is pinned or managed.
WEIR_C_API void* weir_allocation_data(const weir_allocation* allocation);
/// The requested size in bytes.
WEIR_C_API size_t weir_allocation_size(const weir_allocation* allocation);
/// The kind of the memory.
WEIR_C_API weir_memory_kind weir_allocation_kind(const weir_allocation* allocation);
/// The device that it was allocated on.
WEIR_C_API weir_device* weir_allocation_device(const weir_allocation* allocation);
/// The stream in whose order it is freed, borrowed; null for memory of `weir_allocation_create`.
WEIR_C_API weir_stream* weir_allocation_stream(const weir_allocation* allocation);
/// Whether the host may read and write the memory directly.
WEIR_C_API bool weir_allocation_host_accessible(const weir_allocation* allocation);
/// Names the memory for tools. Null or empty removes the name.
WEIR_C_API weir_result weir_allocation_set_name(weir_allocation* allocation, const char* name);
/// Returns a handle for another process to open device memory of `weir_allocation_create`. This process must keep the memory
/// alive. Feature `interprocess_memory`. (cudaIpcGetMemHandle)
WEIR_C_API weir_result weir_allocation_get_interprocess_handle(const weir_allocation* allocation,
                                                               weir_interprocess_handle* handle);
/// Opens another process's allocation of `bytes` bytes. `allocation` gets a reference.
WEIR_C_API weir_result weir_allocation_open(weir_device* device, const weir_interprocess_handle* handle, size_t bytes,
                                            weir_allocation** allocation);

/// Copies `bytes` bytes and waits, outside the order of any stream. Either address may be on the host. Fails with
/// `WEIR_ERROR_CAPTURE_UNSUPPORTED` if an open capture forbids it. (cudaMemcpy)
WEIR_C_API weir_result weir_device_copy(weir_device* device, void* destination, const void* source, size_t bytes);

// --- Pools --------------------------------------------------------------------------------------------------------------

/// The options of a pool.
typedef struct weir_memory_pool_options {
  size_t struct_size;          ///< `sizeof(weir_memory_pool_options)`
  uint64_t max_size;           ///< the maximum size of the pool in bytes (feature `memory_pool_max_size`); 0: no limit
  uint64_t release_threshold;  ///< unused bytes that the pool keeps at a synchronize; it returns the rest to the system
} weir_memory_pool_options;

/// Makes a pool of stream-ordered memory. `options` may be null. `pool` gets a reference. Feature `memory_pools`.
/// (cudaMemPoolCreate)
WEIR_C_API weir_result weir_memory_pool_create(weir_device* device, const weir_memory_pool_options* options,
                                               weir_memory_pool** pool);
/// The device's default pool, which other code also uses. `pool` gets a reference. Feature `memory_pools`.
/// (cudaDeviceGetDefaultMemPool)
WEIR_C_API weir_result weir_memory_pool_get_default(weir_device* device, weir_memory_pool** pool);
/// Adds a reference and returns the pool.
WEIR_C_API weir_memory_pool* weir_memory_pool_retain(weir_memory_pool* pool);
/// Releases a reference. Allocations keep their pool alive. (cudaMemPoolDestroy)
WEIR_C_API void weir_memory_pool_release(weir_memory_pool* pool);
/// The device whose memory it is.
WEIR_C_API weir_device* weir_memory_pool_device(const weir_memory_pool* pool);
/// The vendor's pool (cudaMemPool_t, hipMemPool_t). This object still owns it.
WEIR_C_API void* weir_memory_pool_native_handle(const weir_memory_pool* pool);
/// Bytes used by allocations now, and bytes that the pool has reserved from the system. Either pointer may be null.
/// (cudaMemPoolGetAttribute)
WEIR_C_API weir_result weir_memory_pool_usage(const weir_memory_pool* pool, size_t* used_bytes, size_t* reserved_bytes);
/// Returns unused memory to the system until at most `keep_bytes` are reserved. (cudaMemPoolTrimTo)
WEIR_C_API weir_result weir_memory_pool_trim(weir_memory_pool* pool, size_t keep_bytes);
/// Sets the number of unused bytes that the pool keeps at a synchronize. (cudaMemPoolAttrReleaseThreshold)
WEIR_C_API weir_result weir_memory_pool_set_release_threshold(weir_memory_pool* pool, size_t bytes);

// --- Existing host memory -----------------------------------------------------------------------------------------------

/// Pins `bytes` bytes of the program's own memory at `data`, which must outlive the registration. `registration` gets a
/// reference. Feature `host_registration`. (cudaHostRegister)
WEIR_C_API weir_result weir_host_registration_create(weir_device* device, void* data, size_t bytes,
                                                     weir_host_registration** registration);
/// Adds a reference and returns the registration.
WEIR_C_API weir_host_registration* weir_host_registration_retain(weir_host_registration* registration);
/// Releases a reference. The last release unpins the memory. (cudaHostUnregister)
WEIR_C_API void weir_host_registration_release(weir_host_registration* registration);
/// The host's address of the memory.
WEIR_C_API void* weir_host_registration_data(const weir_host_registration* registration);
/// The number of pinned bytes.
WEIR_C_API size_t weir_host_registration_size(const weir_host_registration* registration);
/// The device's address of the memory. (cudaHostGetDevicePointer)
WEIR_C_API void* weir_host_registration_device_pointer(const weir_host_registration* registration);

WEIR_C_END

#endif
