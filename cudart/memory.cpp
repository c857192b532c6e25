// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cudart/state.hpp"

namespace weir::cudart {

Memory& memory() {
  static auto* const all = new Memory;
  return *all;
}

void Memory::add(void* address, Block block) {
  const std::lock_guard lock(mutex_);
  blocks_.insert_or_assign(reinterpret_cast<std::uintptr_t>(address), std::move(block));
}

Memory::Blocks::iterator Memory::at(std::uintptr_t address) {
  auto next = blocks_.upper_bound(address);
  if (next == blocks_.begin()) return blocks_.end();
  const auto found = std::prev(next);
  // The size of an opened allocation is not known.
  const bool inside = address - found->first < found->second.bytes || found->second.kind == BlockKind::opened;
  return inside ? found : blocks_.end();
}

std::optional<std::pair<void*, Block>> Memory::find(const void* address) {
  const std::shared_lock lock(mutex_);
  const auto found = at(reinterpret_cast<std::uintptr_t>(address));
  if (found == blocks_.end()) return std::nullopt;
  return std::pair(reinterpret_cast<void*>(found->first), found->second);
}

std::optional<Range> Memory::range_of(const void* address) {
  const std::shared_lock lock(mutex_);
  const auto found = at(reinterpret_cast<std::uintptr_t>(address));
  if (found == blocks_.end()) return std::nullopt;
  return Range{found->first, found->second.bytes, found->second.kind};
}

bool Memory::overlaps(const void* address, std::size_t bytes) {
  const std::shared_lock lock(mutex_);
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  if (at(begin) != blocks_.end()) return true;
  const auto next = blocks_.upper_bound(begin);
  return next != blocks_.end() && next->first - begin < bytes;
}

void Memory::clear(const Device& device) {
  Blocks removed;  // freed after the lock is released
  const std::lock_guard lock(mutex_);
  for (auto block = blocks_.begin(); block != blocks_.end();) {
    const auto next = std::next(block);
    if (block->second.device == &device) removed.insert(blocks_.extract(block));
    block = next;
  }
}

namespace {

constexpr std::size_t row_alignment = 512;

std::size_t pitch_of(std::size_t width) {
  check(width <= SIZE_MAX / 4);
  return (width + row_alignment - 1) / row_alignment * row_alignment;
}

void allocate(void** pointer, std::size_t bytes, MemoryKind kind, BlockKind block, unsigned int flags = 0) {
  check(pointer != nullptr);
  Device& device = *usable().device;
  *pointer = nullptr;
  if (bytes == 0) return;
  check(bytes <= SIZE_MAX / 4, cudaErrorMemoryAllocation);
  AllocationPtr allocation = device.allocate_bytes(bytes, kind);
  *pointer = allocation->data();
  memory().add(*pointer, {bytes, block, &device, flags, std::move(allocation), {}});
}

// Frees memory of these kinds after all work of its device.
void release(void* pointer, std::initializer_list<BlockKind> kinds, cudaError_t unknown) {
  usable();  // a null pointer only opens the backend
  if (pointer == nullptr) return;
  const auto known = memory().range_of(pointer);
  const bool fits = known && known->begin == reinterpret_cast<std::uintptr_t>(pointer) &&
                    std::find(kinds.begin(), kinds.end(), known->kind) != kinds.end();
  check(fits, unknown);
  std::optional<Block> block = memory().take(pointer, [](const Block&) { return true; });
  check(block.has_value(), unknown);
  try {
    block->device->synchronize();
    collect_faults(device_at(block->device->ordinal()));
  } catch (const Error& error) {
    // In a capture the wait is not allowed, and the free is.
    if (error.errc() != Errc::capture_unsupported && error.errc() != Errc::capture_implicit) throw;
  }
}

void allocate_async(void** pointer, std::size_t bytes, Stream& stream, MemoryPoolRef pool) {
  check(pointer != nullptr);
  *pointer = nullptr;
  if (bytes == 0) return;
  check(bytes <= SIZE_MAX / 4, cudaErrorMemoryAllocation);
  AllocationPtr allocation = stream.device().supports(Feature::async_allocation) ? stream.allocate_bytes_async(bytes, pool)
                                                                                 : stream.device().allocate_bytes(bytes);
  *pointer = allocation->data();
  memory().add(*pointer, {bytes, BlockKind::device, &stream.device(), 0, std::move(allocation), {}});
}

MemoryPoolRef pool_of(DeviceState& device) {
  const std::lock_guard lock(device.mutex);
  if (device.pool == nullptr || device.pool == device.default_pool) return nullptr;
  Pool* const pool = runtime().pools.find(device.pool);
  return pool != nullptr ? MemoryPoolRef(pool->pool) : nullptr;
}

// The handle of the default pool.
cudaMemPool_t default_pool(DeviceState& device) {
  const std::lock_guard lock(device.mutex);
  if (device.default_pool == nullptr) {
    Pool pool{device.device->default_memory_pool(), {0, 1, 1, 1}, true};
    device.default_pool = static_cast<cudaMemPool_t>(runtime().pools.add(std::move(pool)));
  }
  return device.default_pool;
}

// Fails unless the bytes are managed memory.
std::pair<void*, Block> managed(const void* pointer, std::size_t bytes) {
  check(pointer != nullptr && bytes != 0);
  auto found = memory().find(pointer);
  check(found && found->second.kind == BlockKind::managed);
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(pointer) - static_cast<char*>(found->first));
  check(bytes <= found->second.bytes - offset);
  return *std::move(found);
}

}  // namespace
namespace calls {

void cudaMalloc(void** pointer, size_t bytes) { allocate(pointer, bytes, MemoryKind::device, BlockKind::device); }

void cudaFree(void* pointer) { release(pointer, {BlockKind::device, BlockKind::managed}, cudaErrorInvalidValue); }

void cudaMallocHost(void** pointer, size_t bytes) {
  allocate(pointer, bytes, MemoryKind::pinned, BlockKind::pinned, cudaHostAllocMapped);
}

void cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  check((flags & ~7U) == 0);
  allocate(pointer, bytes, MemoryKind::pinned, BlockKind::pinned, flags | cudaHostAllocMapped);
}

