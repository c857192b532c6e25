// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory_resource>
#include <new>

#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/interop/allocation_table.hpp"
#include "weir/memory.hpp"

/// Uses Weir's memory as a std::pmr::memory_resource, and the memory of such a resource in Weir.
namespace weir::pmr {

/// A device's host-accessible memory, for containers in pinned or managed memory. Allocates like `Device::allocate_bytes`,
/// with an alignment of up to 256 bytes; put a std::pmr::synchronized_pool_resource on top for small blocks. Any thread. All
/// memory must be deallocated before the resource is destroyed.
class MemoryResource final : public std::pmr::memory_resource {
 public:
  /// Throws `invalid_argument` for memory that the host cannot access.
  explicit MemoryResource(Device& device, MemoryKind kind = MemoryKind::pinned) : device_(device), kind_(kind) {
    if (kind == MemoryKind::device) {
      throw Error(Errc::invalid_argument, "pmr::MemoryResource", device.describe(),
                  "containers write to their memory, and the host cannot use device memory; give pinned or managed");
    }
  }
  MemoryResource(const MemoryResource&) = delete;
  MemoryResource& operator=(const MemoryResource&) = delete;

  /// The device whose memory it is.
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

/// Allocates memory from `resource`, which must outlive it, as an `Allocation` of `device`. `kind`: the kind of that memory.
/// See `Device::adopt_memory`.
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
