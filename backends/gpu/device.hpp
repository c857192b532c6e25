// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "backends/gpu/capture.hpp"
#include "backends/gpu/compute_units.hpp"
#include "backends/gpu/errors.hpp"
#include "backends/gpu/module_contents.hpp"
#include "backends/gpu/program.hpp"
#include "core/base/no_destructor.hpp"
#include "weir/backend.hpp"
#include "weir/plugin/device.hpp"

namespace weir::gpu {

template <class Api>
class EventPool;
template <class Api>
class GpuEvent;
template <class Api>
class GpuMemoryPool;
template <class Api>
class GpuStream;
template <class Api>
class NativePool;
template <class Api>
class NativeStream;
template <class Api>
class ConditionalKernel;

/// Returns `make()`, which creates the owner of a new driver object. If `make()` throws, calls `end()` to destroy the driver
/// object, and rethrows.
template <class Make, class End>
auto make_owner(Make&& make, End&& end) {
  try {
    return make();
  } catch (...) {
    end();
    throw;
  }
}

/// Owns a native event and destroys it.
template <class Api>
struct OwnedEvent {
  OwnedEvent(const Api& a, typename Api::EventHandle h) noexcept : api(a), handle(h) {}
  ~OwnedEvent() { log_failure(api, api.EventDestroy(handle), "while an event was destroyed", "weir"); }
  OwnedEvent(const OwnedEvent&) = delete;
  OwnedEvent& operator=(const OwnedEvent&) = delete;

  const Api& api;
  const typename Api::EventHandle handle;
};

/// One device. The same code serves both vendors; `Api` makes the calls to the driver.
template <class Api>
class GpuDevice final : public DeviceImpl {
 public:
  using Context = typename Api::DeviceContext;
  using Current = typename Api::Current;
  using StreamHandle = typename Api::StreamHandle;

  GpuDevice(Backend& backend, const Api& api, int ordinal);

  const Api& api() const noexcept { return api_; }
  /// The driver's context. It is opened on first use, because a context occupies device memory.
  const Context& context() const {
    if (!opened_.load(std::memory_order_acquire)) [[unlikely]]
      open();
    return context_;
  }
  /// Makes the device current on the calling thread for the lifetime of the result.
  [[nodiscard]] Current make_current() const { return Current(api_, context()); }
  /// The same for calls whose arguments include a stream or an event, from which some drivers find the device by themselves.
  /// For those drivers it does nothing.
  [[nodiscard]] Current make_current_for_object() const { return Current(api_, context_, api_.objects_need_current()); }
  /// For destructors of driver objects, which may run after the driver has shut down. Runs `call()`, with the device current
  /// if `needed`, and returns its result, or the error of making the device current. Never throws, and invalidates no
  /// capture. On a poisoned device it skips the call, because the objects are already lost with the driver's context.
  template <class F>
  typename Api::Result with_current(F&& call, bool needed = true) const noexcept {
    if (is_poisoned()) return Api::success;
    const Current current(api_, context_, std::nothrow, needed);
    const CaptureModeScope<Api> relaxed(api_);
    return current.result() != Api::success ? current.result() : call();
  }
  /// The same, and logs a failure. `what` completes the message: "while a module was unloaded".
  template <class F>
  void end(F&& call, const char* what, bool needed = true) const noexcept {
    log_failure(api_, with_current(call, needed), what, describe());
  }
  EventPool<Api>& events() noexcept { return *events_; }
  /// The compute units from which partitions are built.
  ComputeUnits<Api>& compute_units() noexcept { return compute_units_; }