void cudaFreeHost(void* pointer) { release(pointer, {BlockKind::pinned}, cudaErrorInvalidValue); }

void cudaHostRegister(void* pointer, size_t bytes, unsigned int flags) {
  check(pointer != nullptr && bytes != 0 && (flags & ~15U) == 0);
  check((flags & cudaHostRegisterIoMemory) == 0, cudaErrorNotSupported);
  check(!memory().overlaps(pointer, bytes), cudaErrorHostMemoryAlreadyRegistered);
  Device& device = *current().device;
  Ptr<HostRegistration> registration = device.register_host(pointer, bytes);
  memory().add(pointer,
               {bytes, BlockKind::registered, &device, flags | cudaHostRegisterMapped, {}, std::move(registration)});
}

void cudaHostUnregister(void* pointer) {
  check(pointer != nullptr);
  release(pointer, {BlockKind::registered}, cudaErrorHostMemoryNotRegistered);
}

void cudaHostGetDevicePointer(void** device, void* host, unsigned int flags) {
  check(device != nullptr && host != nullptr && flags == 0);
  const auto found = memory().find(host);
  check(found && (found->second.kind == BlockKind::pinned || found->second.kind == BlockKind::registered));
  const auto offset = static_cast<char*>(host) - static_cast<char*>(found->first);
  const Ptr<HostRegistration>& registration = found->second.registration;
  *device = registration ? static_cast<char*>(registration->device_pointer()) + offset : host;
}

void cudaHostGetFlags(unsigned int* flags, void* host) {
  check(flags != nullptr && host != nullptr);
  const auto found = memory().find(host);
  check(found && (found->second.kind == BlockKind::pinned || found->second.kind == BlockKind::registered));
  *flags = found->second.flags;
}

void cudaMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
  check(flags == cudaMemAttachGlobal || flags == cudaMemAttachHost);
  check(bytes != 0);
  allocate(pointer, bytes, MemoryKind::managed, BlockKind::managed, flags);
}

void cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  check(pointer != nullptr && pitch != nullptr);
  *pitch = pitch_of(width);
  check(height == 0 || *pitch <= SIZE_MAX / 4 / height, cudaErrorMemoryAllocation);
  allocate(pointer, *pitch * height, MemoryKind::device, BlockKind::device);
}

void cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
  check(pointer != nullptr);
  const std::size_t pitch = pitch_of(extent.width);
  std::size_t bytes = 0;
  const bool fits =
      !__builtin_mul_overflow(pitch, extent.height, &bytes) && !__builtin_mul_overflow(bytes, extent.depth, &bytes);
  check(fits, cudaErrorMemoryAllocation);
  *pointer = {nullptr, pitch, extent.width, extent.height};
  allocate(&pointer->ptr, bytes, MemoryKind::device, BlockKind::device);
}

