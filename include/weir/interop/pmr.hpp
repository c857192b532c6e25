// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory_resource>
#include <new>

#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/interop/allocation_table.hpp"
#include "weir/memory.hpp"

/// Adapters between Weir's memory and the standard library's memory resources: `MemoryResource` makes Weir's memory a
/// std::pmr::memory_resource, and `allocate_bytes` allocates from such a resource.
namespace weir::pmr {

/// A memory resource of pinned or managed memory, for containers whose elements a device also uses. Each allocation calls
/// `Device::allocate_bytes`, which is slow: for small blocks, put a std::pmr::synchronized_pool_resource on top. Throws
/// std::bad_alloc for an alignment of more than 256 bytes. All memory must be deallocated before the resource is destroyed.
/// Any thread.
class MemoryResource final : public std::pmr::memory_resource {
 public:
  /// Throws `invalid_argument` for `MemoryKind::device`, which the host cannot access.
  explicit MemoryResource(Device& device, MemoryKind kind = MemoryKind::pinned) : device_(device), kind_(kind) {
    if (kind == MemoryKind::device) {
      throw Error(Errc::invalid_argument, "pmr::MemoryResource", device.describe(),
                  "containers write to their memory, and the host cannot use device memory; give pinned or managed");
    }
  }
  MemoryResource(const MemoryResource&) = delete;
  MemoryResource& operator=(const MemoryResource&) = delete;

  /// The device that the memory belongs to.
  Device& device() const noexcept { return device_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (alignment > 256) throw std::bad_alloc();
    return allocations_.keep(device_.allocate_bytes(bytes == 0 ? 1 : bytes, kind_));
  }
  void do_deallocate(void* data, std::size_t, std::size_t) override { (void)allocations_.take(data); }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

  Device& device_;
  MemoryKind kind_;
  weir::detail::AllocationTable allocations_;
};

/// Allocates `bytes` bytes from `resource` as an `Allocation` of `device`. `resource` must outlive the allocation. `kind`:
/// the kind of memory that `resource` provides. Throws like `Device::adopt_memory`.
inline AllocationPtr allocate_bytes(std::pmr::memory_resource& resource, Device& device, std::size_t bytes, MemoryKind kind,
                                    std::size_t alignment = 256) {
  void* const data = resource.allocate(bytes, alignment);
  try {
    return device.adopt_memory(data, bytes, kind, [&resource, bytes, alignment](void* memory) {
      resource.deallocate(memory, bytes, alignment);
    });
  } catch (...) {
    resource.deallocate(data, bytes, alignment);
    throw;
  }
}

}  // namespace weir::pmr
