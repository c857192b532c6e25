// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weir/memory.hpp"

/// The interface that a backend implements for its memory pools.
namespace weir {

/// The base class of each backend's memory pools; every `MemoryPool` object is a `MemoryPoolImpl`. Any thread may call its
/// functions at any time. The destructor may run while memory of the pool is allocated, or while its free is pending.
class WEIR_API MemoryPoolImpl : public MemoryPool {
 public:
  /// The bytes used by allocations now. (cudaMemPoolAttrUsedMemCurrent)
  virtual std::size_t do_used_bytes() const = 0;
  /// The bytes that the pool has from the system now. (cudaMemPoolAttrReservedMemCurrent)
  virtual std::size_t do_reserved_bytes() const = 0;
  /// Returns unused memory to the system until at most `keep` bytes are reserved. The core has checked that no capture begun
  /// through Weir forbids the call. (cudaMemPoolTrimTo)
  virtual void do_trim_to(std::size_t keep) = 0;
  /// Sets how many unused bytes the pool keeps. (cudaMemPoolAttrReleaseThreshold)
  virtual void do_set_release_threshold(std::size_t bytes) = 0;

 protected:
  /// `handle`: the vendor's pool.
  MemoryPoolImpl(Device& device, void* handle) noexcept : MemoryPool(device, handle) {}
  Disposal disposal() const noexcept override { return Disposal::driver; }
};

}  // namespace weir
