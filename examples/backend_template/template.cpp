// SPDX-License-Identifier: Apache-2.0
//
// A complete backend in one file, from which you can start your own. It has streams, events, copies, fills and host
// functions on the CPU, with one thread for each stream. Its feature table lists all other features as absent, with reasons.
// docs/plugins.md explains the code.
//
// Comments that begin with "Yours:" mark the places where your backend would call your driver.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>
#include <weir/plugin/support.hpp>
#include <weir/plugin/plugin.hpp>

namespace {

using Clock = std::chrono::steady_clock;

// --- A point in a stream's order, for events, waits and synchronize -------------------------------------------------------
// Yours: your driver's event, or a value that the device counts up.

class Point {
 public:
  void reach() {
    const std::lock_guard lock(mutex_);
    time_ = Clock::now();
    reached_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return reached_; });
  }
  bool is_reached() {
    const std::lock_guard lock(mutex_);
    return reached_;
  }
  Clock::time_point time() {
    const std::lock_guard lock(mutex_);
    return time_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Clock::time_point time_;
  bool reached_ = false;
};

using PointPtr = std::shared_ptr<Point>;

// --- The object behind a native handle ---------------------------------------------------------------------------------
// Yours: your driver's stream. Several weir::Stream objects can refer to one Queue, which contains their shared state.

class Queue {
 public:
  using Work = weir::UniqueFunction<void(), 128>;

  explicit Queue(bool is_blocking) : blocking(is_blocking) {
    const weir::support::SignalsBlocked blocked;  // signals must reach the application's threads
    std::thread([this] { run(); }).detach();
  }

  /// Adds work after all work enqueued so far. Returns the point after it.
  PointPtr enqueue(Work work) {
    const std::lock_guard lock(mutex_);
    auto point = std::make_shared<Point>();
    works_.emplace_back(std::move(work), point);
    last_ = point;
    changed_.notify_one();
    return point;
  }
  PointPtr last() {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  /// Ends the queue when its work is done. Does not wait for that.
  void end() {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_one();
  }
  void keep_error(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!host_error_) host_error_ = std::move(error);
  }
  std::exception_ptr take_error() {
    const std::lock_guard lock(mutex_);
    return std::exchange(host_error_, nullptr);
  }

  const bool blocking;

 private:
  ~Queue() = default;

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ending_ || !works_.empty(); });
      if (works_.empty()) break;
      auto [work, point] = std::move(works_.front());
      works_.pop_front();
      lock.unlock();
      work();
      point->reach();
      lock.lock();
    }
    lock.unlock();
    delete this;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<Work, PointPtr>> works_;
  PointPtr last_;
  std::exception_ptr host_error_;
  bool ending_ = false;
};

// --- Events ------------------------------------------------------------------------------------------------------------

class TemplateEvent final : public weir::EventImpl {
 public:
  TemplateEvent(weir::Device& device, const weir::EventOptions& options) : EventImpl(device, options, &mutex_) {}
  void set(PointPtr point) {
    const std::lock_guard lock(mutex_);
    point_ = std::move(point);
  }
  /// Returns null if the event was never recorded. Such an event counts as complete.
  PointPtr point() const {
    const std::lock_guard lock(mutex_);
    return point_;
  }

 protected:
  bool do_is_complete() const override {
    const PointPtr p = point();
    return !p || p->is_reached();
  }
  void do_synchronize() const override {
    if (const PointPtr p = point()) p->wait();
  }
  double do_elapsed_ms_since(const weir::Event& start) const override {
    const PointPtr from = static_cast<const TemplateEvent&>(start).point(), to = point();
    if (!from->is_reached() || !to->is_reached()) {
      throw weir::Error(weir::Errc::not_ready, "Event::elapsed_since", describe(), "synchronize with the later event first");
    }
    return std::chrono::duration<double, std::milli>(to->time() - from->time()).count();
  }

 private:
  mutable std::mutex mutex_;
  PointPtr point_;
};

// --- The device's queues: the legacy default stream and the blocking ones wait for each other ---------------------------

