// SPDX-License-Identifier: Apache-2.0

// A complete backend in one file, as small as possible: the thread that submits work does it, before the call returns. It
// shows authors which parts a backend must have, and tests how the core treats a third party's backend. It is no model in
// one point: its host functions block the thread that submits them, which the conformance suite counts as a failure. A
// backend without a thread for host functions should list that feature as absent.

#include <chrono>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "weir/plugin/support.hpp"
#include "weir/plugin/plugin.hpp"

namespace {

using Clock = std::chrono::steady_clock;

class ImmediateEvent final : public weir::EventImpl {
 public:
  ImmediateEvent(weir::Device& device, const weir::EventOptions& options) : EventImpl(device, options, &time_) {}
  void take_time() { time_.store(Clock::now(), std::memory_order_release); }

 protected:
  bool do_is_complete() const override { return true; }
  void do_synchronize() const override {}
  double do_elapsed_ms_since(const weir::Event& start) const override {
    const Clock::time_point from = static_cast<const ImmediateEvent&>(start).time_.load(std::memory_order_acquire);
    return std::chrono::duration<double, std::milli>(time_.load(std::memory_order_acquire) - from).count();
  }

 private:
  std::atomic<Clock::time_point> time_{};
};

// What the native handle of a stream points to: all that a wrapper of the handle must know.
struct Queue {
  explicit Queue(bool is_blocking) : blocking(is_blocking) {}

  const bool blocking;
  std::recursive_mutex running;  // work of one stream never overlaps, whichever threads submit it
  std::exception_ptr host_error;
};

class ImmediateStream final : public weir::StreamImpl {
 public:
  ImmediateStream(weir::Device& device, Queue* queue, weir::StreamKind kind, std::shared_ptr<const void> keep_alive = {})
      : StreamImpl(device, queue, kind, std::move(keep_alive)),
        queue_(*queue),
        id_(last_id_.fetch_add(1, std::memory_order_relaxed) + 1) {}

 protected:
  void do_close(bool destroy) override {
    if (destroy) delete &queue_;
  }
  std::uint64_t do_id() const override { return id_; }
  bool do_is_non_blocking() const override { return !queue_.blocking; }
  int do_priority() const override { return 0; }

  void do_synchronize() override { const std::lock_guard lock(queue_.running); }
  bool do_is_complete() const override { return true; }
  std::exception_ptr do_take_host_error() noexcept override {
    const std::lock_guard lock(queue_.running);
    return std::exchange(queue_.host_error, nullptr);
  }
  void do_record(weir::Event& event, const weir::CaptureState&) override {
    const std::lock_guard lock(queue_.running);
    static_cast<ImmediateEvent&>(event).take_time();
  }
  void do_wait(const weir::Event&, const weir::CaptureState&) override {}
  void do_wait_stream(weir::Stream&, const weir::CaptureState&, const weir::CaptureState&) override {}

  void do_launch_host_function(weir::HostFunction&& function, const weir::CaptureState&) override {
    const std::lock_guard lock(queue_.running);
    const weir::support::HostFunctionScope scope;
    try {
      function();
    } catch (...) {
      weir::support::log(weir::support::LogLevel::error, "a host function threw");
      if (!queue_.host_error) queue_.host_error = std::current_exception();
    }
  }

  void do_copy(void* destination, const void* source, std::size_t bytes) override {
    const std::lock_guard lock(queue_.running);
    std::memmove(destination, source, bytes);
  }
  void do_copy_pitched(const weir::PitchedCopy& copy) override {
    const std::lock_guard lock(queue_.running);
    for (std::size_t row = 0; row < copy.height * copy.depth; ++row) {
      std::memmove(copy.destination.row(row, copy.height), copy.source.row(row, copy.height), copy.width);
    }
  }
  void do_fill(void* destination, std::uint32_t value, std::size_t element_size, std::size_t count) override {
    const std::lock_guard lock(queue_.running);
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(static_cast<std::byte*>(destination) + i * element_size, &value, element_size);
    }
  }
  void do_fill_2d(void* destination, std::size_t pitch, std::uint32_t value, std::size_t element_size, std::size_t width,
                  std::size_t height) override {
    for (std::size_t row = 0; row < height; ++row) {
      do_fill(static_cast<std::byte*>(destination) + row * pitch, value, element_size, width);
    }
  }

 private:
  inline static std::atomic<std::uint64_t> last_id_{0};

  Queue& queue_;
  std::uint64_t id_;
};

class ImmediateDevice : public weir::DeviceImpl {
 public:
  ImmediateDevice(weir::Backend& backend, int ordinal) : DeviceImpl(backend, ordinal, ordinal) {
    mutable_properties().name = "the calling thread";
    mutable_features().native(weir::Feature::host_functions);
    mutable_features().native(weir::Feature::event_timing);
    mutable_features().emulated(weir::Feature::blocking_sync_events, "nothing is ever waited for");
    mutable_features().absent(weir::Feature::graph_capture, "work is done at once and cannot be recorded");
  }

 protected:
  weir::StreamPtr do_create_stream(bool blocking, int) override {
    auto queue = std::make_unique<Queue>(blocking);
    weir::StreamPtr stream = weir::make_ptr<ImmediateStream>(*this, queue.get(), weir::StreamKind::owned);
    queue.release();
    return stream;
  }
  weir::StreamPtr do_create_default_stream() override {
    return weir::make_ptr<ImmediateStream>(*this, &default_queue_, weir::StreamKind::legacy_default);
  }
  weir::StreamPtr do_wrap_stream(void* handle, weir::Ownership ownership, std::shared_ptr<const void> keep_alive) override {
    if (handle == nullptr || handle == &default_queue_) return default_stream();
    const auto kind = ownership == weir::Ownership::adopt ? weir::StreamKind::adopted : weir::StreamKind::borrowed;
    return weir::make_ptr<ImmediateStream>(*this, static_cast<Queue*>(handle), kind, std::move(keep_alive));
  }
  weir::PriorityRange do_priority_range() const override { return {0, 0}; }
  weir::EventPtr do_create_event(const weir::EventOptions& options) override {
    return weir::make_ptr<ImmediateEvent>(*this, options);
  }
  void* do_allocate(std::size_t bytes, weir::MemoryKind) override {
    // A sanitizer ends the process where so much is asked for, instead of giving none.
    constexpr std::size_t most = std::size_t{1} << 36U;
    void* const memory = bytes <= most ? ::operator new(bytes, std::align_val_t(256), std::nothrow) : nullptr;
    if (memory == nullptr) {
      throw weir::Error(weir::Errc::out_of_memory, "Device::allocate", describe(),
                        std::to_string(bytes) + " bytes were not to be had; allocate less");
    }
    return memory;
  }
  void do_deallocate(void* memory, weir::MemoryKind) override { ::operator delete(memory, std::align_val_t(256)); }
  weir::MemoryInfo do_memory_info() const override { return {}; }
  void do_copy(void* destination, const void* source, std::size_t bytes) override {
    std::memmove(destination, source, bytes);
  }
  bool do_can_access_peer(const weir::Device&) const override { return false; }
  void do_synchronize() override {}

 private:
  Queue default_queue_{true};
};

class ImmediateBackend final : public weir::BackendImpl {
 public:
  ImmediateBackend() : BackendImpl("immediate") {
    for (int ordinal = 0; ordinal < 2; ++ordinal) add_device(*new ImmediateDevice(*this, ordinal));
  }
};

weir::Backend* create(weir::PluginContext&) { return new ImmediateBackend; }

}  // namespace

WEIR_PLUGIN("immediate", "1.0", create)
