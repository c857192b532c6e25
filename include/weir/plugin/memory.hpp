// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weir/memory.hpp"

/// The interface that a backend implements for its memory pools.
namespace weir {

/// The base class of each backend's memory pools; every `MemoryPool` object is a `MemoryPoolImpl`.
class WEIR_API MemoryPoolImpl : public MemoryPool {
 public:
  virtual std::size_t do_used_bytes() const = 0;
  virtual std::size_t do_reserved_bytes() const = 0;
  virtual void do_trim_to(std::size_t keep) = 0;
  virtual void do_set_release_threshold(std::size_t bytes) = 0;

 protected:
  MemoryPoolImpl(Device& device, void* handle) noexcept : MemoryPool(device, handle) {}
  Disposal disposal() const noexcept override { return Disposal::driver; }
};

}  // namespace weir
