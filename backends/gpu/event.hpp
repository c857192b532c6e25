// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <type_traits>

#include "backends/gpu/device.hpp"
#include "backends/gpu/errors.hpp"
#include "backends/gpu/native_stream.hpp"
#include "core/base/free_list.hpp"
#include "weir/plugin/event.hpp"

namespace weir::gpu {

/// An event. If only this process uses the event, its object returns to the device's pool together with the native event.
/// Drivers allow a new record of a native event while other streams still wait for its previous record.
template <class Api>
class GpuEvent final : public EventImpl {
 public:
  using Handle = typename Api::EventHandle;

  enum class Source : std::uint8_t { pooled, own, opened };

  GpuEvent(GpuDevice<Api>& device, const EventOptions& options, Handle handle, Source source)
      : EventImpl(device, options, handle), source_(source), first_(handle) {}

  Handle native() const noexcept { return static_cast<Handle>(handle()); }
  /// Whether the state of the native event belongs to this event. It does not for a pooled event that has not been recorded
  /// again: its native event still has the state from its former use. It does for an event that is shared with external code
  /// or another process, which may have recorded it.
  bool counts() const noexcept { return is_recorded() || is_shared() || source_ == Source::opened; }
  /// Whether `memory` describes the last record. It may not if external code can record the event.
  bool is_remembered() const noexcept { return !is_shared() && source_ != Source::opened; }
  void renew(Handle handle) noexcept {
    first_ = handle;
    set_native_handle(handle);
  }
  /// Returns the native event for a record; `recorded` then makes later waits use that one. Records in captures use a second
  /// native event, because CUDA's driver (580) crashes if a thread records an event whose last record is in another thread's
  /// open capture. Both native events live as long as this object, because other threads may be using them.
  Handle native_for_record(bool in_capture) {
    if (is_shared() || options().interprocess) return native();  // external code or another process uses this one handle
    if (!in_capture) [[likely]] return first_;
    Handle there = for_captures_.load(std::memory_order_acquire);
    if (there != nullptr) return there;
    GpuDevice<Api>& owner = own_device();
    const Handle made = owner.events().make_native(options());
    if (for_captures_.compare_exchange_strong(there, made, std::memory_order_acq_rel)) return made;
    destroy(made);  // another thread has created one meanwhile
    return there;
  }
  void recorded(Handle handle) noexcept {
    if (handle != native()) [[unlikely]] set_native_handle(handle);
  }
  /// If `Api::remembers_records()`: where the event was last recorded.
  using Memory = std::conditional_t<Api::remembers_records(), RecordMemory<Api>, NoRecordMemory>;
  Memory& memory() noexcept { return memory_; }
  const Memory& memory() const noexcept { return memory_; }

  GpuEvent* next_spent = nullptr;

 protected:
  Disposal disposal() const noexcept override {
    const bool calls_driver =
        source_ != Source::pooled || is_shared() || for_captures_.load(std::memory_order_relaxed) != nullptr;
    if constexpr (Api::remembers_records()) {
      if (memory_.stream() != nullptr) return Disposal::driver;  // `dispose` may destroy the stream, which calls the driver
    }
    return calls_driver ? Disposal::driver : Disposal::anywhere;
  }

  void dispose() noexcept override {
    if (const Handle captured = for_captures_.exchange(nullptr, std::memory_order_relaxed)) destroy(captured);
    if constexpr (Api::remembers_records()) memory_.set({});
    // An event whose handle other code may have is not reused.
    if (source_ != Source::pooled || is_shared()) {
      destroy(first_);
      first_ = nullptr;
    }
    set_native_handle(first_);
    reset_state();
    if (source_ != Source::pooled) {
      delete this;
      return;
    }
    own_device().events().give_back(*this);
  }

  bool do_is_complete() const override {
    if (!counts()) return true;
    const Api& api = own_device().api();
    const auto current = own_device().make_current_for_object();
    [[maybe_unused]] const auto stream = recorded_on();
    // External code may be capturing; the core has already checked Weir's own captures.
    const CaptureModeScope<Api> relaxed(api);
    const auto result = api.query_event(native());
    if (result == Api::not_ready) return false;
    check(api, result, "Event::is_complete", *this);
    return true;
  }

