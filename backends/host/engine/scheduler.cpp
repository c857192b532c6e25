// SPDX-License-Identifier: Apache-2.0
#include "backends/host/engine/scheduler.hpp"

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "backends/host/engine/own_threads.hpp"
#include "backends/host/engine/schedule_policy.hpp"
#include "backends/host/engine/signal.hpp"
#include "weir/error.hpp"
#include "weir/plugin/support.hpp"

namespace weir::host {
namespace {

constexpr int most_threads = 1024;
// After this many items a worker returns to oneTBB, which may then assign it to another arena.
constexpr int most_items_at_once = 64;

[[noreturn]] void throw_no_thread(const char* purpose, const char* cause) {
  throw Error(Errc::out_of_memory, "starting a thread", "host",
              std::string("a thread ") + purpose + ": " + cause + "; raise the limit on threads (ulimit -u, pids.max)");
}

/// The number of processors that the process may use at once.
int default_threads() { return std::max(1, tbb::info::default_concurrency()); }

}  // namespace

// --- List -------------------------------------------------------------------------------------------------------------

void RunList::push(Runnable* item) noexcept {
  item->next_runnable_ = nullptr;
  if (tail_ != nullptr) {
    tail_->next_runnable_ = item;
  } else {
    head_ = item;
  }
  tail_ = item;
}

Runnable* RunList::pop() noexcept {
  Runnable* const item = head_;
  if (item != nullptr) {
    head_ = item->next_runnable_;
    if (head_ == nullptr) tail_ = nullptr;
  }
  return item;
}

Runnable* RunList::take(std::size_t before) noexcept {
  Runnable* previous = nullptr;
  Runnable* item = head_;
  for (; before != 0; --before) previous = std::exchange(item, item->next_runnable_);
  (previous != nullptr ? previous->next_runnable_ : head_) = item->next_runnable_;
  if (tail_ == item) tail_ = previous;
  return item;
}

// --- Workers ----------------------------------------------------------------------------------------------------------

namespace {

/// Blocks signals in each worker when the worker first enters the arena, because oneTBB starts workers with the signal mask
/// of the enqueuing thread. The signals stay blocked when a worker leaves, because a sleeping worker is in no arena.
class WorkerSignals final : public tbb::task_scheduler_observer {
 public:
  explicit WorkerSignals(tbb::task_arena& arena) : task_scheduler_observer(arena) { observe(true); }
  void on_scheduler_entry(bool is_worker) override {
    if (is_worker) support::block_signals();
  }
};

}  // namespace

struct Scheduler::Arena {
  explicit Arena(int threads)
      : more_workers(tbb::global_control::max_allowed_parallelism, wanted_parallelism(threads)),
        arena(threads, 0),
        worker_signals(arena) {}

  /// oneTBB counts the thread that calls it as one of the workers. Streams have no such thread, so one more is requested.
  static std::size_t wanted_parallelism(int threads) {
    return std::max(static_cast<std::size_t>(threads) + 1,
                    tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
  }

  tbb::global_control more_workers;  // must exist before the arena, because it limits the arena's workers
  tbb::task_arena arena;
  WorkerSignals worker_signals;
};

/// The place where a worker that has just helped waits for more such work. Getting it through oneTBB would take a
/// microsecond, as long as a small kernel. Each has its own cache line, so passing an item to a worker costs the transfer of
/// one line between processors.
struct alignas(64) Scheduler::IdleWorker {
  /// Null if the worker is not here; `&spinning` while it waits; or the address of the item to help with, plus the number
  /// for the worker.
  std::atomic<std::byte*> state{nullptr};
  static inline std::byte spinning{};
  static constexpr std::uintptr_t numbers = 64;

