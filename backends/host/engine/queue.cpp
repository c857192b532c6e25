// SPDX-License-Identifier: Apache-2.0
#include "backends/host/engine/queue.hpp"

#include <mutex>
#include <new>
#include <unordered_set>
#include <utility>

#include "backends/host/engine/engine.hpp"
#include "backends/host/engine/executable.hpp"
#include "backends/host/engine/schedule_policy.hpp"
#include "core/base/no_destructor.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/plugin/operation.hpp"
#include "weir/plugin/support.hpp"

namespace weir::host {
namespace {

// After this many host functions in a row, a queue leaves its thread to other queues that wait for it.
constexpr unsigned turn_of_functions = 256;

/// Whether the operation counts in operation names. Waits do not count, because a wait for a record that is already complete
/// is not enqueued.
bool has_name(const Work& work) noexcept {
  return !std::holds_alternative<SignalWait>(work) && !std::holds_alternative<TimedRecord>(work);
}
bool has_name(const HostFunction&) noexcept { return true; }
bool has_name(const Backlog::Operation& operation) noexcept { return operation.is_function() || has_name(operation.work()); }

std::uint64_t new_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// All existing queues. `from_handle` looks up handles here, because a program may pass any number as a handle.
struct LiveQueues {
  std::mutex mutex;
  std::unordered_set<const void*> queues;

