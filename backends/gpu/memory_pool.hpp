// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/gpu/capture.hpp"
#include "backends/gpu/device.hpp"
#include "backends/gpu/native_stream.hpp"
#include "weir/plugin/memory.hpp"

namespace weir::gpu {

/// A native memory pool that Weir has created. It is in use as long as its `MemoryPool` or any memory from it exists. A pool
/// of which memory was ever freed is never destroyed, because CUDA's driver (580) may then crash if other threads have
/// pools, even after the frees are over. Instead it is trimmed once its frees are over, and reused for the next pool of its
/// size.
template <class Api>
class NativePool {
 public:
  using Handle = typename Api::PoolHandle;

  NativePool(GpuDevice<Api>& device, Handle handle, std::size_t max_size) noexcept
      : device_(device), handle_(handle), max_size_(max_size) {}
  NativePool(const NativePool&) = delete;
  NativePool& operator=(const NativePool&) = delete;

  Handle handle() const noexcept { return handle_; }
  std::size_t max_size() const noexcept { return max_size_; }
  bool was_used() const noexcept { return used_; }

  /// Called when neither a `MemoryPool` nor memory uses the pool any longer: keeps it for reuse or destroys it.
  static void give_back(NativePool* pool) noexcept {
    GpuDevice<Api>& device = pool->device_;
    if (pool->used_ && !pool->leaks_) {
      if (device.keep_pool(*pool)) return;
      (void)support::reclaim([&device, pool] { return device.trim_kept_pool(*pool); });
      return;
    }
    if (!pool->leaks_)
      device.end([&] { return device.api().destroy_pool(pool->handle_); }, "while a memory pool was destroyed");
    delete pool;
  }

  /// Records that memory of the pool was just freed on the stream. `id`: the stream's id, or 0 if other threads can use that
  /// stream by its handle.
  void freed_on(typename Api::StreamHandle stream, std::uint64_t id,
                const std::shared_ptr<const NativeStream<Api>>& native_stream) noexcept {
    const std::lock_guard lock(mutex_);
    used_ = true;
    try {
      auto known = std::find_if(frees_.begin(), frees_.end(), [id](const Free& free) { return id != 0 && free.id == id; });
      if (known == frees_.end()) {
        constexpr std::size_t few = 8;
        if (frees_.size() >= few) (void)are_over();
        frees_.push_back(
            {id, std::make_unique<OwnedEvent<Api>>(device_.api(), device_.events().make_native({})), native_stream});
        known = std::prev(frees_.end());
      }
      check(device_.api(), device_.api().EventRecord(known->over->handle, stream), "Stream::allocate_async (free)", device_);
    } catch (const std::exception& e) {
      leaks_ = true;
      support::log(support::LogLevel::error,
                   "a memory pool is leaked, because the end of a free could not be recorded: ", e.what());
    }
  }
  /// Ensures that the pool is neither destroyed nor reused.
  void leak() noexcept { leaks_ = true; }
  /// Whether all frees of the pool's memory are over.
  bool is_idle() noexcept {
    const std::lock_guard lock(mutex_);
    return are_over();
  }

 private:
  struct Free {
    std::uint64_t id;
    std::unique_ptr<const OwnedEvent<Api>> over;      // event recorded after the last free on the stream
    std::shared_ptr<const NativeStream<Api>> stream;  // keeps alive the stream that the event may need
  };

  bool are_over() noexcept {
    if (frees_.empty() || device_.is_poisoned()) return true;
    const auto result = device_.with_current([&] {
      std::erase_if(frees_, [&](const Free& f) { return !Api::is_pending(device_.api().query_event(f.over->handle)); });
      return Api::success;
    });
    return result != Api::success || frees_.empty();
  }

  GpuDevice<Api>& device_;
  const Handle handle_;
  const std::size_t max_size_;
  std::mutex mutex_;
  std::vector<Free> frees_;        // one entry for each stream
  std::atomic<bool> used_{false};  // whether any of its memory was ever freed
  std::atomic<bool> leaks_{false};
};

/// A pool of stream-ordered memory: the device's default pool, or an owned one.
template <class Api>
class GpuMemoryPool final : public MemoryPoolImpl {
 public:
  using Handle = typename Api::PoolHandle;

  /// `own`: the pool that Weir created; null for the default pool.
  GpuMemoryPool(GpuDevice<Api>& device, Handle handle, std::shared_ptr<NativePool<Api>> own)
      : MemoryPoolImpl(device, handle), device_(device), own_(std::move(own)) {}

  Handle native() const noexcept { return static_cast<Handle>(native_handle()); }
  const std::shared_ptr<NativePool<Api>>& own() const noexcept { return own_; }

 protected:
  ~GpuMemoryPool() override {
    if (own_) device_.remove_pool(*this);
  }

  std::size_t do_used_bytes() const override { return get(Api::pool_used, "MemoryPool::used_bytes"); }
  std::size_t do_reserved_bytes() const override { return get(Api::pool_reserved, "MemoryPool::reserved_bytes"); }

  void do_trim_to(std::size_t keep) override {
    // external code may be capturing; the core has already checked Weir's own captures
    const CaptureModeScope<Api> relaxed(device_.api());
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
    const CaptureModeScope<Api> relaxed(device_.api());  // the call only reads a number and does not wait
    check(device_.api(), device_.api().MemPoolGetAttribute(native(), attribute, &value), operation, device_);
    return static_cast<std::size_t>(value);
  }

  GpuDevice<Api>& device_;
  const std::shared_ptr<NativePool<Api>> own_;
};

}  // namespace weir::gpu
