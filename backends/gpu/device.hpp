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
#include "backends/gpu/errors.hpp"
#include "backends/gpu/module_contents.hpp"
#include "backends/gpu/program.hpp"
#include "core/no_destructor.hpp"
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

/// Returns `make()`, the owner of something that the driver has just made. If there is no memory for it, `end()` gives that
/// back to the driver.
template <class Make, class End>
auto make_owner(Make&& make, End&& end) {
  try {
    return make();
  } catch (...) {
    end();
    throw;
  }
}

/// A native event that is destroyed with this object.
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
  /// The driver's context. Opened when it is first needed, since it costs device memory.
  const Context& context() const {
    if (!opened_.load(std::memory_order_acquire)) [[unlikely]] open();
    return context_;
  }
  /// Makes the device the calling thread's current one while the result lives.
  [[nodiscard]] Current make_current() const { return Current(api_, context()); }
  /// The same for calls with an object that knows its device. Does nothing if the driver does not need it.
  [[nodiscard]] Current make_current_for_object() const { return Current(api_, context_, api_.objects_need_current()); }
  /// For the destruction of objects, which may happen after the driver has shut down: calls `call()` with the device
  /// current, if `needed`. Returns the result of the call, or of making the device current. Never throws. No capture is
  /// broken, whoever began it. On a poisoned device nothing is called: its objects are gone with the driver's context.
  template <class F>
  typename Api::Result with_current(F&& call, bool needed = true) const noexcept {
    if (is_poisoned()) return Api::success;
    const Current current(api_, context_, std::nothrow, needed);
    const CaptureModeScope<Api> relaxed(api_);
    return current.result() != Api::success ? current.result() : call();
  }
  /// The same for destructors: logs a failure. `what`: "while a module was unloaded".
  template <class F>
  void end(F&& call, const char* what, bool needed = true) const noexcept {
    log_failure(api_, with_current(call, needed), what, describe());
  }
  EventPool<Api>& events() noexcept { return *events_; }

  /// Held while the driver begins or ends a capture, and shared while it is asked for one, on all devices.
  static typename Api::CaptureLock& capture_lock() noexcept {
    static constinit typename Api::CaptureLock lock;
    return lock;
  }
  ConditionalKernel<Api>& conditional_kernel();
  /// A stream for capturing the body of a conditional node. The native stream is destroyed when `owner` and the stream have
  /// let go of it, so that the body's function cannot destroy it by closing it.
  StreamPtr create_body_stream(std::shared_ptr<const void>& owner);

  /// Keeps an unused wrapper until its handle is wrapped again. False if another one is kept for that handle.
  bool keep_wrapper(GpuStream<Api>& stream) noexcept;
  /// Deletes the unused wrapper of a stream that ends, if one is kept.
  void drop_wrapper(StreamHandle stream) noexcept;

  /// The id of a stream to which the driver gives none: the same for all wrappers of one native stream. Drivers reuse
  /// handles, so once the wrappers are gone, or Weir destroys the stream, the handle gets a new id.
  std::shared_ptr<const std::uint64_t> number_of(StreamHandle stream, StreamKind kind);
  void forget_number_of(StreamHandle stream) noexcept;

  /// What events keep of a stream. Null for the legacy default stream, and if the driver does not need it.
  std::shared_ptr<NativeStream<Api>> native_stream(StreamHandle stream, StreamKind kind);

  /// Whether streams can capture. If not, none is asked for a capture.
  bool streams_capture() const noexcept { return streams_capture_; }

  /// Notes that work is submitted which may wait for the host: a wait for a value, or a host function.
  void note_work_that_waits() noexcept {
    if (!has_work_that_waits_.load(std::memory_order_relaxed)) [[unlikely]]
      has_work_that_waits_.store(true, std::memory_order_relaxed);
  }
  /// Unloads a module, for which drivers wait until the device is idle: on another thread if that may need this one.
  void unload(typename Api::ModuleHandle module) const noexcept;

  void add_pool(GpuMemoryPool<Api>& pool);
  void remove_pool(GpuMemoryPool<Api>& pool) noexcept;
  /// Keeps a native pool that nobody uses any more, for `do_create_memory_pool`. Whether that is all: if not, call
  /// `trim_kept_pool` until it returns true.
  bool keep_pool(NativePool<Api>& pool) noexcept;
  /// False if frees of the pool's memory are pending.
  bool trim_kept_pool(NativePool<Api>& pool) noexcept;
  /// Memory from a pool that Weir has made owns that pool until it is freed.
  void note_memory(void* memory, const std::shared_ptr<NativePool<Api>>& pool);
  bool has_pool_memory() const noexcept { return pool_memory_count_.load(std::memory_order_relaxed) != 0; }
  /// Returns the pool; null for other memory.
  std::shared_ptr<NativePool<Api>> forget_memory(void* memory) noexcept;

 protected:
  StreamPtr do_create_stream(bool blocking, int priority) override;
  StreamPtr do_create_default_stream() override;
  StreamPtr do_create_per_thread_stream() override;
  StreamPtr do_wrap_stream(void* handle, Ownership ownership, std::shared_ptr<const void> keep_alive) override;
  PriorityRange do_priority_range() const override;
  EventPtr do_create_event(const EventOptions& options) override;
  EventPtr do_open_event(const InterprocessHandle& handle) override;
  void* do_allocate(std::size_t bytes, MemoryKind kind) override;
  void do_deallocate(void* memory, MemoryKind kind) override;
  MemoryInfo do_memory_info() const override;
  void do_copy(void* destination, const void* source, std::size_t bytes) override;
  void* do_register_host(void* data, std::size_t bytes) override;
  void do_unregister_host(void* data) override;
  MemoryPoolPtr do_create_memory_pool(const MemoryPoolOptions& options) override;
  MemoryPoolPtr do_default_memory_pool() override;
  InterprocessHandle do_interprocess_handle(const Allocation& allocation) const override;
  void* do_open_memory(const InterprocessHandle& handle) override;
  void do_close_memory(void* memory) override;
  bool do_can_access_peer(const Device& peer) const override;
  void do_enable_peer_access(const Device& peer) override;
  void do_disable_peer_access(const Device& peer) override;
  ModulePtr do_load_module(std::span<const std::byte> image) override;
  ModulePtr do_compile(std::string_view source, const CompileOptions& options) override;
  int do_rank_image(std::string_view architecture, std::span<const std::byte> code) const override;
  void do_synchronize() override;
  std::optional<Error> do_fault() const override;

 private:
  /// Null if there is none. One with pending frees is taken only if there are more than `most_pending` of those.
  NativePool<Api>* take_kept_pool(std::size_t max_size, std::size_t most_pending) noexcept;
  std::shared_ptr<NativePool<Api>> make_native_pool(std::size_t max_size);
  void open() const;
  ModulePtr load(const Program& program, ModuleContents&& contents);
  EventPtr own_event(const EventOptions& options, typename Api::EventHandle native, typename GpuEvent<Api>::Origin origin);
  StreamHandle copy_stream();
  int device_of(StreamHandle stream) const;
  StreamPtr wrap_again(StreamHandle handle, std::shared_ptr<const void>& keep_alive);
  /// Allows or forbids another device to access the memory of this one's pools.
  void admit(const GpuDevice& reader, bool allowed);

  const Api& api_;
  mutable std::mutex open_mutex_;
  mutable std::atomic<bool> opened_{false};
  mutable Context context_{};
  mutable PriorityRange priorities_{};
  bool streams_capture_ = true;
  EventPool<Api>* events_;  // never destroyed: events may outlive main

  mutable std::mutex mutex_;  // guards what follows; the driver is called under it only to make missing objects
  struct KeptPool {
    NativePool<Api>* pool;
    bool is_idle;  // no free is pending, and it is trimmed
  };
  std::vector<KeptPool> kept_pools_;
  std::unique_ptr<ConditionalKernel<Api>> conditional_kernel_;
  std::mutex wrappers_mutex_;
  std::unordered_map<StreamHandle, GpuStream<Api>*> wrappers_;  // unused wrappers; null while in use
  std::map<StreamHandle, std::weak_ptr<const std::uint64_t>> stream_numbers_;
  std::shared_ptr<const std::uint64_t> legacy_number_;
  std::unordered_map<StreamHandle, std::weak_ptr<NativeStream<Api>>> native_streams_;
  std::vector<GpuMemoryPool<Api>*> pools_;
  std::vector<const GpuDevice*> readers_;  // devices that may access this one's memory
  std::vector<const GpuDevice*> enabled_peers_;  // devices whose memory this one may access because Weir enabled it
  StreamHandle copy_stream_ = nullptr;

  std::atomic<bool> has_work_that_waits_{false};

  std::mutex pool_memory_mutex_;
  std::unordered_map<void*, std::shared_ptr<NativePool<Api>>> pool_memory_;
  std::atomic<std::size_t> pool_memory_count_{0};
};

}  // namespace weir::gpu
