// SPDX-License-Identifier: Apache-2.0
#ifndef WEIR_C_MEMORY_H
#define WEIR_C_MEMORY_H

#include "weir/c/base.h"
#include "weir/c/event.h"

/// @file
/// The C interface: memory of devices, pinned and managed memory, pools, and pinning of the program's own host memory.
///
/// Copies and launches accept the address from `weir_allocation_data` and any address inside that memory. All work that uses
/// an allocation must be done before its last reference is released. Exception: the last reference to stream-ordered memory
/// may be released while work of its own stream still uses the memory.

WEIR_C_BEGIN

/// The kind of memory: where the memory is, and whether device and host can access it.
typedef enum weir_memory_kind WEIR_C_ENUM {
  WEIR_MEMORY_DEVICE = 0,   ///< the device's own memory; the host may not access it (cudaMalloc)
  WEIR_MEMORY_PINNED = 1,   ///< page-locked host memory, for asynchronous copies (cudaMallocHost)
  WEIR_MEMORY_MANAGED = 2,  ///< host and device use the same address (cudaMallocManaged). Feature `managed_memory`
} weir_memory_kind;

// --- Allocations --------------------------------------------------------------------------------------------------------

/// Allocates `bytes` bytes with undefined content, aligned to at least 256. Zero bytes give an allocation with a null
/// address. `allocation` gets a reference. Fails with `WEIR_ERROR_OUT_OF_MEMORY`; `WEIR_ERROR_CAPTURE_UNSUPPORTED` if an
/// open capture forbids it. (cudaMalloc, cudaMallocHost, cudaMallocManaged)
WEIR_C_API weir_result weir_allocation_create(weir_device* device, size_t bytes, weir_memory_kind kind,
                                              weir_allocation** allocation);
/// Allocates device memory in stream order, for work that is enqueued on `stream` after this call. The last release frees it
/// in the order of `stream`, after all work that was enqueued there before the release. `pool`: a pool of this device, or
/// null for the default pool. `allocation` gets a reference. Feature `async_allocation`; on a capturing stream
/// `graph_memory_nodes`. (cudaMallocAsync)
WEIR_C_API weir_result weir_allocation_create_async(weir_stream* stream, size_t bytes, weir_memory_pool* pool,
                                                    weir_allocation** allocation);
/// Makes an allocation of memory from another allocator. The last release calls `deleter(data, user_data)`, if not null: on
/// the releasing thread, or on another thread if that thread is running a host function. Work that uses the memory must be
/// done by then, unless `deleter` frees it in the order of a stream. `allocation` gets a reference. If this fails, the
/// memory still belongs to the caller.
WEIR_C_API weir_result weir_allocation_adopt(weir_device* device, void* data, size_t bytes, weir_memory_kind kind,
                                             void (*deleter)(void* data, void* user_data), void* user_data,
                                             weir_allocation** allocation);
/// Adds a reference and returns the allocation.
WEIR_C_API weir_allocation* weir_allocation_retain(weir_allocation* allocation);
/// Releases a reference. The last release frees the memory. Memory of `weir_allocation_create` is freed at once, which may
/// block until work of the device is done. Stream-ordered memory is freed after all work enqueued on its stream, without
/// blocking. (cudaFree, cudaFreeHost, cudaFreeAsync)
WEIR_C_API void weir_allocation_release(weir_allocation* allocation);
/// The address of the first byte. The host may access it only if the memory is pinned or managed.
WEIR_C_API void* weir_allocation_data(const weir_allocation* allocation);
/// The requested size in bytes.
WEIR_C_API size_t weir_allocation_size(const weir_allocation* allocation);
/// The kind of the memory.
WEIR_C_API weir_memory_kind weir_allocation_kind(const weir_allocation* allocation);
/// The device that the memory was allocated on.
WEIR_C_API weir_device* weir_allocation_device(const weir_allocation* allocation);
/// The stream in whose order the memory is freed, without a reference for the caller; null for memory of
/// `weir_allocation_create`.
WEIR_C_API weir_stream* weir_allocation_stream(const weir_allocation* allocation);
/// Whether the host may read and write the memory directly.
WEIR_C_API bool weir_allocation_host_accessible(const weir_allocation* allocation);
/// Names the memory for tools. Null or empty removes the name.
WEIR_C_API weir_result weir_allocation_set_name(weir_allocation* allocation, const char* name);
/// Returns a handle that lets another process open device memory of `weir_allocation_create`. This process must keep
/// the memory alive while the other one uses it. Feature `interprocess_memory`. (cudaIpcGetMemHandle)
WEIR_C_API weir_result weir_allocation_get_interprocess_handle(const weir_allocation* allocation,
                                                               weir_interprocess_handle* handle);
