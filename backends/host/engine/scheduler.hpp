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

/// Where work may run. `none`: on a thread that runs no work, such as one that waited.
enum class ThreadKind : std::uint8_t { worker, host_functions, none };

/// Priority in the pool, most urgent first.
enum class Level : std::uint8_t { high, normal, low };
inline constexpr std::size_t level_count = 3;
/// The level of a priority as vendors number them: the lower the more urgent.
inline Level level_of(int priority) noexcept {
  return priority < 0 ? Level::high : priority > 0 ? Level::low : Level::normal;
}

/// A thread that is started when it is first needed and lives until the process ends.
class OnDemandThread {
 public:
  /// Throws `out_of_memory`, which names `purpose`, if the system gives no thread.
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
  /// Runs it on a worker that `Scheduler::wake_idle_workers` has woken with this number. Several may do so at once, while it
  /// is in a list, too.
  virtual void help(std::uint32_t /*number*/) noexcept {}
  /// The queue whose work it is, if it is a queue's.
  virtual const Queue* queue() const noexcept { return nullptr; }

 protected:
  virtual ~Runnable() = default;
  /// For schedules: this goes on with what `other` has begun; or it may have any priority when it comes next.
  void follow(const Runnable& other) noexcept { priority_ = other.priority_; }
  void forget_priority() noexcept { priority_ = 0; }

 private:
  friend class RunList;
  friend class SchedulePolicy;
  Runnable* next_runnable_ = nullptr;
  std::uint64_t priority_ = 0;  // of schedules; 0: none was drawn
};

/// Called once, when work that was not finished at once is finished. `thread_kind`: that of the calling thread, which the
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
  /// The item behind `before` others. There must be so many.
  Runnable* take(std::size_t before) noexcept;

 private:
  Runnable* head_ = nullptr;
  Runnable* tail_ = nullptr;
};

/// The workers, which are oneTBB's. Work on them does not wait for other work, cooperative launches apart, so one worker
/// serves any number of streams.
class Scheduler {
 public:
  /// The process's scheduler, with WEIR_HOST_THREADS workers; never destroyed.
  static Scheduler& instance();

  int threads() const noexcept { return threads_; }
  void submit(Runnable* item, Level level) { submit(item, level, false); }
  /// Work of a microsecond or so, after which its worker looks for more such work for a while.
  void submit_helper(Runnable* item, Level level) { submit(item, level, true); }
  /// Wakes up to `most` spinning workers, each of which calls `item->help(number)`, whatever the item's level. Numbers are
  /// from 1 to `most`, each at most once. Returns how many were woken, at most `most_woken`. A worker gets the same number
  /// each time if it can: the n-th behind this worker gets n, and workers further behind stand in for busy ones. `item` is
  /// aligned to 64 bytes.
  std::uint32_t wake_idle_workers(Runnable* item, std::uint32_t most) noexcept;
  static constexpr std::uint32_t most_woken = 31;
  /// This worker's number, below `threads()`. Any number on other threads.
  std::uint32_t worker() const noexcept;
  /// Whether work that is at least as urgent as `level` waits for a worker.
  bool others_wait(Level level) const noexcept;
  /// What WEIR_SCHEDULE asks for, or null.
  SchedulePolicy* policy() const noexcept { return policy_.get(); }
  bool has_policy() const noexcept { return policy_ != nullptr; }
  /// Runs what the policy chooses, if anything is ready.
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

/// Held by a thread of the host while it waits until a signal has reached a number; null: until nothing can run.
class HostWait {
 public:
  explicit HostWait(const Signal* signal, std::uint64_t number = 0);
  ~HostWait();
  HostWait(const HostWait&) = delete;
  HostWait& operator=(const HostWait&) = delete;
  /// Its deadline has come.
  void give_up() noexcept;

  bool is_over() const noexcept;
  HostWait* next = nullptr;  ///< in the policy's list

 private:
  const Signal* signal_;
  std::uint64_t number_;
};

/// How long a worker goes on with one stream or graph.
class TimeSlice {
 public:
  explicit TimeSlice(Level level) noexcept : level_(level) {}
  /// Asked between two operations: whether more urgent work waits for a worker, or other work has waited for a millisecond,
  /// or a schedule decides behind each operation what is next.
  bool is_over() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  Level level_;
  Clock::time_point others_since_{};
};

/// A device's thread for host functions. There is one, so host functions of different streams run one at a time, as drivers
/// run them. Started when the first function is enqueued.
class HostThread {
 public:
  HostThread() = default;
  /// Called before the first submission. Throws `out_of_memory` if the system gives no thread.
  void ensure_started() {
    thread_.ensure_started("for host functions", [this] { loop(); });
  }
  void submit(Runnable* item);
  bool others_wait() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }
  /// Whether it runs that item.
  bool runs(const Runnable& item) const noexcept { return running_.load(std::memory_order_acquire) == &item; }
  /// The queue whose item it runs, or null. It may be gone.
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
