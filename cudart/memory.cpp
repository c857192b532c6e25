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

std::optional<Memory::Found> Memory::find(const void* address) {
  const std::shared_lock lock(mutex_);
  const auto found = at(reinterpret_cast<std::uintptr_t>(address));
  if (found == blocks_.end()) return std::nullopt;
  return Found{reinterpret_cast<std::uintptr_t>(address) - found->first, found->second};
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
  std::optional<Block> block = memory().take(pointer, [](const Block& b) { return b.allocation || b.registration; });
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

bool is_mapped(const Block& block) { return block.kind == BlockKind::pinned || block.kind == BlockKind::registered; }

// Fails unless the address is of pinned or registered memory.
Memory::Found mapped(void* host) {
  auto found = memory().find(host);
  check(found && is_mapped(found->block));
  return *std::move(found);
}

// The address in kernels.
void* device_address(const Memory::Found& found, const void* address) {
  const Ptr<HostRegistration>& registration = found.block.registration;
  return registration ? static_cast<char*>(registration->device_pointer()) + found.offset : const_cast<void*>(address);
}

// Fails unless the bytes are managed memory.
Memory::Found managed(const void* pointer, std::size_t bytes) {
  check(pointer != nullptr && bytes != 0);
  auto found = memory().find(pointer);
  check(found && found->block.kind == BlockKind::managed && bytes <= found->block.bytes - found->offset);
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
  check(flags == 0);
  give(device, device_address(mapped(host), host));
}

void cudaHostGetFlags(unsigned int* flags, void* host) { give(flags, mapped(host).block.flags); }

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
  const Block& block = found->block;
  attributes->type = is_mapped(block)                   ? cudaMemoryTypeHost
                     : block.kind == BlockKind::managed ? cudaMemoryTypeManaged
                                                        : cudaMemoryTypeDevice;
  attributes->device = block.device->ordinal();
  attributes->devicePointer = device_address(*found, pointer);
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
  const auto [offset, block] = managed(pointer, bytes);
  const StreamPtr on = stream_of(stream);
  if (!block.allocation || !on->device().supports(Feature::managed_prefetch)) return;
  // Weir prefetches to the stream's device.
  if (target != nullptr && *target->device != on->device()) return;
  on->prefetch(block.allocation, offset, bytes, target != nullptr ? PrefetchTarget::device : PrefetchTarget::host);
}

void cudaStreamAttachMemAsync(cudaStream_t stream, void* pointer, size_t bytes, unsigned int flags) {
  check(flags == cudaMemAttachGlobal || flags == cudaMemAttachHost || flags == cudaMemAttachSingle);
  const Block block = managed(pointer, bytes != 0 ? bytes : 1).block;
  check(bytes == 0 || bytes == block.bytes);
  const StreamPtr on = stream_of(stream);
  if (!block.allocation || !on->device().supports(Feature::managed_attach)) return;
  on->attach_memory(block.allocation, flags == cudaMemAttachGlobal ? AttachMode::global
                                      : flags == cudaMemAttachHost ? AttachMode::host
                                                                   : AttachMode::single);
}

void cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  const StreamPtr on = stream_of(stream);
  allocate_async(pointer, bytes, *on, nullptr);
}

void cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  const StreamPtr on = stream_of(stream);
  allocate_async(pointer, bytes, *on, runtime().pools.get(pool).pool);
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
  *pool = static_cast<cudaMemPool_t>(runtime().pools.add({std::move(made)}));
}

void cudaMemPoolDestroy(cudaMemPool_t pool) {
  check(!runtime().pools.get(pool).is_default);
  runtime().pools.take(pool);
}

// The other attributes are rules of reuse, which are hints, and marks that a program can only set to 0.
void cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  Pool& found = runtime().pools.get(pool);
  check(value != nullptr && attribute >= cudaMemPoolReuseFollowEventDependencies && attribute <= cudaMemPoolAttrUsedMemHigh);
  check(attribute != cudaMemPoolAttrReservedMemCurrent && attribute != cudaMemPoolAttrUsedMemCurrent);
  if (attribute != cudaMemPoolAttrReleaseThreshold) return;
  found.pool->set_release_threshold(found.threshold = *static_cast<std::uint64_t*>(value));
}

void cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  const Pool& found = runtime().pools.get(pool);
  auto* const number = static_cast<std::uint64_t*>(value);
  switch (attribute) {
    case cudaMemPoolAttrReleaseThreshold: return give(number, found.threshold);
    case cudaMemPoolAttrReservedMemCurrent: return give(number, found.pool->reserved_bytes());
    case cudaMemPoolAttrUsedMemCurrent: return give(number, found.pool->used_bytes());
    default: throw Failure{cudaErrorNotSupported};
  }
}

void cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int ordinal) {
  DeviceState& device = device_at(ordinal);
  const std::lock_guard lock(device.mutex);
  if (device.default_pool == nullptr)
    device.default_pool = static_cast<cudaMemPool_t>(runtime().pools.add({device.device->default_memory_pool(), true}));
  give(pool, device.default_pool);
}

void cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) { runtime().pools.get(pool).pool->trim_to(keep); }

void cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* descriptions, size_t count) {
  Device& owner = runtime().pools.get(pool).pool->device();
  check(descriptions != nullptr || count == 0);
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
  const Device& owner = runtime().pools.get(pool).pool->device();
  check(location != nullptr && location->type == cudaMemLocationTypeDevice);
  DeviceState& state = device_at(location->id);
  const std::lock_guard lock(state.mutex);
  const bool access = *state.device == owner || state.peers.contains(owner.ordinal());
  give(flags, access ? cudaMemAccessFlagsProtReadWrite : cudaMemAccessFlagsProtNone);
}

}  // namespace calls
}  // namespace weir::cudart