class Queues {
 public:
  Queue& legacy() { return *legacy_; }
  Queue* make(bool blocking) {
    const std::lock_guard lock(mutex_);
    all_.push_back(new Queue(blocking));
    return all_.back();
  }
  void end(Queue* queue) {
    const std::lock_guard lock(mutex_);
    std::erase(all_, queue);
    if (const PointPtr last = queue->last()) ended_.push_back(last);
    std::erase_if(ended_, [](const PointPtr& point) { return point->is_reached(); });
    queue->end();
  }
  PointPtr enqueue(Queue& queue, Queue::Work work) {
    const std::lock_guard lock(mutex_);
    std::vector<PointPtr> before;
    if (&queue == legacy_) {
      for (Queue* const other : all_) {
        if (other->blocking) before.push_back(other->last());
      }
    } else if (queue.blocking) {
      before.push_back(legacy_->last());
    }
    std::erase_if(before, [](const PointPtr& point) { return !point || point->is_reached(); });
    if (!before.empty()) {
      queue.enqueue([before = std::move(before)] {
        for (const PointPtr& point : before) point->wait();
      });
    }
    return queue.enqueue(std::move(work));
  }
  /// Waits for all work on the device, including the work of ended streams.
  void synchronize() {
    std::vector<PointPtr> points;
    {
      const std::lock_guard lock(mutex_);
      points = ended_;
      points.push_back(legacy_->last());
      for (Queue* const queue : all_) points.push_back(queue->last());
    }
    for (const PointPtr& point : points) {
      if (point) point->wait();
    }
  }

 private:
  std::mutex mutex_;
  Queue* const legacy_ = new Queue(true);  // never destroyed
  std::vector<Queue*> all_;
  std::vector<PointPtr> ended_;  // the last points of streams that have ended
};

// --- Streams -----------------------------------------------------------------------------------------------------------

class TemplateStream final : public weir::StreamImpl {
 public:
  TemplateStream(weir::Device& device, Queues& queues, Queue* queue, weir::StreamKind kind,
                 std::shared_ptr<const void> keep_alive = {})
      : StreamImpl(device, queue, kind, std::move(keep_alive)), queues_(queues), queue_(*queue), id_(++last_id_) {}

 protected:
  void do_close(bool destroy) override {
    if (destroy) queues_.end(&queue_);
  }
  std::uint64_t do_id() const override { return id_; }
  bool do_is_non_blocking() const override { return !queue_.blocking; }
  int do_priority() const override { return 0; }

  void do_synchronize() override {
    // The legacy default stream also waits for the blocking streams.
    if (kind() == weir::StreamKind::legacy_default) {
      queues_.enqueue(queue_, [] {})->wait();
    } else if (const PointPtr last = queue_.last()) {
      last->wait();
    }
  }
  bool do_is_complete() const override {
    const PointPtr last = queue_.last();
    return !last || last->is_reached();
  }
  std::exception_ptr do_take_host_error() noexcept override { return queue_.take_error(); }
  // The CaptureState contains whether the stream captures. It never does here, because the feature graph_capture is absent.
  void do_record(weir::Event& event, const weir::CaptureState&) override {
    static_cast<TemplateEvent&>(event).set(queues_.enqueue(queue_, [] {}));
  }
  void do_wait(const weir::Event& event, const weir::CaptureState&) override {
    // The current point: a later record does not change this wait.
    wait_for(static_cast<const TemplateEvent&>(event).point());
  }
  void do_wait_stream(weir::Stream& other, const weir::CaptureState&, const weir::CaptureState&) override {
    TemplateStream& stream = static_cast<TemplateStream&>(other);
    wait_for(stream.queues_.enqueue(stream.queue_, [] {}));
  }

  void do_launch_host_function(weir::HostFunction&& function, const weir::CaptureState&) override {
    queues_.enqueue(queue_, [&queue = queue_, function = std::move(function)]() mutable {
      const weir::support::HostFunctionScope scope;  // refuses calls of Weir inside the function
      try {
        function();
      } catch (...) {
        weir::support::log(weir::support::LogLevel::error, "a host function threw");
        queue.keep_error(std::current_exception());
      }
      function.reset();
    });
  }

  // Yours: pass the addresses to your driver. It must use them only when the work runs.
  void do_copy(void* destination, const void* source, std::size_t bytes) override {
    queues_.enqueue(queue_, [=] { std::memmove(destination, source, bytes); });
  }
  void do_copy_pitched(const weir::PitchedCopy& copy) override {
    queues_.enqueue(queue_, [=] {
      for (std::size_t row = 0; row < copy.height * copy.depth; ++row) {
        std::memmove(copy.destination.row(row, copy.height), copy.source.row(row, copy.height), copy.width);
      }
    });
  }
  void do_fill(void* destination, std::uint32_t value, std::size_t element_size, std::size_t count) override {
    do_fill_2d(destination, 0, value, element_size, count, 1);
  }
  void do_fill_2d(void* destination, std::size_t pitch, std::uint32_t value, std::size_t element_size, std::size_t width,
                  std::size_t height) override {
    queues_.enqueue(queue_, [=] {
      for (std::size_t row = 0; row < height; ++row) {
        for (std::size_t i = 0; i < width; ++i) {
          std::memcpy(static_cast<std::byte*>(destination) + row * pitch + i * element_size, &value, element_size);
        }
      }
    });
  }

