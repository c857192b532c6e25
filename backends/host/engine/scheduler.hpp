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

/// Threads: a pool of workers that all devices share, and a thread for host functions for each device.
namespace weir::host {

class Queue;
class SchedulePolicy;
class Signal;

/// The kinds of threads that run work. `none`: a thread that runs no work, such as one that waited.
enum class ThreadKind : std::uint8_t { worker, host_functions, none };

/// Priority in the pool, most urgent first.
enum class Level : std::uint8_t { high, normal, low };
inline constexpr std::size_t level_count = 3;
/// The level of a priority in the vendors' numbering: lower is more urgent.
inline Level level_of(int priority) noexcept {
  return priority < 0 ? Level::high : priority > 0 ? Level::low : Level::normal;
}

/// A thread that starts on first use and lives until the process ends.
class OnDemandThread {
 public:
  /// Throws `out_of_memory`, with `purpose`, if the system cannot start a thread.
  template <class Loop>
  void ensure_started(const char* purpose, Loop&& loop) {
    if (!started_.load(std::memory_order_acquire)) [[unlikely]] start(purpose, std::forward<Loop>(loop));
  }

 private:
  void start(const char* purpose, std::function<void()> loop);

  std::mutex mutex_;
  std::atomic<bool> started_{false};
};

/// An item that runs once each time it is submitted. It may be in one list at a time.
class Runnable {
 public:
  virtual void execute(ThreadKind thread_kind) noexcept = 0;
  /// Called on a worker that `Scheduler::wake_idle_workers` has woken with this number. Several workers may call it
  /// concurrently, even while the item is in a list.
  virtual void help(std::uint32_t /*number*/) noexcept {}
  /// The queue that the item belongs to, or null.
  virtual const Queue* queue() const noexcept { return nullptr; }

 protected:
  virtual ~Runnable() = default;
  /// For schedules: this item inherits the priority of `other`, whose work it continues; or it gets a new priority when it
  /// comes next.
  void follow(const Runnable& other) noexcept { priority_ = other.priority_; }
  void forget_priority() noexcept { priority_ = 0; }

 private:
  friend class RunList;
  friend class SchedulePolicy;
  Runnable* next_runnable_ = nullptr;
  std::uint64_t priority_ = 0;  // set by schedules; 0: not drawn
};

/// Called once when work finishes that was not finished on return. `thread_kind`: that of the calling thread, which the
/// continuation may use.
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
  /// Removes the item at index `before`, which must exist.
  Runnable* take(std::size_t before) noexcept;

 private:
  Runnable* head_ = nullptr;
  Runnable* tail_ = nullptr;
};

/// The workers, which are oneTBB's. Their work does not wait for other work, except in cooperative launches, so one worker
/// serves any number of streams.
class Scheduler {
 public:
  /// The process's scheduler, with WEIR_HOST_THREADS workers; never destroyed.
  static Scheduler& instance();

  int threads() const noexcept { return threads_; }
  void submit(Runnable* item, Level level) { submit(item, level, false); }
  /// Submits work of about a microsecond; afterwards its worker polls for more such work for a while.
  void submit_helper(Runnable* item, Level level) { submit(item, level, true); }
  /// Wakes up to `most` spinning workers. Each calls `item->help(number)`, whatever the item's level. Numbers are from 1 to
  /// `most`, each at most once. Returns how many were woken, at most `most_woken`. A worker gets the same number each time
  /// if possible: the n-th after this worker gets n, and later workers replace busy ones. `item` is aligned to 64 bytes.
  std::uint32_t wake_idle_workers(Runnable* item, std::uint32_t most) noexcept;
  static constexpr std::uint32_t most_woken = 31;
  /// This worker's number, below `threads()`. Any number on other threads.
  std::uint32_t worker() const noexcept;
  /// Whether work at least as urgent as `level` needs a worker.
  bool others_wait(Level level) const noexcept;
  /// The policy that WEIR_SCHEDULE selects, or null.
  SchedulePolicy* policy() const noexcept { return policy_.get(); }
  bool has_policy() const noexcept { return policy_ != nullptr; }
  /// Runs the item that the policy chooses, if any is ready.
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

/// Represents a host thread's wait until a signal reaches a number; null signal: until nothing can run.
class HostWait {
 public:
  explicit HostWait(const Signal* signal, std::uint64_t number = 0);
  ~HostWait();
  HostWait(const HostWait&) = delete;
  HostWait& operator=(const HostWait&) = delete;
  /// Ends the wait at its deadline.
  void give_up() noexcept;

  bool is_over() const noexcept;
  HostWait* next = nullptr;  ///< in the policy's list

 private:
  const Signal* signal_;
  std::uint64_t number_;
};

/// How long a worker continues with one stream or graph.
class TimeSlice {
 public:
  explicit TimeSlice(Level level) noexcept : level_(level) {}
  /// Called between two operations: whether more urgent work needs a worker, other work has waited for a millisecond, or a
  /// schedule chooses after each operation.
  bool is_over() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  Level level_;
  Clock::time_point others_since_{};
};

/// A device's thread for host functions. There is only one, so host functions of different streams run one at a time, as in
/// drivers. Started when the first function is enqueued.
class HostThread {
 public:
  HostThread() = default;
  /// Call it before the first submission. Throws `out_of_memory` if the system cannot start a thread.
  void ensure_started() {
    thread_.ensure_started("for host functions", [this] { loop(); });
  }
  void submit(Runnable* item);
  bool others_wait() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }
  /// Whether it is running that item.
  bool runs(const Runnable& item) const noexcept { return running_.load(std::memory_order_acquire) == &item; }
  /// The queue whose item it is running, or null. It may be destroyed already.
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
