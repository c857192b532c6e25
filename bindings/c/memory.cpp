// SPDX-License-Identifier: Apache-2.0
#include "weir/memory.hpp"

#include "bindings/c/convert.hpp"
#include "weir/device.hpp"
#include "weir/stream.hpp"

// The C interface: allocations, pools and registered host memory (weir/c/memory.h).
static_assert(static_cast<unsigned>(weir::MemoryKind::pinned) == WEIR_MEMORY_PINNED &&
              static_cast<unsigned>(weir::MemoryKind::managed) == WEIR_MEMORY_MANAGED);

using namespace weir::c;

// --- Allocations --------------------------------------------------------------------------------------------------------

weir_result weir_allocation_create(weir_device* device, size_t bytes, weir_memory_kind kind, weir_allocation** allocation) {
  return give(__func__, allocation, "allocation", [&] {
    const auto wanted = enumerator(kind, weir::MemoryKind::managed, "kind");
    return handle(required(device, "device").allocate_bytes(bytes, wanted));
  });
}

weir_result weir_allocation_adopt(weir_device* device, void* data, size_t bytes, weir_memory_kind kind,
                                  void (*deleter)(void* data, void* user_data), void* user_data,
                                  weir_allocation** allocation) {
  return give(__func__, allocation, "allocation", [&] {
    const auto what = enumerator(kind, weir::MemoryKind::managed, "kind");
    weir::MemoryDeleter free;
    if (deleter != nullptr) free = [deleter, user_data](void* memory) { deleter(memory, user_data); };
    return handle(required(device, "device").adopt_memory(data, bytes, what, std::move(free)));
  });
}

weir_result weir_allocation_create_async(weir_stream* stream, size_t bytes, weir_memory_pool* pool,
                                         weir_allocation** allocation) {
  return give(__func__, allocation, "allocation", [&] {
    weir::MemoryPoolRef from = nullptr;
    if (pool != nullptr) from = *object(pool);
    return handle(required(stream, "stream").allocate_bytes_async(bytes, from));
  });
}

weir_allocation* weir_allocation_retain(weir_allocation* allocation) { return retain(allocation); }
void weir_allocation_release(weir_allocation* allocation) { release(allocation); }

void* weir_allocation_data(const weir_allocation* allocation) {
  return allocation != nullptr ? object(allocation)->data() : nullptr;
}

size_t weir_allocation_size(const weir_allocation* allocation) {
  return allocation != nullptr ? object(allocation)->size_bytes() : 0;
}

weir_memory_kind weir_allocation_kind(const weir_allocation* allocation) {
  return allocation != nullptr ? static_cast<weir_memory_kind>(object(allocation)->kind()) : WEIR_MEMORY_DEVICE;
}

weir_device* weir_allocation_device(const weir_allocation* allocation) { return device_of(allocation); }

weir_stream* weir_allocation_stream(const weir_allocation* allocation) {
  return allocation != nullptr ? handle(object(allocation)->stream()) : nullptr;
}

bool weir_allocation_host_accessible(const weir_allocation* allocation) {
  return allocation != nullptr && object(allocation)->host_accessible();
}

weir_result weir_allocation_set_name(weir_allocation* allocation, const char* name) {
  return call(__func__, [&] { required(allocation, "allocation").set_name(name_or_none(name)); });
}

weir_result weir_allocation_get_interprocess_handle(const weir_allocation* allocation, weir_interprocess_handle* handle) {
  return give(__func__, handle, "handle", [&] {
    const weir::Allocation& shared = required(allocation, "allocation");
    return bytes_of(shared.device().interprocess_handle(shared));
  });
}

weir_result weir_allocation_open(weir_device* device, const weir_interprocess_handle* handle, size_t bytes,
                                 weir_allocation** allocation) {
  return give(__func__, allocation, "allocation", [&] {
    const weir::InterprocessHandle theirs = handle_of(output(handle, "handle"));
    return weir::c::handle(required(device, "device").open_allocation(theirs, bytes));
  });
}

weir_result weir_device_copy(weir_device* device, void* destination, const void* source, size_t bytes) {
  return call(__func__, [&] { required(device, "device").copy_bytes(destination, source, bytes); });
}

// --- Pools --------------------------------------------------------------------------------------------------------------

weir_result weir_memory_pool_create(weir_device* device, const weir_memory_pool_options* options, weir_memory_pool** pool) {
  return give(__func__, pool, "pool", [&] {
    const weir_memory_pool_options wanted = weir::c::options(options, "options");
    return handle(required(device, "device")
                      .create_memory_pool({.max_size = wanted.max_size, .release_threshold = wanted.release_threshold}));
  });
}

weir_result weir_memory_pool_get_default(weir_device* device, weir_memory_pool** pool) {
  return give(__func__, pool, "pool", [&] { return handle(required(device, "device").default_memory_pool()); });
}

weir_memory_pool* weir_memory_pool_retain(weir_memory_pool* pool) { return retain(pool); }
void weir_memory_pool_release(weir_memory_pool* pool) { release(pool); }

weir_device* weir_memory_pool_device(const weir_memory_pool* pool) { return device_of(pool); }

void* weir_memory_pool_native_handle(const weir_memory_pool* pool) { return native_handle_of(pool); }

weir_result weir_memory_pool_usage(const weir_memory_pool* pool, size_t* used_bytes, size_t* reserved_bytes) {
  return call(__func__, [&] {
    const weir::MemoryPool& asked = required(pool, "pool");
    const std::size_t used = asked.used_bytes(), reserved = asked.reserved_bytes();
    if (used_bytes != nullptr) *used_bytes = used;
    if (reserved_bytes != nullptr) *reserved_bytes = reserved;
  });
}

weir_result weir_memory_pool_trim(weir_memory_pool* pool, size_t keep_bytes) {
  return call(__func__, [&] { required(pool, "pool").trim_to(keep_bytes); });
}

weir_result weir_memory_pool_set_release_threshold(weir_memory_pool* pool, size_t bytes) {
  return call(__func__, [&] { required(pool, "pool").set_release_threshold(bytes); });
}

// --- Existing host memory -----------------------------------------------------------------------------------------------

weir_result weir_host_registration_create(weir_device* device, void* data, size_t bytes,
                                          weir_host_registration** registration) {
  return give(__func__, registration, "registration",
              [&] { return handle(required(device, "device").register_host(data, bytes)); });
}

weir_host_registration* weir_host_registration_retain(weir_host_registration* registration) { return retain(registration); }
void weir_host_registration_release(weir_host_registration* registration) { release(registration); }

void* weir_host_registration_data(const weir_host_registration* registration) {
  return registration != nullptr ? object(registration)->data() : nullptr;
}

size_t weir_host_registration_size(const weir_host_registration* registration) {
  return registration != nullptr ? object(registration)->size_bytes() : 0;
}

void* weir_host_registration_device_pointer(const weir_host_registration* registration) {
  return registration != nullptr ? object(registration)->device_pointer() : nullptr;
}