 private:
  void wait_for(PointPtr point) {
    if (point && !point->is_reached()) queues_.enqueue(queue_, [point = std::move(point)] { point->wait(); });
  }

  inline static std::atomic<std::uint64_t> last_id_{0};

  Queues& queues_;
  Queue& queue_;
  const std::uint64_t id_;
};

// --- The device --------------------------------------------------------------------------------------------------------

class TemplateDevice final : public weir::DeviceImpl {
 public:
  TemplateDevice(weir::Backend& backend, int ordinal) : DeviceImpl(backend, ordinal, ordinal) {
    mutable_properties().name = "Template device";  // Yours: the name that your driver reports
    weir::FeatureTable& features = mutable_features();
    features.native(weir::Feature::host_functions);
    features.native(weir::Feature::event_timing);
    features.native(weir::Feature::blocking_sync_events);
    // Features that are not listed are also absent. A reason names the missing part and a remedy.
    features.absent(weir::Feature::graph_capture, "the template records no work; do_begin_capture is where to begin");
    features.absent(weir::Feature::modules, "the template runs no kernels; do_load_module is where to begin");
    features.absent(weir::Feature::async_allocation, "the template has no stream-ordered memory; use Device::allocate");
  }

 protected:
  weir::StreamPtr do_create_stream(bool blocking, int) override {
    return weir::make_ptr<TemplateStream>(*this, queues_, queues_.make(blocking), weir::StreamKind::owned);
  }
  weir::StreamPtr do_create_default_stream() override {
    return weir::make_ptr<TemplateStream>(*this, queues_, &queues_.legacy(), weir::StreamKind::legacy_default);
  }
  weir::StreamPtr do_wrap_stream(void* handle, weir::Ownership ownership, std::shared_ptr<const void> keep_alive) override {
    if (handle == nullptr || handle == &queues_.legacy()) return default_stream();
    const auto kind = ownership == weir::Ownership::adopt ? weir::StreamKind::adopted : weir::StreamKind::borrowed;
    return weir::make_ptr<TemplateStream>(*this, queues_, static_cast<Queue*>(handle), kind, std::move(keep_alive));
  }
  weir::PriorityRange do_priority_range() const override { return {0, 0}; }  // only one level
  weir::EventPtr do_create_event(const weir::EventOptions& options) override {
    return weir::make_ptr<TemplateEvent>(*this, options);
  }

  // Yours: allocate your driver's memory.
  void* do_allocate(std::size_t bytes, weir::MemoryKind) override {
    constexpr std::size_t most = std::size_t{1} << 36U;
    void* const memory = bytes <= most ? ::operator new(bytes, std::align_val_t(256), std::nothrow) : nullptr;
    if (memory == nullptr) {
      throw weir::Error(weir::Errc::out_of_memory, "Device::allocate", describe(),
                        std::to_string(bytes) + " bytes were not to be had; allocate less");
    }
    return memory;
  }
  void do_deallocate(void* memory, weir::MemoryKind) override {
    queues_.synchronize();  // freeing waits for all work on the device
    ::operator delete(memory, std::align_val_t(256));
  }
  weir::MemoryInfo do_memory_info() const override { return {}; }  // unknown
  void do_copy(void* destination, const void* source, std::size_t bytes) override {
    std::memmove(destination, source, bytes);
  }
  bool do_can_access_peer(const weir::Device&) const override { return false; }
  void do_synchronize() override { queues_.synchronize(); }

 private:
  Queues queues_;
};

class TemplateBackend final : public weir::BackendImpl {
 public:
  TemplateBackend() : BackendImpl("template") {
    mutable_versions().driver = "1.0";
    for (int ordinal = 0; ordinal < 2; ++ordinal) add_device(*new TemplateDevice(*this, ordinal));
  }
};

// Yours: open your driver here, and report each attempt to the context. If opening fails, throw driver_not_found,
// driver_too_old, no_device or driver_failed; the user sees the error's text.
weir::Backend* create(weir::PluginContext& context) {
  context.tried("the C++ library", "opened");
  return new TemplateBackend;
}

}  // namespace

WEIR_PLUGIN("template", "1.0", create)