  /// Held exclusively while the driver begins or ends a capture, and shared while the driver is queried for one. One lock
  /// serves all devices.
  static typename Api::CaptureLock& capture_lock() noexcept {
    static constinit typename Api::CaptureLock lock;
    return lock;
  }
  ConditionalKernel<Api>& conditional_kernel() {
    const auto current = make_current();
    const std::lock_guard lock(mutex_);
    if (!conditional_kernel_) {
      const CaptureModeScope<Api> relaxed(api_);
      conditional_kernel_ = std::make_unique<ConditionalKernel<Api>>(api_, *this);
    }
    return *conditional_kernel_;
  }
  /// Creates a stream for capturing the body of a conditional node. The native stream lives until both `owner` and the
  /// returned stream have released it, so a body function that closes the stream does not destroy the native stream.
  StreamPtr create_body_stream(std::shared_ptr<const void>& owner) {
    const auto current = make_current();
    StreamHandle handle = nullptr;
    check(api_, api_.StreamCreateWithPriority(&handle, Api::stream_non_blocking, api_.usual_priority()),
          "Stream::capture_if", *this);
    owner.reset(handle, [&api = api_](const void* h) {
      log_failure(api, api.StreamDestroy(static_cast<StreamHandle>(const_cast<void*>(h))), "while a stream was destroyed",
                  "weir");
    });
    auto stream = make_ptr<GpuStream<Api>>(*this, handle, StreamKind::borrowed, owner, true);
    stream->keep_private();
    return stream;
  }

  /// Keeps the unused wrapper `stream` until its native handle is wrapped again. Returns false if another wrapper is already
  /// kept for that handle.
  bool keep_wrapper(GpuStream<Api>& stream) noexcept;
  /// Deletes the kept wrapper, if any, of a native stream that is being destroyed.
  void drop_wrapper(StreamHandle stream) noexcept {
    GpuStream<Api>* unused = nullptr;
    {
      const std::lock_guard lock(mutex_);
      const auto kept = wrappers_.find(stream);
      if (kept == wrappers_.end()) return;
      unused = kept->second;
      wrappers_.erase(kept);
    }
    delete unused;
  }

  /// Returns an id for a stream to which the driver assigns none. All wrappers of one native stream share the id. Drivers
  /// reuse handles, so a handle gets a new id after all its wrappers are gone or Weir has destroyed the stream.
  std::shared_ptr<const std::uint64_t> number_of(StreamHandle stream, StreamKind kind);
  void forget_number_of(StreamHandle stream) noexcept {
    const std::lock_guard lock(mutex_);
    stream_numbers_.erase(stream);
  }

  /// The shared owner of a stream's handle, which events keep alive. Null for the legacy default stream, and if the driver's
  /// events do not need their stream.
  std::shared_ptr<NativeStream<Api>> native_stream(StreamHandle stream, StreamKind kind);

  /// Whether streams can capture. If not, the driver is never queried for captures.
  bool streams_capture() const noexcept { return streams_capture_; }

  /// Called when submitted work may wait for the host: a wait for a value in memory, or a host function.
  void set_has_work_that_waits() noexcept {
    if (!has_work_that_waits_.load(std::memory_order_relaxed)) [[unlikely]]
      has_work_that_waits_.store(true, std::memory_order_relaxed);
  }
  /// Whether a host function was ever captured.
  bool captures_host_functions() const noexcept { return captures_host_functions_.load(std::memory_order_relaxed); }
  void set_captures_host_functions() noexcept { captures_host_functions_.store(true, std::memory_order_relaxed); }
  /// Unloads a module. Drivers wait until the device is idle before they unload. If the pending work may depend on this
  /// thread, another thread unloads the module.
  void unload(typename Api::ModuleHandle module) const noexcept {
    const auto unload = [this, module] {
      end([this, module] { return api_.ModuleUnload(module); }, "while a module was unloaded");
      return true;
    };
    if (has_work_that_waits_.load(std::memory_order_relaxed) && support::reclaim_module(unload)) return;
    (void)unload();
  }