/// Opens an allocation of `bytes` bytes of another process. `allocation` gets a reference. (cudaIpcOpenMemHandle)
WEIR_C_API weir_result weir_allocation_open(weir_device* device, const weir_interprocess_handle* handle, size_t bytes,
                                            weir_allocation** allocation);

/// Copies `bytes` bytes and blocks until the copy is done. Not ordered with any stream. Each address may be in device or
/// host memory. Fails with `WEIR_ERROR_CAPTURE_UNSUPPORTED` if an open capture forbids it. (cudaMemcpy)
WEIR_C_API weir_result weir_device_copy(weir_device* device, void* destination, const void* source, size_t bytes);

// --- Pools --------------------------------------------------------------------------------------------------------------

/// The options of a pool.
typedef struct weir_memory_pool_options {
  size_t struct_size;          ///< `sizeof(weir_memory_pool_options)`
  uint64_t max_size;           ///< the maximum size of the pool in bytes (feature `memory_pool_max_size`); 0: no limit
  uint64_t release_threshold;  ///< unused bytes that the pool keeps when a stream or event is synchronized; the driver
                               ///< returns the rest to the system
} weir_memory_pool_options;

/// Makes a pool of stream-ordered memory. `options` may be null. `pool` gets a reference. Feature `memory_pools`.
/// (cudaMemPoolCreate)
WEIR_C_API weir_result weir_memory_pool_create(weir_device* device, const weir_memory_pool_options* options,
                                               weir_memory_pool** pool);
/// The device's default pool. Other code in the process also uses it. `pool` gets a reference. Feature `memory_pools`.
/// (cudaDeviceGetDefaultMemPool)
WEIR_C_API weir_result weir_memory_pool_get_default(weir_device* device, weir_memory_pool** pool);
/// Adds a reference and returns the pool.
WEIR_C_API weir_memory_pool* weir_memory_pool_retain(weir_memory_pool* pool);
/// Releases a reference. Allocations keep their pool alive. (cudaMemPoolDestroy)
WEIR_C_API void weir_memory_pool_release(weir_memory_pool* pool);
/// The device whose memory the pool manages.
WEIR_C_API weir_device* weir_memory_pool_device(const weir_memory_pool* pool);
/// The vendor's pool (cudaMemPool_t, hipMemPool_t). This object still owns it.
WEIR_C_API void* weir_memory_pool_native_handle(const weir_memory_pool* pool);
/// Bytes used by allocations now, and bytes that the pool has reserved from the system. Either pointer may be null.
/// (cudaMemPoolGetAttribute)
WEIR_C_API weir_result weir_memory_pool_usage(const weir_memory_pool* pool, size_t* used_bytes, size_t* reserved_bytes);
/// Returns unused memory to the system until at most `keep_bytes` are reserved. (cudaMemPoolTrimTo)
WEIR_C_API weir_result weir_memory_pool_trim(weir_memory_pool* pool, size_t keep_bytes);
/// Sets `weir_memory_pool_options::release_threshold`, in bytes. (cudaMemPoolAttrReleaseThreshold)
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