void cudaMemGetInfo(size_t* available, size_t* total) {
  check(available != nullptr && total != nullptr);
  const MemoryInfo info = usable().device->memory_info();
  *available = info.free;
  *total = info.total;
}

void cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  check(attributes != nullptr);
  *attributes = {cudaMemoryTypeUnregistered, cudaInvalidDeviceId, nullptr, const_cast<void*>(pointer)};
  const auto found = memory().find(pointer);
  if (!found) return;
  const Block& block = found->second;
  const bool is_host = block.kind == BlockKind::pinned || block.kind == BlockKind::registered;
  attributes->type = is_host                            ? cudaMemoryTypeHost
                     : block.kind == BlockKind::managed ? cudaMemoryTypeManaged
                                                        : cudaMemoryTypeDevice;
  attributes->device = block.device->ordinal();
  attributes->devicePointer = const_cast<void*>(pointer);
  if (block.registration)
    attributes->devicePointer = static_cast<char*>(block.registration->device_pointer()) +
                                (static_cast<const char*>(pointer) - static_cast<char*>(found->first));
  if (attributes->type == cudaMemoryTypeDevice) attributes->hostPointer = nullptr;
}

void cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice, int device) {
  check(advice >= cudaMemAdviseSetReadMostly && advice <= cudaMemAdviseUnsetAccessedBy);
  const bool has_device = advice >= cudaMemAdviseSetPreferredLocation && device != cudaCpuDeviceId;
  if (has_device && advice != cudaMemAdviseUnsetPreferredLocation) device_at(device);
  managed(pointer, bytes);
}

void cudaMemPrefetchAsync(const void* pointer, size_t bytes, int device, cudaStream_t stream) {
  DeviceState* const target = device != cudaCpuDeviceId ? &device_at(device) : nullptr;
  const auto [begin, block] = managed(pointer, bytes);
  const StreamPtr on = stream_of(stream);
  if (!on->device().supports(Feature::managed_prefetch)) return;
  // Weir prefetches to the stream's device.
  if (target != nullptr && *target->device != on->device()) return;
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(pointer) - static_cast<const char*>(begin));
  on->prefetch(block.allocation, offset, bytes, target != nullptr ? PrefetchTarget::device : PrefetchTarget::host);
}

void cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t bytes, unsigned int flags) {
  check(flags == cudaMemAttachGlobal || flags == cudaMemAttachHost || flags == cudaMemAttachSingle);
  const auto [begin, block] = managed(pointer, bytes != 0 ? bytes : 1);
  check(bytes == 0 || bytes == block.bytes);
  const StreamPtr on = stream_of(stream);
  if (!on->device().supports(Feature::managed_attach)) return;
  on->attach_memory(block.allocation, flags == cudaMemAttachGlobal ? AttachMode::global
                                      : flags == cudaMemAttachHost ? AttachMode::host
                                                                   : AttachMode::single);
}

void cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  const StreamPtr on = stream_of(stream);
  allocate_async(pointer, bytes, *on, pool_of(device_at(on->device().ordinal())));
}

void cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  const StreamPtr on = stream_of(stream);
  const Pool* const from = runtime().pools.find(pool);
  check(from != nullptr);
  allocate_async(pointer, bytes, *on, from->pool);
}

void cudaFreeAsync(void* pointer, cudaStream_t stream) {
  const StreamPtr on = stream_of(stream);
  if (pointer == nullptr) return;
  std::optional<Block> block = memory().take(pointer, [](const Block& b) { return b.kind == BlockKind::device; });
  check(block.has_value());
  Stream* const owner = block->allocation->stream();
  if (owner == nullptr || owner->is_closed()) {
    on->launch_host_function([kept = std::move(block->allocation)] {});
  } else if (*owner != *on) {
    owner->wait(on);  // the memory is freed in the order of its own stream
  }
}

// --- Pools

void cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  check(pool != nullptr && properties != nullptr);
  check(properties->allocType == cudaMemAllocationTypePinned && properties->location.type == cudaMemLocationTypeDevice);
  check(properties->handleTypes == cudaMemHandleTypeNone, cudaErrorNotSupported);
  Device& device = *device_at(properties->location.id).device;
  MemoryPoolPtr made = device.create_memory_pool({.max_size = properties->maxSize});
  *pool = static_cast<cudaMemPool_t>(runtime().pools.add({std::move(made), {0, 1, 1, 1}}));
}