  bool change(std::byte* from, std::byte* to) noexcept {
    return state.load(std::memory_order_relaxed) == from &&
           state.compare_exchange_strong(from, to, std::memory_order_acq_rel, std::memory_order_relaxed);
  }
};

Scheduler& Scheduler::instance() {
  static auto* const scheduler = new Scheduler(
      static_cast<int>(support::environment_number("WEIR_HOST_THREADS", default_threads(), 1, most_threads)),
      SchedulePolicy::from_environment());
  return *scheduler;
}

Scheduler::Scheduler(int threads, std::unique_ptr<SchedulePolicy> policy)
    : threads_(threads),
      arena_(new Arena(threads)),
      idle_workers_(new IdleWorker[static_cast<std::size_t>(threads)]),
      policy_(std::move(policy)) {
  // Creates the arena now, where a failure for lack of memory can be reported, and not at the first work. The first work may
  // be submitted while static objects are destroyed, when oneTBB creates no arenas any longer; existing ones still work.
  const support::SignalsBlocked no_signals;  // inherited by the workers that start here
  try {
    arena_->arena.initialize();
    arena_->arena.enqueue([] {});
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    throw_no_thread("that runs the work", e.what());
  }
}

void Scheduler::submit(Runnable* item, Level level, bool helps) {
  const auto i = static_cast<std::size_t>(level);
  {
    std::lock_guard lock(lock_);
    ready_[i].push(item);
    ready_count_[i].fetch_add(1, std::memory_order_relaxed);
  }
  if (policy_ != nullptr) [[unlikely]]
    return policy_->made_ready();
  try {
    // The task names no item: the worker that runs the task takes the most urgent item at that moment.
    if (!helps) {
      arena_->arena.enqueue([] { instance().run_most_urgent(); });
    } else {
      arena_->arena.enqueue([] {
        instance().run_most_urgent();
        for (int more = 0; more < most_items_at_once && instance().help_again();) ++more;
      });
    }
  } catch (const std::bad_alloc&) {
    // There is no memory for a task. So this thread runs the work itself, which never blocks.
    run_most_urgent();
  }
}

bool Scheduler::others_wait(Level level) const noexcept {
  for (std::size_t i = 0; i <= static_cast<std::size_t>(level); ++i) {
    if (ready_count_[i].load(std::memory_order_relaxed) != 0) return true;
  }
  return false;
}

bool TimeSlice::is_over() noexcept {
  using namespace std::chrono_literals;
  const Scheduler& scheduler = Scheduler::instance();
  if (scheduler.has_policy()) return true;
  if (!scheduler.others_wait(level_)) {
    others_since_ = {};
    return false;
  }
  if (level_ != Level::high && scheduler.others_wait(static_cast<Level>(static_cast<int>(level_) - 1))) return true;
  const Clock::time_point now = Clock::now();
  if (others_since_ == Clock::time_point{}) others_since_ = now;
  return now - others_since_ >= 1ms;
}

Runnable* Scheduler::take_most_urgent() noexcept {
  for (std::size_t i = 0; i < level_count; ++i) {
    if (Runnable* const item = ready_[i].pop()) {
      ready_count_[i].fetch_sub(1, std::memory_order_relaxed);
      return item;
    }
  }
  return nullptr;
}

bool Scheduler::run_most_urgent() noexcept {
  Runnable* item = nullptr;
  {
    std::lock_guard lock(lock_);
    item = take_most_urgent();
  }
  if (item != nullptr) item->execute(ThreadKind::worker);
  return item != nullptr;
}

std::uint32_t Scheduler::worker() const noexcept {
  return static_cast<std::uint32_t>(std::max(tbb::this_task_arena::current_thread_index(), 0));
}

std::uint32_t Scheduler::wake_idle_workers(Runnable* item, std::uint32_t most) noexcept {
  const auto threads = static_cast<std::uint32_t>(threads_);
  auto* const address = reinterpret_cast<std::byte*>(item);
  const std::uint32_t first = worker();
  const auto call = [&](std::uint32_t i, std::uint32_t number) {
    return idle_workers_[(first + i) % threads].change(&IdleWorker::spinning, address + number);
  };
  most = std::min({most, most_woken, threads - 1});
  std::uint32_t missing = 0;  // numbers without a worker, one bit each
  for (std::uint32_t i = 1; i <= most; ++i) missing |= call(i, i) ? 0U : 1U << i;
  for (std::uint32_t i = most + 1; missing != 0 && i < threads; ++i) {
    if (call(i, static_cast<std::uint32_t>(std::countr_zero(missing)))) missing &= missing - 1;
  }
  return most - static_cast<std::uint32_t>(std::popcount(missing));
}

bool Scheduler::help_again() noexcept {
  using namespace std::chrono_literals;
  using Clock = std::chrono::steady_clock;
  // Covers the time between two kernels, and the time until a kernel's slowest share is done.
  constexpr auto spin_time = 30us;
  constexpr int spins_between_clock_reads = 16;
  IdleWorker& seat = idle_workers_[worker()];
  seat.state.store(&IdleWorker::spinning, std::memory_order_relaxed);
  const auto is_called = [&] { return seat.state.load(std::memory_order_relaxed) != &IdleWorker::spinning; };
  const Clock::time_point end = Clock::now() + spin_time;
  for (int i = 0; !is_called() && (i % spins_between_clock_reads != 0 || Clock::now() < end); ++i) {
    if (others_wait(Level::low)) {
      if (!seat.change(&IdleWorker::spinning, nullptr)) break;
      if (run_most_urgent()) return true;
      seat.state.store(&IdleWorker::spinning, std::memory_order_relaxed);
    }
    spin_pause();
  }
  if (seat.change(&IdleWorker::spinning, nullptr)) return false;
  std::byte* const call = seat.state.exchange(nullptr, std::memory_order_acquire);
  const std::uintptr_t number = reinterpret_cast<std::uintptr_t>(call) % IdleWorker::numbers;
  reinterpret_cast<Runnable*>(call - number)->help(static_cast<std::uint32_t>(number));
  return true;
}

void Scheduler::run_chosen() noexcept {
  Runnable* item = nullptr;
  {
    const std::lock_guard lock(lock_);
    for (std::size_t i = 0; i < level_count && item == nullptr; ++i) {
      if (ready_[i].empty()) continue;
      item = policy_->take(ready_[i]);
      ready_count_[i].fetch_sub(1, std::memory_order_relaxed);
    }
  }
  if (item != nullptr) arena_->arena.execute([item] { item->execute(ThreadKind::worker); });
}

// --- Waits of the host ------------------------------------------------------------------------------------------------

HostWait::HostWait(const Signal* signal, std::uint64_t number) : signal_(signal), number_(number) {
  if (SchedulePolicy* const policy = Scheduler::instance().policy()) policy->begin_wait(*this);
}

HostWait::~HostWait() {
  if (SchedulePolicy* const policy = Scheduler::instance().policy()) policy->end_wait(*this);
}

void HostWait::give_up() noexcept {
  if (SchedulePolicy* const policy = Scheduler::instance().policy()) policy->gave_up();
}

bool HostWait::is_over() const noexcept { return signal_ != nullptr && signal_->has_reached(number_); }

// --- Host functions ---------------------------------------------------------------------------------------------------

void OnDemandThread::start(const char* purpose, std::function<void()> loop) {
  const std::lock_guard lock(mutex_);
  if (started_.load(std::memory_order_relaxed)) return;
  expect_own_thread();
  try {
    const support::SignalsBlocked no_signals;
    std::thread([loop = std::move(loop)] {
      register_own_thread();
      loop();
    }).detach();
  } catch (const std::bad_alloc&) {
    forget_own_thread();
    throw;
  } catch (const std::system_error& e) {
    forget_own_thread();
    throw_no_thread(purpose, e.what());
  }
  started_.store(true, std::memory_order_release);
}

void HostThread::submit(Runnable* item) {
  if (SchedulePolicy* const policy = Scheduler::instance().policy()) policy->count_functions(1);
  std::lock_guard lock(mutex_);
  ready_.push(item);
  waiting_.fetch_add(1, std::memory_order_relaxed);
  if (asleep_) wake_.notify_one();
}

void HostThread::loop() noexcept {
  // Waking a thread takes longer than a short host function, so the thread polls a little before it sleeps.
  constexpr int looks_before_sleep = 400;
  for (int looks = 0;; ++looks) {
    if (waiting_.load(std::memory_order_relaxed) == 0 && looks < looks_before_sleep) {
      spin_pause();
      continue;
    }
    Runnable* item = nullptr;
    {
      std::unique_lock lock(mutex_);
      if (ready_.empty()) {
        asleep_ = true;
        wake_.wait(lock, [this] { return !ready_.empty(); });
        asleep_ = false;
      }
      item = ready_.pop();
      waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    running_.store(item, std::memory_order_release);
    running_queue_.store(item->queue(), std::memory_order_release);
    item->execute(ThreadKind::host_functions);
    running_queue_.store(nullptr, std::memory_order_relaxed);
    running_.store(nullptr, std::memory_order_relaxed);
    if (SchedulePolicy* const policy = Scheduler::instance().policy()) policy->count_functions(-1);
    looks = 0;
  }
}

}  // namespace weir::host
