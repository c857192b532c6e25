// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "core/base/spin_lock.hpp"

/// The backend's threads: a pool of workers that all devices share, and one thread for host functions on each device.
namespace weir::host {

class Queue;
class SchedulePolicy;
class Signal;

/// The kinds of threads that run work. `none` stands for a thread that must not run work, such as one that has only waited.
enum class ThreadKind : std::uint8_t { worker, host_functions, none };

/// The priority levels of the pool, most urgent first.
enum class Level : std::uint8_t { high, normal, low };
inline constexpr std::size_t level_count = 3;
/// The level for a stream's priority. As with the vendors, a lower number is more urgent.
inline Level level_of(int priority) noexcept {
  return priority < 0 ? Level::high : priority > 0 ? Level::low : Level::normal;
}

/// A thread that is started when it is first needed and lives until the process ends.
class OnDemandThread {
 public:
  /// Starts the thread unless it is running. Throws `out_of_memory`, with `purpose` in the message, if the system cannot
  /// start a thread.
  template <class Loop>
  void ensure_started(const char* purpose, Loop&& loop) {
    if (!started_.load(std::memory_order_acquire)) [[unlikely]] start(purpose, std::forward<Loop>(loop));
  }

 private:
  void start(const char* purpose, std::function<void()> loop);

  std::mutex mutex_;
  std::atomic<bool> started_{false};
};

/// An item that the scheduler runs once each time it is submitted. It may be in one list at a time.
class Runnable {
 public:
  virtual void execute(ThreadKind thread_kind) noexcept = 0;
  /// Called on a worker that `Scheduler::wake_idle_workers` has woken, with the number that it passed. Several workers may
  /// call it concurrently, even while the item is in a list.
  virtual void help(std::uint32_t /*number*/) noexcept {}
  /// The queue that the item belongs to; null if it belongs to none.
  virtual const Queue* queue() const noexcept { return nullptr; }

 protected:
  virtual ~Runnable() = default;
  /// For schedules. `follow`: this item continues the work of `other` and inherits its priority. `forget_priority`: the item
  /// gets a new priority the next time.
  void follow(const Runnable& other) noexcept { priority_ = other.priority_; }
  void forget_priority() noexcept { priority_ = 0; }

 private:
  friend class RunList;
  friend class SchedulePolicy;
  Runnable* next_runnable_ = nullptr;
  std::uint64_t priority_ = 0;  // set by schedules; 0 means that none was drawn
};

/// Called once when work finishes that was not finished when `start` returned. `thread_kind`: the kind of the calling
/// thread, on which the continuation may run work of that kind.
class Continuation {
 public:
  virtual void resume(ThreadKind thread_kind) noexcept = 0;

 protected:
  virtual ~Continuation() = default;
};

/// A first-in, first-out list that links the items themselves.
class RunList {
 public:
  bool empty() const noexcept { return head_ == nullptr; }
  Runnable* first() const noexcept { return head_; }
  void push(Runnable* item) noexcept;
  Runnable* pop() noexcept;
  /// Removes the item that has `before` items before it, which must exist.
  Runnable* take(std::size_t before) noexcept;

 private:
  Runnable* head_ = nullptr;
  Runnable* tail_ = nullptr;
};

/// The pool of workers, which are threads of oneTBB. Work on a worker does not wait for other work, except in cooperative
/// launches. So one worker can serve any number of streams.
class Scheduler {
 public:
  /// The scheduler of the process. It has WEIR_HOST_THREADS workers and is never destroyed.
  static Scheduler& instance();

  int threads() const noexcept { return threads_; }
  void submit(Runnable* item, Level level) { submit(item, level, false); }
  /// Submits an item that runs for about a microsecond. Its worker then polls for more such items for a while.
  void submit_helper(Runnable* item, Level level) { submit(item, level, true); }
  /// Wakes up to `most` spinning workers. Each calls `item->help(number)`, even if the item's level is low. The numbers are
  /// from 1 to `most`, each at most once. Returns how many workers were woken, at most `most_woken`. If possible, a worker
  /// gets the same number each time: the n-th worker after this one gets n; if it is busy, a later one takes its place.
  /// `item` must be aligned to 64 bytes.
  std::uint32_t wake_idle_workers(Runnable* item, std::uint32_t most) noexcept;
  static constexpr std::uint32_t most_woken = 31;
  /// The number of the calling worker, below `threads()`. On other threads it may be any such number.
  std::uint32_t worker() const noexcept;
  /// Whether work that is at least as urgent as `level` waits for a worker.
  bool others_wait(Level level) const noexcept;
  /// The policy that WEIR_SCHEDULE selects; null if there is none.
  SchedulePolicy* policy() const noexcept { return policy_.get(); }
  bool has_policy() const noexcept { return policy_ != nullptr; }
  /// Runs the item that the policy chooses; does nothing if no item is ready.
  void run_chosen() noexcept;

 private:
  Scheduler(int threads, std::unique_ptr<SchedulePolicy> policy);
  void submit(Runnable* item, Level level, bool helps);
  bool run_most_urgent() noexcept;
  Runnable* take_most_urgent() noexcept;
  struct IdleWorker;
  bool help_again() noexcept;

  struct Arena;
  const int threads_;
  Arena* arena_;
  IdleWorker* idle_workers_;
  const std::unique_ptr<SchedulePolicy> policy_;
  SpinLock lock_;
  RunList ready_[level_count];
  std::atomic<std::uint32_t> ready_count_[level_count]{};
};

/// Registers a host thread's wait with the policy, for the lifetime of this object. The thread waits until `signal` reaches
/// `number`, or, if `signal` is null, until nothing can run.
class HostWait {
 public:
  explicit HostWait(const Signal* signal, std::uint64_t number = 0);
  ~HostWait();
  HostWait(const HostWait&) = delete;
  HostWait& operator=(const HostWait&) = delete;
  /// Called when the wait has reached its deadline.
  void give_up() noexcept;

  bool is_over() const noexcept;
  HostWait* next = nullptr;  ///< next in the policy's list of waits

 private:
  const Signal* signal_;
  std::uint64_t number_;
};

/// Limits how long a worker continues with one stream or graph.
class TimeSlice {
 public:
  explicit TimeSlice(Level level) noexcept : level_(level) {}
  /// Called between two operations. Returns true if more urgent work needs a worker, if other work has waited for a
  /// millisecond, or if a schedule must choose after each operation.
  bool is_over() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  Level level_;
  Clock::time_point others_since_{};
};

/// A device's thread for host functions. There is only one, so host functions of different streams run one at a time, as
/// with CUDA's and HIP's drivers. It is started when the first function is enqueued.
class HostThread {
 public:
  HostThread() = default;
  /// Call this before the first submission. Throws `out_of_memory` if the system cannot start a thread.
  void ensure_started() {
    thread_.ensure_started("for host functions", [this] { loop(); });
  }
  void submit(Runnable* item);
  bool others_wait() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }
  /// Whether the thread is running `item`.
  bool runs(const Runnable& item) const noexcept { return running_.load(std::memory_order_acquire) == &item; }
  /// The queue of the item that the thread is running, or null. That queue may already be destroyed.
  const Queue* runs_queue() const noexcept { return running_queue_.load(std::memory_order_acquire); }

 private:
  void loop() noexcept;

  std::mutex mutex_;
  std::condition_variable wake_;
  RunList ready_;
  std::atomic<std::uint32_t> waiting_{0};
  std::atomic<const Runnable*> running_{nullptr};
  std::atomic<const Queue*> running_queue_{nullptr};
  bool asleep_ = false;
  OnDemandThread thread_;
};

}  // namespace weir::host