void cudaMemPoolDestroy(cudaMemPool_t pool) {
  const Pool* const found = runtime().pools.find(pool);
  check(found != nullptr && !found->is_default);
  DeviceState& device = device_at(found->pool->device().ordinal());
  {
    const std::lock_guard lock(device.mutex);
    if (device.pool == pool) device.pool = nullptr;
  }
  runtime().pools.take(pool);
}

void cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
  const Pool* const found = runtime().pools.find(pool);
  check(found != nullptr);
  found->pool->trim_to(keep);
}

void cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  Pool* const found = runtime().pools.find(pool);
  check(found != nullptr && value != nullptr);
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies:
    case cudaMemPoolReuseAllowOpportunistic:
    case cudaMemPoolReuseAllowInternalDependencies:
      found->attributes[attribute] = static_cast<std::uint64_t>(*static_cast<int*>(value));
      break;
    case cudaMemPoolAttrReleaseThreshold:
      found->attributes[attribute] = *static_cast<std::uint64_t*>(value);
      found->pool->set_release_threshold(found->attributes[attribute]);
      break;
    case cudaMemPoolAttrReservedMemHigh:
    case cudaMemPoolAttrUsedMemHigh:
      check(*static_cast<std::uint64_t*>(value) == 0);
      found->attributes[attribute] = 0;
      break;
    default: throw Failure{cudaErrorInvalidValue};
  }
}

void cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  Pool* const found = runtime().pools.find(pool);
  check(found != nullptr && value != nullptr);
  check(attribute >= cudaMemPoolReuseFollowEventDependencies && attribute <= cudaMemPoolAttrUsedMemHigh);
  if (attribute <= cudaMemPoolReuseAllowInternalDependencies) {
    *static_cast<int*>(value) = static_cast<int>(found->attributes[attribute]);
    return;
  }
  if (attribute != cudaMemPoolAttrReleaseThreshold) {
    const bool is_used = attribute >= cudaMemPoolAttrUsedMemCurrent;
    const auto now = is_used ? cudaMemPoolAttrUsedMemCurrent : cudaMemPoolAttrReservedMemCurrent;
    const auto high = is_used ? cudaMemPoolAttrUsedMemHigh : cudaMemPoolAttrReservedMemHigh;
    found->attributes[now] = is_used ? found->pool->used_bytes() : found->pool->reserved_bytes();
    found->attributes[high] = std::max(found->attributes[high], found->attributes[now]);
  }
  *static_cast<std::uint64_t*>(value) = found->attributes[attribute];
}

void cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* descriptions, size_t count) {
  const Pool* const found = runtime().pools.find(pool);
  check(found != nullptr && (descriptions != nullptr || count == 0));
  Device& owner = found->pool->device();
  for (const cudaMemAccessDesc& one : std::span(descriptions, count)) {
    check(one.location.type == cudaMemLocationTypeDevice);
    Device& device = *device_at(one.location.id).device;
    if (device == owner) {
      check(one.flags == cudaMemAccessFlagsProtReadWrite);
    } else if (one.flags != cudaMemAccessFlagsProtNone) {
      check(device.can_access_peer(owner), cudaErrorPeerAccessUnsupported);
      device.enable_peer_access(owner);
    }
  }
}

void cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* location) {
  const Pool* const found = runtime().pools.find(pool);
  check(flags != nullptr && found != nullptr && location != nullptr && location->type == cudaMemLocationTypeDevice);
  DeviceState& state = device_at(location->id);
  const std::lock_guard lock(state.mutex);
  const bool access = *state.device == found->pool->device() || state.peers.contains(found->pool->device().ordinal());
  *flags = access ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone;
}

void cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  check(pool != nullptr);
  *pool = default_pool(device_at(device));
}

void cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  check(pool != nullptr);
  DeviceState& state = device_at(device);
  const cudaMemPool_t standard = default_pool(state);
  const std::lock_guard lock(state.mutex);
  *pool = state.pool != nullptr ? state.pool : standard;
}

void cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  DeviceState& state = device_at(device);
  const Pool* const found = runtime().pools.find(pool);
  check(found != nullptr && found->pool->device() == *state.device);
  const std::lock_guard lock(state.mutex);
  state.pool = pool;
}

}  // namespace calls
}  // namespace weir::cudart