  void add_pool(GpuMemoryPool<Api>& pool) {
    const std::lock_guard lock(mutex_);
    for (const GpuDevice* reader : readers_) {
      check(api_, api_.set_pool_access(pool.native(), reader->context(), true), "Device::create_memory_pool", *this);
    }
    pools_.push_back(&pool);
  }
  void remove_pool(GpuMemoryPool<Api>& pool) noexcept {
    const std::lock_guard lock(mutex_);
    std::erase(pools_, &pool);
  }
  /// Keeps an unused native pool for `do_create_memory_pool`. Returns true if the pool is already trimmed; otherwise call
  /// `trim_kept_pool` until that returns true.
  bool keep_pool(NativePool<Api>& pool) noexcept {
    try {
      const std::lock_guard lock(mutex_);
      kept_pools_.push_back({&pool, false});
    } catch (const std::bad_alloc&) {
      // There is no memory for the list entry, so the pool is leaked.
    }
    return trim_kept_pool(pool);
  }
  /// Trims a kept pool. Returns false, and does nothing, while frees of the pool's memory are pending.
  bool trim_kept_pool(NativePool<Api>& pool) noexcept {
    if (!pool.is_idle()) return false;
    end([&] { return api_.MemPoolTrimTo(pool.handle(), 0); }, "while a memory pool was trimmed");
    const std::lock_guard lock(mutex_);
    for (KeptPool& kept : kept_pools_) kept.is_idle |= kept.pool == &pool;
    return true;
  }
  /// Stores which of Weir's pools `memory` is from, so that the pool lives until the memory is freed.
  void record_memory(void* memory, const std::shared_ptr<NativePool<Api>>& pool) {
    std::shared_ptr<NativePool<Api>> former = pool;  // its destructor runs outside the lock
    const std::lock_guard lock(mutex_);
    pool_memory_[memory].swap(former);
    pool_memory_count_.store(pool_memory_.size(), std::memory_order_relaxed);
  }
  bool has_pool_memory() const noexcept { return pool_memory_count_.load(std::memory_order_relaxed) != 0; }
  /// Removes the entry of `memory` and returns its pool; null if the memory is not from one of Weir's pools.
  std::shared_ptr<NativePool<Api>> forget_memory(void* memory) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = pool_memory_.find(memory);
    if (found == pool_memory_.end()) return nullptr;
    auto pool = std::move(found->second);
    pool_memory_.erase(found);
    pool_memory_count_.store(pool_memory_.size(), std::memory_order_relaxed);
    return pool;
  }

