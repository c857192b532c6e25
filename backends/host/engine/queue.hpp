// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <variant>
#include <vector>

#include "backends/host/engine/asymmetric_lock.hpp"
#include "backends/host/engine/backlog.hpp"
#include "backends/host/engine/scheduler.hpp"
#include "backends/host/engine/signal.hpp"
#include "backends/host/engine/work.hpp"
#include "core/base/spin_lock.hpp"

/// The queue of a stream, which a native stream handle stands for. It counts its finished operations, uses no thread while
/// it waits or is idle, and lives as long as it has work.
namespace weir::host {

class Engine;

/// The capture that a queue is in. Captures set it, under a lock of theirs.
struct QueueCapture {
  std::atomic<bool> is_open{false};
  Ptr<RefCounted> capture;
  std::vector<std::uint32_t> nodes;  ///< what the queue's next node comes behind
};

class Queue final : public Signal, private Runnable, private Continuation {
 public:
  /// The queue's relation to its device's legacy default stream.
  enum class Role : std::uint8_t { non_blocking, blocking, per_thread, legacy };

  /// `most_workers`: how many may run one kernel of this queue's at once.
  Queue(Engine& engine, Role role, int priority, std::uint32_t most_workers = all_workers);
  ~Queue() override;

  /// The queue of a native handle. Throws `invalid_argument` if it is no queue, `wrong_device` for one of another device.
  static Queue& from_handle(Engine& engine, void* handle);

  Engine& engine() const noexcept { return engine_; }
  Device& device() const noexcept;
  Role role() const noexcept { return role_; }
  bool is_non_blocking() const noexcept { return role_ == Role::non_blocking; }
  int priority() const noexcept { return priority_; }
  std::uint32_t most_workers() const noexcept { return most_workers_; }
  Level level() const noexcept;
  std::uint64_t id() const noexcept { return id_; }

  void enqueue(Work&& work);
  void enqueue(HostFunction&& function);
  /// Does `work`, which no worker shares and which waits for nothing, on the calling thread, if the queue is idle. False if
  /// it is not: enqueue it. To wake a worker takes longer than a small copy.
  bool run_here(const Work& work);
  /// The number that this signal reaches when all present work is done. If the queue is ordered against the legacy default
  /// stream, the work of the other side counts, too.
  std::uint64_t point();
  bool is_idle() const noexcept { return has_reached(submitted()); }
  std::uint64_t submitted() const noexcept { return submitted_.load(std::memory_order_acquire); }
  /// With WEIR_SCHEDULE: how many operations it has been given, by which they have names, and how many have begun.
  std::uint64_t given() const noexcept { return given_.load(std::memory_order_relaxed); }
  std::uint64_t begun() const noexcept { return begun_; }

  /// Calls `look(backlog, left)` while nothing leaves the queue: `left` operations are not done, the first in the backlog.
  /// Not called if all are. False where the system cannot keep the queue as it is.
  template <class Look>
  bool inspect(Look&& look) const;
  /// What a thread runs of it.
  const Runnable& as_item() const noexcept { return *this; }

  /// The caller of `release_handle` owns the queue, until somebody adopts its handle.
  void release_to_caller() noexcept;
  /// False if no caller owns the queue.
  bool take_from_caller() noexcept { return released_.exchange(false, std::memory_order_acq_rel); }

  /// For the queue's next synchronize, if there is none yet. `status`: what callbacks are told until then, for one of work.
  void keep_error(std::exception_ptr error, std::error_code status = {}) noexcept;
  std::exception_ptr take_error() noexcept;
  std::error_code status() noexcept;

  SynchronizationPolicy policy() const noexcept { return policy_.load(std::memory_order_relaxed); }
  void set_policy(SynchronizationPolicy policy) noexcept { policy_.store(policy, std::memory_order_relaxed); }

  bool is_capturing() const noexcept { return capture_.is_open.load(std::memory_order_acquire); }
  QueueCapture& capture() noexcept { return capture_; }
  const QueueCapture& capture() const noexcept { return capture_; }

 private:
  friend class BusyQueues;

  template <class Payload>
  void push(Payload&& payload);
  template <class Payload>
  void enqueue_in_order(Payload&& payload);
  void order_against_default_stream();
  bool may_start(ThreadKind thread_kind);
  static ThreadKind thread_kind_of(Backlog::Operation& operation) noexcept;
  void hand_to(ThreadKind thread_kind) noexcept;
  bool take_more() noexcept;
  void finish_first() noexcept;
  void execute(ThreadKind thread_kind) noexcept override;
  void resume(ThreadKind thread_kind) noexcept override;
  const Queue* queue() const noexcept override { return this; }

  SchedulePolicy* const schedule_ = Scheduler::instance().policy();
  std::uint64_t begun_ = 0;  // these two only for the thread that runs the queue
  WorkRun work_run_;
  mutable AsymmetricLock departure_;  // held while the first operation leaves the backlog, and by `inspect`
  Backlog backlog_;   // separates the fields above from those below, which enqueuing threads use: see there

  // For enqueuing threads and the running thread.
  mutable SpinLock lock_;
  bool active_ = false;
  const Role role_;
  const bool is_plain_;  // a stream that no rule orders against others, and no schedule
  const int priority_;
  const std::uint32_t most_workers_;
  std::atomic<std::uint64_t> submitted_{0}, given_{0};
  Engine& engine_;
  const std::uint64_t id_;
  std::atomic<SynchronizationPolicy> policy_{SynchronizationPolicy::automatic};
  std::atomic<bool> released_{false};
  // Under the device's default-stream mutex: how far this queue waits for the default stream's queue, and that for this.
  std::uint64_t default_stream_seen_ = 0;
  std::uint64_t default_stream_waits_ = 0;

  QueueCapture capture_;

  SpinLock error_lock_;
  std::atomic<bool> has_error_{false};
  std::exception_ptr error_;
  std::error_code status_;

  // In the list of busy queues, under its lock.
  Queue* busy_previous_ = nullptr;
  Queue* busy_next_ = nullptr;
  std::uint32_t busy_ = 0;
};

template <class Look>
bool Queue::inspect(Look&& look) const {
  struct ReopenAtEnd {
    AsymmetricLock& passage;
    ~ReopenAtEnd() { passage.open(); }
  };
  for (;; std::this_thread::yield()) {
    const std::lock_guard lock(lock_);
    const std::uint64_t left = submitted() - value();
    if (left == 0) return true;
    if (!departure_.close()) return false;
    const ReopenAtEnd reopen{departure_};
    if (backlog_.peek() == nullptr) continue;  // the last operation is done and about to be counted
    look(backlog_, left);
    return true;
  }
}

/// The queue of a stream of this backend's, whose native handle it is.
inline Queue& queue_of(const Stream& stream) noexcept { return *static_cast<Queue*>(stream.native_handle()); }

/// The queues of all devices that have work, so that waits for them need not look at idle ones.
class BusyQueues {
 public:
  static BusyQueues& instance() noexcept;
  void add(Queue& queue) noexcept;
  void remove(Queue& queue) noexcept;
  /// Those for which `wanted(queue)`.
  template <class Wanted>
  std::vector<Ptr<Queue>> matching(Wanted&& wanted) const {
    std::vector<Ptr<Queue>> result;
    std::lock_guard lock(mutex_);
    for (Queue* queue = first_; queue != nullptr; queue = queue->busy_next_) {
      if (!queue->is_idle() && wanted(*queue)) result.push_back(Ptr<Queue>(queue));
    }
    return result;
  }

 private:
  mutable std::mutex mutex_;  // guards the list
  Queue* first_ = nullptr;
};

}  // namespace weir::host
