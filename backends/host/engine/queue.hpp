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

/// The queue of a stream. The stream's native handle is a pointer to it. A queue counts its finished operations, occupies no
/// thread while it waits or is idle, and lives as long as it has work.
namespace weir::host {

class Engine;

/// A queue's part of a capture. Only captures write it, under the lock of all captures.
struct QueueCapture {
  std::atomic<bool> is_open{false};
  Ptr<RefCounted> capture;
  std::vector<std::uint32_t> nodes;  ///< the nodes that the queue's next node depends on
};

class Queue final : public Signal, private Runnable, private Continuation {
 public:
  /// How the queue is ordered against its device's legacy default stream.
  enum class Role : std::uint8_t { non_blocking, blocking, per_thread, legacy };

  /// `most_workers`: how many workers may run one kernel of this queue at the same time.
  Queue(Engine& engine, Role role, int priority, std::uint32_t most_workers = all_workers);
  ~Queue() override;

  /// Returns the queue with this native handle. Throws `invalid_argument` if there is none, and `wrong_device` if it is a
  /// queue of another device.
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
  /// Runs `work` on the calling thread if the queue is idle. `work` must be indivisible and must wait for nothing. Returns
  /// false if the queue is not idle: enqueue the work then. For small copies this is faster than waking a worker.
  bool run_here(const Work& work);
  /// Returns the number that this signal reaches when all work enqueued so far is done. If the queue is ordered against the
  /// legacy default stream, that includes work of the other side enqueued so far.
  std::uint64_t point();
  bool is_idle() const noexcept { return has_reached(submitted()); }
  std::uint64_t submitted() const noexcept { return submitted_.load(std::memory_order_acquire); }
  /// With WEIR_SCHEDULE: how many operations were enqueued (operations are named by this count), and how many of them have
  /// begun.
  std::uint64_t given() const noexcept { return given_.load(std::memory_order_relaxed); }
  std::uint64_t begun() const noexcept { return begun_; }

  /// Calls `look(backlog, left)` while no operation can leave the queue. `left`: the number of unfinished operations, of
  /// which the backlog contains the first one. Does not call it if all are done. Returns false if the system lacks the means
  /// to stop the queue.
  template <class Look>
  bool inspect(Look&& look) const;
  /// This queue as the item that threads run.
  const Runnable& as_item() const noexcept { return *this; }

  /// Makes the program the owner of the queue when it calls `release_handle`, until it adopts the handle again.
  void release_to_caller() noexcept;
  /// Ends that ownership. Returns false if the program does not own the queue.
  bool take_from_caller() noexcept { return released_.exchange(false, std::memory_order_acq_rel); }

  /// Stores an error for the queue's next synchronize, unless an error is stored already. `status`: the error code of failed
  /// work, which is passed to callbacks until then.
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
  std::uint64_t begun_ = 0;  // this and the next member: used only by the thread that runs the queue
  WorkRun work_run_;
  mutable AsymmetricLock departure_;  // held while the first operation leaves the backlog, and during `inspect`
  Backlog backlog_;   // also keeps the members above and those below, which enqueuing threads use, on separate cache lines

  // The following members are used by enqueuing threads and by the running thread.
  mutable SpinLock lock_;
  bool active_ = false;
  const Role role_;
  const bool is_plain_;  // the queue is neither ordered against other streams nor scheduled
  const int priority_;
  const std::uint32_t most_workers_;
  std::atomic<std::uint64_t> submitted_{0}, given_{0};
  Engine& engine_;
  const std::uint64_t id_;
  std::atomic<SynchronizationPolicy> policy_{SynchronizationPolicy::automatic};
  std::atomic<bool> released_{false};
  // Guarded by the device's default-stream mutex: the number of the default stream's queue that this queue waits for, and
  // the number of this queue that the default stream's queue waits for.
  std::uint64_t default_stream_seen_ = 0;
  std::uint64_t default_stream_waits_ = 0;

  QueueCapture capture_;

  SpinLock error_lock_;
  std::atomic<bool> has_error_{false};
  std::exception_ptr error_;
  std::error_code status_;

  // Links in the list of busy queues; guarded by the lock of that list.
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
    if (backlog_.peek() == nullptr) continue;  // the last operation is done, but its queue has not counted it yet
    look(backlog_, left);
    return true;
  }
}

/// The queue of a stream of this backend, which the stream's native handle points to.
inline Queue& queue_of(const Stream& stream) noexcept { return *static_cast<Queue*>(stream.native_handle()); }

/// The queues of all devices that have work. A wait for all work needs to check only these, not idle queues.
class BusyQueues {
 public:
  static BusyQueues& instance() noexcept;
  void add(Queue& queue) noexcept;
  void remove(Queue& queue) noexcept;
  /// The busy queues for which `wanted(queue)` returns true.
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