  bool do_look() const override { return do_is_complete(); }

  void do_synchronize() const override {
    if (!counts()) return;
    const Api& api = own_device().api();
    const auto current = own_device().make_current_for_object();
    [[maybe_unused]] const auto stream = recorded_on();
    const CaptureModeScope<Api> relaxed(api);  // as in do_is_complete
    check(api, api.synchronize_event(native(), options().blocking_sync), "Event::synchronize", *this);
  }

  double do_elapsed_ms_since(const Event& start) const override {
    const Api& api = own_device().api();
    const auto current = own_device().make_current_for_object();
    [[maybe_unused]] const auto stream = recorded_on(), stream_of_start = static_cast<const GpuEvent&>(start).recorded_on();
    const CaptureModeScope<Api> relaxed(api);  // the call only reads two timestamps and does not wait
    float milliseconds = 0;
    const auto result = api.EventElapsedTime(&milliseconds, static_cast<const GpuEvent&>(start).native(), native());
    if (result == Api::not_ready) {
      throw Error(Errc::not_ready, "Event::elapsed_since", describe(),
                  "one of the two events is not complete; synchronize with the later event first",
                  native_error(api, result));
    }
    check(api, result, "Event::elapsed_since", *this);
    return milliseconds;
  }

  InterprocessHandle do_interprocess_handle() const override {
    const Api& api = own_device().api();
    const auto current = own_device().make_current();
    InterprocessHandle handle;
    check(api, api.event_to_handle(native(), handle), "Event::interprocess_handle", *this);
    return handle;
  }

 private:
  /// Returns the stream of the last record, to keep it alive during a driver call; null if the driver does not need that.
  std::shared_ptr<const NativeStream<Api>> recorded_on() const noexcept {
    if constexpr (Api::remembers_records()) {
      return memory_.stream();
    } else {
      return nullptr;
    }
  }
  void destroy(Handle handle) const noexcept {
    const GpuDevice<Api>& owner = own_device();
    owner.end([&] { return owner.api().EventDestroy(handle); }, "while an event was destroyed",
              owner.api().objects_need_current());
  }
  GpuDevice<Api>& own_device() const noexcept { return static_cast<GpuDevice<Api>&>(device()); }

  Source source_;
  Handle first_;
  std::atomic<Handle> for_captures_{nullptr};
  [[no_unique_address]] Memory memory_;
};

/// A device's unused events, by their options.
template <class Api>
class EventPool {
 public:
  explicit EventPool(GpuDevice<Api>& device) noexcept : device_(device) {}

  EventPtr take(const EventOptions& options) {
    FreeList<GpuEvent<Api>>& list = lists_[index(options)];
    GpuEvent<Api>* event = list.take();
    if (event == nullptr || event->native() == nullptr) [[unlikely]]
      event = make_usable(list, event, options);
    return EventPtr::first(event);
  }

  void give_back(GpuEvent<Api>& event) noexcept { lists_[index(event.options())].give_back(&event); }

  typename Api::EventHandle make_native(const EventOptions& options) const {
    const Api& api = device_.api();
    const auto current = device_.make_current();
    typename Api::EventHandle handle = nullptr;
    check(api, api.EventCreate(&handle, api.event_flags(options)), "Device::create_event", device_);
    return handle;
  }

 private:
  /// Assigns a new native event to `event` of `list`; if `event` is null, creates an event. If that throws, `event` returns
  /// to the list.
  [[gnu::noinline]] GpuEvent<Api>* make_usable(FreeList<GpuEvent<Api>>& list, GpuEvent<Api>* event,
                                               const EventOptions& options) {
    if (event == nullptr) return new GpuEvent<Api>(device_, options, make_native(options), GpuEvent<Api>::Source::pooled);
    try {
      event->renew(make_native(options));
    } catch (...) {
      list.give_back(event);
      throw;
    }
    return event;
  }
  static std::size_t index(const EventOptions& o) noexcept {
    return (o.timing ? 1U : 0U) + (o.blocking_sync ? 2U : 0U);
  }

  GpuDevice<Api>& device_;
  FreeList<GpuEvent<Api>> lists_[4];
};

}  // namespace weir::gpu
