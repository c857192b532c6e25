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
#include "core/immortal.hpp"
#include "weir/backend.hpp"
#include "weir/device.hpp"

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
class NativeStream;
template <class Api>
class ConditionalKernel;

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

/// One device. What it does is the same for each vendor; how the driver is told is `Api`'s.
template <class Api>
class GpuDevice final : public Device {
 public:
  using Context = typename Api::DeviceContext;
  using Current = typename Api::Current;
  using StreamHandle = typename Api::StreamHandle;

  GpuDevice(Backend& backend, const Api& api, int ordinal);

  const Api& api() const noexcept { return api_; }
  /// What the driver calls the device. Opened when it is first needed: it costs memory on the device.
  const Context& context() const {
    if (!opened_.load(std::memory_order_acquire)) [[unlikely]] open();
    return context_;
  }
  /// Makes the device the calling thread's current one for the life of the result, if it is not already.
  [[nodiscard]] Current make_current() const { return Current(api_, context()); }
  /// The same for calls that take an object which knows its device: only drivers that insist on it get it.
  [[nodiscard]] Current make_current_for_object() const { return Current(api_, context_, api_.objects_need_current()); }
  /// For what ends objects, which may come after the driver has shut down: calls `call()` with the device current, unless it
  /// is not `needed`. The result is the call's, or that of the attempt to make the device current. Never throws. Captures live
  /// on, whoever began them.
  template <class F>
  typename Api::Result with_current(F&& call, bool needed = true) const noexcept {
    const Current current(api_, context_, std::nothrow, needed);
    const CaptureModeScope<Api> relaxed(api_);
    return current.result() != Api::success ? current.result() : call();
  }
  /// The same for destructors: a failure is logged. `what`: "while a module was unloaded".
  template <class F>
  void end(F&& call, const char* what, bool needed = true) const noexcept {
    log_failure(api_, with_current(call, needed), what, describe());
  }
  EventPool<Api>& events() noexcept { return *events_; }

  /// Held around calls of the driver that begin or end a capture, and shared by those that ask after one, on all devices.
  static typename Api::CaptureLock& capture_lock() noexcept {
    static constinit typename Api::CaptureLock lock;
    return lock;
  }
  ConditionalKernel<Api>& conditional_kernel();
  /// A stream to capture the body of a conditional node on.
  StreamPtr create_body_stream();

  /// Keeps a borrowed stream that nobody uses, for the next time that its handle is wrapped. False where another is kept for
  /// that handle.
  bool keep_wrapper(GpuStream<Api>& stream) noexcept;

  /// A number for a stream that the driver gives none: the same for all wrappers that there are of one native stream. Drivers
  /// give handles anew: once the wrappers have gone, or Weir destroys the stream, the handle gets another number.
  std::shared_ptr<const std::uint64_t> number_of(StreamHandle stream, StreamKind kind);
  void forget_number_of(StreamHandle stream) noexcept;

  /// What events hold of a stream that Weir destroys; null for other streams, and where drivers do without.
  std::shared_ptr<NativeStream<Api>> native_stream(StreamHandle stream, StreamKind kind);

  /// Whether streams can capture here. Where they cannot, none is asked whether it does.
  bool streams_capture() const noexcept { return streams_capture_; }

  void add_pool(GpuMemoryPool<Api>& pool);
  void remove_pool(GpuMemoryPool<Api>& pool) noexcept;

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

 private:
  void open() const;
  ModulePtr load(std::span<const std::byte> image, ModuleContents&& contents);
  StreamHandle copy_stream();
  int device_of(StreamHandle stream) const;
  StreamPtr wrap_again(StreamHandle handle, std::shared_ptr<const void>& keep_alive);
  /// Lets another device address what this one's pools hold, or no longer.
  void admit(const GpuDevice& reader, bool allowed);

  const Api& api_;
  mutable std::mutex open_mutex_;
  mutable std::atomic<bool> opened_{false};
  mutable Context context_{};
  mutable PriorityRange priorities_{};
  bool streams_capture_ = true;
  EventPool<Api>* events_;  // never destroyed: events may outlive main

  mutable std::mutex mutex_;  // guards what follows; the driver is called under it only to make what is missing
  std::unique_ptr<ConditionalKernel<Api>> conditional_kernel_;
  std::mutex wrappers_mutex_;
  std::unordered_map<StreamHandle, GpuStream<Api>*> wrappers_;  // null: in use
  std::map<StreamHandle, std::weak_ptr<const std::uint64_t>> stream_numbers_;
  std::shared_ptr<const std::uint64_t> legacy_number_;
  std::unordered_map<StreamHandle, std::weak_ptr<NativeStream<Api>>> native_streams_;
  std::vector<GpuMemoryPool<Api>*> pools_;
  std::vector<const GpuDevice*> readers_;  // the devices that may address this one's memory
  std::vector<const GpuDevice*> enabled_peers_;  // those whose memory this one may address because Weir said so
  StreamHandle copy_stream_ = nullptr;
};

}  // namespace weir::gpu