 protected:
  StreamPtr do_create_stream(bool blocking, int priority) override {
    const auto current = make_current();
    StreamHandle handle = nullptr;
    check(api_, api_.StreamCreateWithPriority(&handle, blocking ? Api::stream_blocking : Api::stream_non_blocking, priority),
          "Device::create_stream", *this);
    return make_owner([&] { return make_ptr<GpuStream<Api>>(*this, handle, StreamKind::owned, nullptr, !blocking); },
                      [&] { log_failure(api_, api_.StreamDestroy(handle), "while a stream was destroyed", describe()); });
  }
  PartitionPtr do_partition(std::uint32_t compute_units) override;
  StreamPtr do_create_default_stream() override {
    (void)context();
    return make_ptr<GpuStream<Api>>(*this, api_.legacy_stream(), StreamKind::legacy_default, nullptr, false);
  }
  StreamPtr do_create_per_thread_stream() override {
    (void)context();
    return make_ptr<GpuStream<Api>>(*this, api_.per_thread_stream(), StreamKind::per_thread_default, nullptr, false);
  }
  StreamPtr do_wrap_stream(void* handle, Ownership ownership, std::shared_ptr<const void> keep_alive) override;
  PriorityRange do_priority_range() const override {
    (void)context();
    return priorities_;
  }
  EventPtr do_create_event(const EventOptions& options) override {
    if (!options.interprocess) [[likely]]
      return events_->take(options);
    return own_event(options, events_->make_native(options), GpuEvent<Api>::Source::own);
  }
  EventPtr do_open_event(const InterprocessHandle& handle) override {
    const auto current = make_current();
    typename Api::EventHandle native = nullptr;
    check(api_, api_.event_from_handle(handle, native), "Device::open_event", *this);
    return own_event({.interprocess = true}, native, GpuEvent<Api>::Source::opened);
  }
  void* do_allocate(std::size_t bytes, MemoryKind kind) override {
    const auto current = make_current();
    // External code may be capturing; the core has already checked Weir's own captures.
    const CaptureModeScope<Api> relaxed(api_);
    void* memory = nullptr;
    const auto result = api_.allocate(memory, bytes, kind);
    if (result != Api::success) {
      fail(api_, result, "Device::allocate", describe(),
           std::to_string(bytes) + " bytes of " + std::string(to_string(kind)) +
               " memory: " + std::string(Api::meaning(result).detail));
    }
    return memory;
  }
  void do_deallocate(void* memory, MemoryKind kind) override {
    const auto result = with_current([&] { return api_.deallocate(memory, kind); });
    if (!Api::is_shut_down(result)) check(api_, result, "Device::allocate (free)", *this);
  }
  MemoryInfo do_memory_info() const override {
    const auto current = make_current();
    MemoryInfo info;
    check(api_, api_.MemGetInfo(&info.free, &info.total), "Device::memory_info", *this);
    return info;
  }
  void do_copy(void* destination, const void* source, std::size_t bytes) override {
    // Uses a separate stream, because the driver's blocking copy would be ordered against the legacy default stream.
    const auto current = make_current();
    const CaptureModeScope<Api> relaxed(api_);  // as in do_allocate
    const StreamHandle stream = copy_stream();
    check(api_, api_.copy_async(destination, source, bytes, stream), "Device::copy", *this);
    check(api_, api_.StreamSynchronize(stream), "Device::copy", *this);
  }
  void* do_register_host(void* data, std::size_t bytes) override {
    const auto current = make_current();
    const CaptureModeScope<Api> relaxed(api_);  // as in do_allocate
    void* device_pointer = nullptr;
    check(api_, api_.register_host(data, bytes, device_pointer), "Device::register_host", *this);
    return device_pointer;
  }
  void do_unregister_host(void* data) override {
    const auto result = with_current([&] { return api_.MemHostUnregister(data); });
    if (!Api::is_shut_down(result)) check(api_, result, "HostRegistration", *this);
  }
  MemoryPoolPtr do_create_memory_pool(const MemoryPoolOptions& options) override {
    const auto current = make_current();
    const CaptureModeScope<Api> relaxed(api_);  // as in do_allocate
    auto own = make_native_pool(options.max_size);
    const bool is_new = !own->was_used();
    const auto pool = make_ptr<GpuMemoryPool<Api>>(*this, own->handle(), std::move(own));
    add_pool(*pool);
    if (!is_new || options.release_threshold != 0) pool->set_release_threshold(options.release_threshold);
    return pool;
  }
  MemoryPoolPtr do_default_memory_pool() override {
    const auto current = make_current();
    typename Api::PoolHandle handle = nullptr;
    check(api_, api_.default_pool(context(), handle), "Device::default_memory_pool", *this);
    return make_ptr<GpuMemoryPool<Api>>(*this, handle, nullptr);
  }
  InterprocessHandle do_interprocess_handle(const Allocation& allocation) const override {
    const auto current = make_current();
    InterprocessHandle handle;
    check(api_, api_.memory_to_handle(allocation.data(), handle), "Device::interprocess_handle", *this);
    return handle;
  }
  void* do_open_memory(const InterprocessHandle& handle) override {
    const auto current = make_current();
    void* memory = nullptr;
    check(api_, api_.memory_from_handle(handle, memory), "Device::open_allocation", *this);
    return memory;
  }
  void do_close_memory(void* memory) override {
    const auto result = with_current([&] { return api_.close_memory(memory); });
    if (!Api::is_shut_down(result)) check(api_, result, "Device::open_allocation (close)", *this);
  }
  bool do_can_access_peer(const Device& peer) const override {
    bool can = false;
    check(api_, api_.can_access_peer(ordinal(), peer.ordinal(), can), "Device::can_access_peer", *this);
    return can;
  }
  void do_enable_peer_access(const Device& peer) override;
  void do_disable_peer_access(const Device& peer) override {
    auto& owner = const_cast<GpuDevice&>(static_cast<const GpuDevice&>(peer));
    {
      const auto current = make_current();
      const std::lock_guard lock(mutex_);
      if (const auto mine = std::find(enabled_peers_.begin(), enabled_peers_.end(), &owner); mine != enabled_peers_.end()) {
        check(api_, api_.disable_peer(owner.context()), "Device::disable_peer_access", *this);
        enabled_peers_.erase(mine);
      }
    }
    owner.admit(*this, false);
  }
  ModulePtr do_load_module(std::span<const std::byte> image) override {
    return load(CompiledProgram::from_image(image), {});
  }
  ModulePtr do_compile(std::string_view source, const CompileOptions& options) override {
    return load(api_.compile(*this, source, options), {});
  }
  int do_rank_image(std::string_view architecture, std::span<const std::byte> code) const override;
  void do_synchronize() override;
  bool do_synchronize_until(std::chrono::steady_clock::time_point deadline) override;
  std::optional<Error> do_fault() const override;