  static LiveQueues& instance() noexcept {
    static detail::NoDestructor<LiveQueues> live;
    return *live;
  }
};

}  // namespace

Queue::Queue(Engine& engine, Role role, int priority, std::uint32_t most_workers)
    : role_(role),
      is_plain_(role == Role::non_blocking && schedule_ == nullptr),
      priority_(priority),
      most_workers_(most_workers),
      engine_(engine),
      id_(new_id()) {
  LiveQueues& live = LiveQueues::instance();
  const std::lock_guard lock(live.mutex);
  live.queues.insert(this);
}

Queue::~Queue() {
  LiveQueues& live = LiveQueues::instance();
  const std::lock_guard lock(live.mutex);
  live.queues.erase(this);
}

Device& Queue::device() const noexcept { return engine_.device(); }

Queue& Queue::from_handle(Engine& engine, void* handle) {
  LiveQueues& live = LiveQueues::instance();
  const std::lock_guard lock(live.mutex);
  auto* const queue = static_cast<Queue*>(handle);
  if (!live.queues.contains(queue)) {
    throw Error(Errc::invalid_argument, "Device::wrap_stream", engine.device().describe(),
                "the handle is not a stream of this backend; pass one that native_handle or release_handle returned");
  }
  if (&queue->engine_ != &engine) {
    throw Error(Errc::wrong_device, "Device::wrap_stream", engine.device().describe(),
                "the handle is a stream of " + queue->device().describe());
  }
  return *queue;
}

void Queue::release_to_caller() noexcept {
  retain();
  released_.store(true, std::memory_order_release);
}

Level Queue::level() const noexcept { return level_of(priority_); }

// --- Enqueueing -------------------------------------------------------------------------------------------------------

template <class Payload>
void Queue::push(Payload&& payload) {
  Backlog::Block* block = nullptr;
  lock_.lock();
  if (!backlog_.has_room<Payload>()) [[unlikely]] {
    lock_.unlock();
    block = Backlog::take_block();
    lock_.lock();
    if (!backlog_.has_room<Payload>()) backlog_.extend(std::exchange(block, nullptr));
  }
  Backlog::Operation& operation = backlog_.append(std::forward<Payload>(payload));
  submitted_.store(submitted_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  const bool was_active = std::exchange(active_, true);
  // Computed before the unlock, because afterwards another thread may run and destroy the operation.
  const ThreadKind thread_kind = was_active ? ThreadKind::none : thread_kind_of(operation);
  lock_.unlock();
  if (block != nullptr) [[unlikely]]
    Backlog::give_back(block);
  if (!was_active) {
    retain();
    BusyQueues::instance().add(*this);
    hand_to(thread_kind);
  }
}

template <class Payload>
void Queue::enqueue_in_order(Payload&& payload) {
  if (is_plain_) [[likely]] {
    push(std::forward<Payload>(payload));
    return;
  }
  if (schedule_ != nullptr && has_name(payload))
    schedule_->was_given(id_, given_.fetch_add(1, std::memory_order_relaxed) + 1);
  if (role_ == Role::non_blocking) {
    push(std::forward<Payload>(payload));
  } else {
    const std::lock_guard lock(engine_.default_stream_mutex());
    order_against_default_stream();
    push(std::forward<Payload>(payload));
  }
  if (schedule_ != nullptr) schedule_->submitted();
}

void Queue::enqueue(Work&& work) { enqueue_in_order(std::move(work)); }
void Queue::enqueue(HostFunction&& function) { enqueue_in_order(std::move(function)); }

bool Queue::run_here(const Work& work) {
  if (schedule_ != nullptr) return false;
  if (role_ != Role::non_blocking && !has_reached(point())) return false;
  // The thread that ran the last operation may be about to leave the queue, so try to lock a few times.
  const auto enter = [this] {
    const std::lock_guard lock(lock_);
    return has_reached(submitted()) && !std::exchange(active_, true);
  };
  for (int tries = 0; !enter(); ++tries) {
    if (tries == 100 || !has_reached(submitted())) return false;
    spin_pause();
  }
  // From here on this thread runs the queue. Other threads can only add operations.
  work_run_.start(work, *this, *this);
  if (!take_more()) return true;
  retain();
  BusyQueues::instance().add(*this);
  hand_to(thread_kind_of(*backlog_.first()));
  return true;
}

std::uint64_t Queue::point() {
  if (role_ == Role::non_blocking) return submitted();
  std::lock_guard lock(engine_.default_stream_mutex());
  order_against_default_stream();
  return submitted();
}

void Queue::order_against_default_stream() {
  if (role_ == Role::legacy) {
    const auto wanted = [this](const Queue& queue) {
      return &queue.engine_ == &engine_ && (queue.role_ == Role::blocking || queue.role_ == Role::per_thread);
    };
    for (Ptr<Queue>& other : BusyQueues::instance().matching(wanted)) {
      const std::uint64_t point = other->submitted();
      if (point == other->default_stream_waits_) continue;
      push(Work(SignalWait{other, point}));
      other->default_stream_waits_ = point;
    }
    return;
  }
  Queue& legacy = engine_.default_queue();
  const std::uint64_t point = legacy.submitted();
  if (point != default_stream_seen_ && !legacy.has_reached(point)) push(Work(SignalWait{Ptr<Signal>(&legacy), point}));
  default_stream_seen_ = point;
}

// --- Running ----------------------------------------------------------------------------------------------------------

ThreadKind Queue::thread_kind_of(Backlog::Operation& operation) noexcept {
  return operation.is_function() ? ThreadKind::host_functions : host::thread_kind_of(operation.work());
}

void Queue::hand_to(ThreadKind thread_kind) noexcept {
  if (thread_kind == ThreadKind::host_functions && schedule_ == nullptr) {
    engine_.host_thread().submit(this);
  } else {
    Scheduler::instance().submit(this, level());
  }
}

bool Queue::take_more() noexcept {
  Backlog::Block* idle = nullptr;
  bool more = false;
  {
    std::lock_guard lock(lock_);
    more = backlog_.look(idle);
    // From here on another thread may run the queue.
    if (!more) active_ = false;
  }
  if (idle != nullptr) Backlog::give_back(idle);
  return more;
}

/// Whether the schedule's policy allows the first operation to run now.
bool Queue::may_start(ThreadKind thread_kind) {
  if (schedule_->needs_names()) {
    Backlog::Operation& operation = *backlog_.first();
    const Work* const work = operation.is_function() ? nullptr : &operation.work();
    if (!schedule_->may_start({id_, begun_ + 1, {}}, *this, work, [this, thread_kind] { hand_to(thread_kind); }))
      return false;
  }
  ++begun_;
  return true;
}

void Queue::finish_first() noexcept {
  if (schedule_ != nullptr && schedule_->needs_names() && has_name(*backlog_.first())) schedule_->ended({id_, begun_, {}});
  departure_.enter();
  Backlog::Operation& done = backlog_.take_first();
  departure_.leave();
  Backlog::destroy(done);  // outside the lock, because destructors may run the program's code
  // Enqueuing threads may still add operations to the last block, so only earlier blocks are left.
  if (backlog_.is_block_spent()) [[unlikely]] {
    departure_.enter();
    Backlog::Block* const left = backlog_.leave_block();
    departure_.leave();
    Backlog::give_back(left);
  }
  advance();
}

void Queue::execute(ThreadKind thread_kind) noexcept {
  TimeSlice turn(level());
  for (unsigned done = 0;; ++done) {
    if (backlog_.first() == nullptr && !take_more()) {
      BusyQueues::instance().remove(*this);
      release();
      return;
    }
    Backlog::Operation& operation = *backlog_.first();
    const ThreadKind wanted = thread_kind_of(operation);
    if (wanted != ThreadKind::none && wanted != thread_kind) {
      // The schedule itself has chosen this host function.
      if (schedule_ != nullptr && thread_kind == ThreadKind::worker && done == 0) {
        engine_.host_thread().submit(this);
      } else {
        hand_to(wanted);
      }
      return;
    }
    const bool is_over =
        thread_kind == ThreadKind::worker || (schedule_ != nullptr && thread_kind == ThreadKind::host_functions)
            ? done != 0 && turn.is_over()
            : done % turn_of_functions == turn_of_functions - 1 && engine_.host_thread().others_wait();
    if (is_over) {
      hand_to(thread_kind);
      return;
    }
    if (schedule_ != nullptr && has_name(operation) && !may_start(thread_kind)) return;
    if (operation.is_function()) {
      call_host_function_once(operation.function(), *this);
    } else if (work_run_.start(operation.work(), *this, *this) == Progress::pending) {
      return;
    }
    finish_first();
  }
}

void Queue::resume(ThreadKind thread_kind) noexcept {
  finish_first();
  execute(schedule_ != nullptr ? ThreadKind::none : thread_kind);
}

// --- Busy queues ------------------------------------------------------------------------------------------------------

BusyQueues& BusyQueues::instance() noexcept {
  static detail::NoDestructor<BusyQueues> queues;
  return *queues;
}

void BusyQueues::add(Queue& queue) noexcept {
  std::lock_guard lock(mutex_);
  // A thread may make the queue busy again before the thread that emptied it has reported that.
  if (queue.busy_++ != 0) return;
  queue.busy_previous_ = nullptr;
  queue.busy_next_ = first_;
  if (first_ != nullptr) first_->busy_previous_ = &queue;
  first_ = &queue;
}

void BusyQueues::remove(Queue& queue) noexcept {
  std::lock_guard lock(mutex_);
  if (--queue.busy_ != 0) return;
  (queue.busy_previous_ != nullptr ? queue.busy_previous_->busy_next_ : first_) = queue.busy_next_;
  if (queue.busy_next_ != nullptr) queue.busy_next_->busy_previous_ = queue.busy_previous_;
}

// --- Errors -----------------------------------------------------------------------------------------------------------

void Queue::keep_error(std::exception_ptr error, std::error_code status) noexcept {
  std::lock_guard lock(error_lock_);
  if (!error_) error_ = std::move(error);
  if (!status_) status_ = status;
  has_error_.store(true, std::memory_order_release);
}

std::exception_ptr Queue::take_error() noexcept {
  if (!has_error_.load(std::memory_order_acquire)) return nullptr;
  std::lock_guard lock(error_lock_);
  has_error_.store(false, std::memory_order_release);
  status_ = {};
  return std::exchange(error_, nullptr);
}

std::error_code Queue::status() noexcept {
  std::lock_guard lock(error_lock_);
  return status_;
}

}  // namespace weir::host
