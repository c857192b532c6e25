// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/gpu/capture.hpp"
#include "backends/gpu/device.hpp"
#include "weir/memory.hpp"

namespace weir::gpu {

/// A pool of stream-ordered memory: the device's default one, or an owned one.
template <class Api>
class GpuMemoryPool final : public MemoryPool {
 public:
  using Handle = typename Api::PoolHandle;

  GpuMemoryPool(GpuDevice<Api>& device, Handle handle, bool own) : MemoryPool(device, handle), device_(device), own_(own) {}

  Handle native() const noexcept { return static_cast<Handle>(native_handle()); }

 protected:
  ~GpuMemoryPool() override {
    if (!own_) return;
    device_.remove_pool(*this);
    device_.end([this] { return device_.api().destroy_pool(native()); }, "while a memory pool was destroyed");
  }

  std::size_t do_used_bytes() const override { return get(Api::pool_used, "MemoryPool::used_bytes"); }
  std::size_t do_reserved_bytes() const override { return get(Api::pool_reserved, "MemoryPool::reserved_bytes"); }

  void do_trim_to(std::size_t keep) override {
    check(device_.api(), device_.api().MemPoolTrimTo(native(), keep), "MemoryPool::trim_to", device_);
  }

  void do_set_release_threshold(std::size_t bytes) override {
    std::uint64_t value = bytes;
    const CaptureModeScope<Api> relaxed(device_.api());
    check(device_.api(), device_.api().MemPoolSetAttribute(native(), Api::pool_release_threshold, &value),
          "MemoryPool::set_release_threshold", device_);
  }

 private:
  std::size_t get(typename Api::PoolAttribute attribute, const char* operation) const {
    std::uint64_t value = 0;
    const CaptureModeScope<Api> relaxed(device_.api());  // reads a number without waiting
    check(device_.api(), device_.api().MemPoolGetAttribute(native(), attribute, &value), operation, device_);
    return static_cast<std::size_t>(value);
  }

  GpuDevice<Api>& device_;
  bool own_;
};

}  // namespace weir::gpu