 private:
  /// Returns a kept pool of that size, or null. Returns a pool with pending frees only if more than `most_pending` kept
  /// pools have some.
  NativePool<Api>* take_kept_pool(std::size_t max_size, std::size_t most_pending) noexcept;
  std::shared_ptr<NativePool<Api>> make_native_pool(std::size_t max_size);
  void open() const;
  EventPtr record_all(const char* operation, bool blocking_sync);
  ModulePtr load(const CompiledProgram& program, ModuleContents&& contents);
  EventPtr own_event(const EventOptions& options, typename Api::EventHandle native, typename GpuEvent<Api>::Source source) {
    return make_owner([&]() -> EventPtr { return make_ptr<GpuEvent<Api>>(*this, options, native, source); },
                      [&] { end([&] { return api_.EventDestroy(native); }, "while an event was destroyed"); });
  }
  StreamHandle copy_stream() {
    const std::lock_guard lock(mutex_);
    if (copy_stream_ == nullptr) {
      check(api_, api_.StreamCreateWithPriority(&copy_stream_, Api::stream_non_blocking, api_.usual_priority()),
            "Device::copy", *this);
    }
    return copy_stream_;
  }
  int device_of(StreamHandle stream) const {
    const Context& own = context();
    [[maybe_unused]] const typename Api::CaptureLock::Question question(capture_lock());
    return api_.device_of(stream, own);
  }
  /// Reuses a kept wrapper: frameworks wrap the same few streams again and again.
  StreamPtr wrap_again(StreamHandle handle, std::shared_ptr<const void>& keep_alive) {
    GpuStream<Api>* stream = nullptr;
    {
      const std::lock_guard lock(mutex_);
      const auto kept = wrappers_.find(handle);
      if (kept != wrappers_.end()) stream = std::exchange(kept->second, nullptr);
    }
    if (stream == nullptr) return nullptr;
    if (stream->wrap_again(keep_alive)) return StreamPtr::first(stream);
    delete stream;
    return nullptr;
  }
  /// Allows or forbids `reader` to access the memory of this device's pools.
  void admit(const GpuDevice& reader, bool allowed);

  const Api& api_;
  mutable std::atomic<bool> opened_{false};
  mutable Context context_{};
  mutable PriorityRange priorities_{};
  bool streams_capture_ = true;
  ComputeUnits<Api> compute_units_{*this};
  EventPool<Api>* events_;  // never destroyed: events may outlive main

  mutable std::mutex mutex_;  // guards the members below; held during a driver call only while a missing object is created
  struct KeptPool {
    NativePool<Api>* pool;
    bool is_idle;  // whether the pool is trimmed, with no pending free
  };
  std::vector<KeptPool> kept_pools_;
  std::unique_ptr<ConditionalKernel<Api>> conditional_kernel_;
  std::unordered_map<StreamHandle, GpuStream<Api>*> wrappers_;  // kept wrappers by handle; null while a wrapper is in use
  std::map<StreamHandle, std::weak_ptr<const std::uint64_t>> stream_numbers_;
  std::shared_ptr<const std::uint64_t> legacy_number_;
  std::unordered_map<StreamHandle, std::weak_ptr<NativeStream<Api>>> native_streams_;
  std::vector<GpuMemoryPool<Api>*> pools_;
  std::vector<const GpuDevice*> readers_;        // devices that may access this one's memory
  std::vector<const GpuDevice*> enabled_peers_;  // devices whose memory this one may access because Weir enabled it
  StreamHandle copy_stream_ = nullptr;

  std::atomic<bool> has_work_that_waits_{false}, captures_host_functions_{false};

  std::unordered_map<void*, std::shared_ptr<NativePool<Api>>> pool_memory_;
  std::atomic<std::size_t> pool_memory_count_{0};
};

}  // namespace weir::gpu
