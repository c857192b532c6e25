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
#include <ctime>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "backends/host/engine/signal.hpp"
#include "backends/host/engine/value_waits.hpp"
#include "backends/host/run/launch_check.hpp"
#include "backends/host/schedule/own_threads.hpp"
#include "backends/host/schedule/schedule.hpp"
#include "weir/error.hpp"
#include "weir/plugin/support.hpp"

namespace weir::host {
namespace {

constexpr int most_threads = 1024;
// Then oneTBB may send the worker to another arena.
constexpr int most_items_at_once = 64;

[[noreturn]] void throw_no_thread(const char* purpose, const char* cause) {
  throw Error(Errc::out_of_memory, "starting a thread", "host",
              std::string("a thread ") + purpose + ": " + cause + "; raise the limit of threads (ulimit -u, pids.max)");
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

/// Blocks signals in each worker when it first enters the arena: oneTBB starts workers with the mask of the enqueuing
/// thread. They stay blocked, since a sleeping worker is in no arena.
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

  /// oneTBB counts the caller as a worker, but streams have no caller: one more is needed.
  static std::size_t wanted_parallelism(int threads) {
    return std::max(static_cast<std::size_t>(threads) + 1,
                    tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
  }

  tbb::global_control more_workers;  // made before the arena, which it affects
  tbb::task_arena arena;
  WorkerSignals worker_signals;
};

/// One operation runs at a time, of a stream that the schedule chooses. None runs before the host waits, or has submitted
/// nothing for a while: so the choice depends on the seed, and not on how fast the host is.
struct Scheduler::Shaken {
  explicit Shaken(std::unique_ptr<Schedule> s) : schedule(std::move(s)) {}

  std::unique_ptr<Schedule> schedule;  // of the thread that runs the work
  std::mutex step;                     // held while something runs
  std::mutex mutex;                    // guards what follows
  std::condition_variable changed;
  std::uint64_t submissions = 0;  // by the host
  std::uint64_t silent_at = 0;    // how many there were when the host had been at something else for long
  std::atomic<bool> asks{false};  // it has asked whether work is done
  HostWait* host_waits = nullptr;
  std::uint32_t order_waits = 0;  // of the host, for the schedule's order alone
  std::uint32_t functions = 0;    // that were handed to threads for host functions, and have not returned
  std::uint64_t function_changes = 0, waiting_function = 0;  // how often that has changed; when nobody waited any longer
  bool is_idle = true;                                       // the thread below has nothing to run
  OnDemandThread thread;

  void count_functions(int more) {
    const std::lock_guard lock(mutex);
    functions += static_cast<std::uint32_t>(more);
    ++function_changes;
    changed.notify_all();
  }
};

/// Where a worker that has helped looks for more to help with: one that oneTBB has to find again comes a microsecond later,
/// which is as long as a small kernel takes. Has a cache line of its own, since handing over an item this way costs one line
/// that goes from one processor to another.
struct alignas(64) Scheduler::Seat {
  /// Null; `&spinning` while the worker spins; or the address of the item that it is to help with, plus its number there.
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
      checks_launches()
          ? 1
          : static_cast<int>(support::environment_number("WEIR_HOST_THREADS", default_threads(), 1, most_threads)),
      Schedule::from_environment());
  return *scheduler;
}

Scheduler::Scheduler(int threads, std::unique_ptr<Schedule> schedule)
    : threads_(threads), arena_(new Arena(threads)), seats_(new Seat[static_cast<std::size_t>(threads)]) {
  if (schedule != nullptr) shaken_ = new Shaken(std::move(schedule));
  // Here, where it may fail for lack of memory, and not at the first work. That may come when static objects are destroyed,
  // and then oneTBB makes no arenas; existing ones go on working.
  const support::SignalsBlocked no_signals;  // for the workers that this starts
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
  if (shaken_ != nullptr) [[unlikely]] {
    start_schedule();
    const std::lock_guard lock(shaken_->mutex);
    shaken_->changed.notify_all();
    return;
  }
  try {
    // The task is empty: the worker that runs it takes the most urgent work of that moment.
    if (!helps) {
      arena_->arena.enqueue([] { instance().run_most_urgent(); });
    } else {
      arena_->arena.enqueue([] {
        instance().run_most_urgent();
        for (int more = 0; more < most_items_at_once && instance().help_again();) ++more;
      });
    }
  } catch (const std::bad_alloc&) {
    // No memory for a task: this thread runs the work, which never blocks.
    run_most_urgent();
  }
}

bool Scheduler::others_wait(Level level) const noexcept {
  for (std::size_t i = 0; i <= static_cast<std::size_t>(level); ++i) {
    if (ready_count_[i].load(std::memory_order_relaxed) != 0) return true;
  }
  return false;
}

bool Turn::is_over() noexcept {
  using namespace std::chrono_literals;
  const Scheduler& scheduler = Scheduler::instance();
  if (scheduler.is_shaken()) return true;
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
  if (item != nullptr) item->execute(Lane::worker);
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
    return seats_[(first + i) % threads].change(&Seat::spinning, address + number);
  };
  most = std::min({most, most_woken, threads - 1});
  std::uint32_t missing = 0;  // a bit for each number
  for (std::uint32_t i = 1; i <= most; ++i) missing |= call(i, i) ? 0U : 1U << i;
  for (std::uint32_t i = most + 1; missing != 0 && i < threads; ++i) {
    if (call(i, static_cast<std::uint32_t>(std::countr_zero(missing)))) missing &= missing - 1;
  }
  return most - static_cast<std::uint32_t>(std::popcount(missing));
}

bool Scheduler::help_again() noexcept {
  using namespace std::chrono_literals;
  using Clock = std::chrono::steady_clock;
  constexpr auto spin_time = 30us;  // from one kernel to the next, and until the slowest share of a kernel is done
  constexpr int spins_between_clock_reads = 16;
  Seat& seat = seats_[worker()];
  seat.state.store(&Seat::spinning, std::memory_order_relaxed);
  const auto is_called = [&] { return seat.state.load(std::memory_order_relaxed) != &Seat::spinning; };
  const Clock::time_point end = Clock::now() + spin_time;
  for (int i = 0; !is_called() && (i % spins_between_clock_reads != 0 || Clock::now() < end); ++i) {
    if (others_wait(Level::low)) {
      if (!seat.change(&Seat::spinning, nullptr)) break;
      if (run_most_urgent()) return true;
      seat.state.store(&Seat::spinning, std::memory_order_relaxed);
    }
    spin_pause();
  }
  if (seat.change(&Seat::spinning, nullptr)) return false;
  std::byte* const call = seat.state.exchange(nullptr, std::memory_order_acquire);
  const std::uintptr_t number = reinterpret_cast<std::uintptr_t>(call) % Seat::numbers;
  reinterpret_cast<Runnable*>(call - number)->help(static_cast<std::uint32_t>(number));
  return true;
}

void Scheduler::start_schedule() {
  shaken_->thread.ensure_started("that runs the work of WEIR_SCHEDULE", [this] { run_by_schedule(); });
}

void Scheduler::run_by_schedule() noexcept {
  for (;;) {
    wait_for_work();
    wait_for_host();
    const std::lock_guard step(shaken_->step);
    Runnable* item = nullptr;
    {
      const std::lock_guard lock(lock_);
      for (std::size_t i = 0; i < level_count && item == nullptr; ++i) {
        if (ready_[i].empty()) continue;
        item = shaken_->schedule->take(ready_[i]);
        ready_count_[i].fetch_sub(1, std::memory_order_relaxed);
      }
    }
    if (item != nullptr) arena_->arena.execute([item] { item->execute(Lane::worker); });
    wait_for_function();
    ValueWaits::instance().look();
  }
}

/// Until the host waits, or seems to: it has submitted nothing for a while, and none of its threads is at work. One that is
/// may only have been held up, on a machine that does much else; but if it has had much time of a processor, it waits by
/// looking again and again.
void Scheduler::wait_for_host() noexcept {
  using namespace std::chrono_literals;
  constexpr auto a_while = 2ms, much_time = 100ms;
  const auto processor_time = [] {  // of other threads
    const auto time_of = [](clockid_t clock) {
      timespec now{};
      ::clock_gettime(clock, &now);
      return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
    };
    return time_of(CLOCK_PROCESS_CPUTIME_ID) - time_of(CLOCK_THREAD_CPUTIME_ID);
  };
  std::unique_lock lock(shaken_->mutex);
  // A thread whose wait is over goes on before any work does.
  const auto waits = [&] {
    for (const HostWait* wait = shaken_->host_waits; wait != nullptr; wait = wait->next_) {
      if (wait->is_over()) return false;
    }
    return shaken_->host_waits != nullptr || (shaken_->order_waits != 0 && order().holds_host());
  };
  auto begin = processor_time();
  for (int times_asleep = 0; times_asleep < 2 && !waits();) {
    const std::uint64_t seen = shaken_->submissions;
    const auto is_news = [&] { return waits() || seen != shaken_->submissions; };
    if (!shaken_->changed.wait_for(lock, a_while, is_news)) {
      if (processor_time() - begin >= much_time) shaken_->silent_at = seen;
      if (seen == shaken_->silent_at || shaken_->asks.exchange(false, std::memory_order_relaxed)) return;
      lock.unlock();  // for which a thread may wait, and look asleep
      const bool is_asleep = !is_program_running();
      lock.lock();
      if (!is_news()) {
        times_asleep = is_asleep ? times_asleep + 1 : 0;
        continue;
      }
    }
    begin = processor_time();
    times_asleep = 0;
  }
}

void Scheduler::note_ask() noexcept {
  if (shaken_ != nullptr) shaken_->asks.store(true, std::memory_order_relaxed);
}

/// A host function is one operation of the schedule, too. One that waits for something goes on beside the others.
void Scheduler::wait_for_function() noexcept {
  using namespace std::chrono_literals;
  constexpr auto longest = 50ms;
  std::unique_lock lock(shaken_->mutex);
  const auto are_done = [this] { return shaken_->functions == 0; };
  if (!are_done() && shaken_->waiting_function != shaken_->function_changes &&
      !shaken_->changed.wait_for(lock, longest, are_done))
    shaken_->waiting_function = shaken_->function_changes;
  shaken_->changed.notify_all();  // the host may wait for what has run
}

/// What the order holds back may run once nothing else can, a thread of the host waits for work, and all others sleep at
/// three looks in a row. Or if nothing has happened for long: a thread may be at other work, or wait with a deadline.
void Scheduler::wait_for_work() noexcept {
  using namespace std::chrono_literals;
  Order& order = this->order();
  const char* why = nullptr;
  auto held = 0ms;
  int times_asleep = 0;
  constexpr auto longest_hold = 500ms;
  {
    std::unique_lock lock(shaken_->mutex);
    while (!others_wait(Level::low) && why == nullptr) {
      if (!std::exchange(shaken_->is_idle, true)) shaken_->changed.notify_all();
      if (!order.is_holding()) {
        shaken_->changed.wait(lock);
        continue;
      }
      const auto is_stuck = [&] { return shaken_->host_waits != nullptr && shaken_->functions == 0; };
      if (shaken_->changed.wait_for(lock, is_stuck() && held < longest_hold ? 50ms : 500ms) != std::cv_status::timeout) {
        held = 0ms;
        times_asleep = 0;
        continue;
      }
      held += 50ms;
      if (is_stuck()) {
        lock.unlock();
        const bool is_asleep = !is_program_running();
        lock.lock();
        times_asleep = is_asleep && is_stuck() ? times_asleep + 1 : 0;
        if (times_asleep >= 3) why = "stuck";
      }
      if (why == nullptr && (held >= longest_hold || !is_stuck())) why = "silent";
    }
    shaken_->is_idle = false;
  }
  if (why != nullptr) order.let_go(why);
}

void Scheduler::submit_from_outside(const std::function<void()>& function) {
  if (shaken_ == nullptr) return function();
  const std::lock_guard step(shaken_->step);
  bool is_idle = false;
  {
    const std::lock_guard lock(shaken_->mutex);
    is_idle = shaken_->is_idle;
  }
  if (is_idle) function();
}

Order& Scheduler::order() const noexcept { return shaken_->schedule->order(); }

void Scheduler::note_submission() noexcept {
  Order& order = this->order();
  std::unique_lock lock(shaken_->mutex);
  ++shaken_->submissions;
  if (!order.holds_host()) return;
  ++shaken_->order_waits;
  order.note_host_wait(true);
  shaken_->changed.notify_all();
  shaken_->changed.wait(lock, [&] {
    return !order.holds_host() || (shaken_->is_idle && shaken_->functions == 0 && !others_wait(Level::low));
  });
  order.note_host_wait(--shaken_->order_waits != 0);
}

bool Scheduler::run_all() noexcept {
  const HostWait waits(nullptr);
  std::unique_lock lock(shaken_->mutex);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  const auto is_holding = [this] { return order().is_holding(); };
  const auto is_done = [&] {
    return shaken_->is_idle && shaken_->functions == 0 && !others_wait(Level::low) && !is_holding();
  };
  while (!is_done()) {
    // What is held is let go once no thread can wake by itself, as one with a deadline does.
    if (is_holding())
      shaken_->changed.wait(lock, [&] { return !is_holding(); });
    else if (shaken_->changed.wait_until(lock, deadline) == std::cv_status::timeout)
      return is_done();
  }
  return true;
}

Scheduler::HostWait::HostWait(const Signal* signal, std::uint64_t number) noexcept : signal_(signal), number_(number) {
  Shaken* const shaken = instance().shaken_;
  if (shaken == nullptr) return;
  instance().start_schedule();  // host functions alone may be what never ends
  const std::lock_guard lock(shaken->mutex);
  next_ = std::exchange(shaken->host_waits, this);
  shaken->changed.notify_all();
}

void Scheduler::HostWait::give_up() noexcept {
  Shaken* const shaken = instance().shaken_;
  if (shaken != nullptr && instance().order().has_held()) instance().order().note("gave up");
}

Scheduler::HostWait::~HostWait() {
  Shaken* const shaken = instance().shaken_;
  if (shaken == nullptr) return;
  const std::lock_guard lock(shaken->mutex);
  HostWait** link = &shaken->host_waits;
  while (*link != this) link = &(*link)->next_;
  *link = next_;
  shaken->changed.notify_all();
}

bool Scheduler::HostWait::is_over() const noexcept { return signal_ != nullptr && signal_->has_reached(number_); }

// --- Host functions ---------------------------------------------------------------------------------------------------

void OnDemandThread::start(const char* purpose, std::function<void()> loop) {
  const std::lock_guard lock(mutex_);
  if (started_.load(std::memory_order_relaxed)) return;
  expect_own_thread();
  try {
    const support::SignalsBlocked no_signals;
    std::thread([loop = std::move(loop)] {
      note_own_thread();
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
  if (auto* const shaken = Scheduler::instance().shaken_) shaken->count_functions(1);
  std::lock_guard lock(mutex_);
  ready_.push(item);
  waiting_.fetch_add(1, std::memory_order_relaxed);
  if (asleep_) wake_.notify_one();
}

void HostThread::loop() noexcept {
  // A wake-up costs more than a short host function, so the thread spins a little before it sleeps.
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
    item->execute(Lane::host_functions);
    running_queue_.store(nullptr, std::memory_order_relaxed);
    running_.store(nullptr, std::memory_order_relaxed);
    if (auto* const shaken = Scheduler::instance().shaken_) shaken->count_functions(-1);
    looks = 0;
  }
}

}  // namespace weir::host
