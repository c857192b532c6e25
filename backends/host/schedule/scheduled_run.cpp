// SPDX-License-Identifier: Apache-2.0
#include "backends/host/schedule/scheduled_run.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "backends/host/engine/own_threads.hpp"
#include "backends/host/engine/value_waits.hpp"

namespace weir::host {

std::unique_ptr<SchedulePolicy> SchedulePolicy::from_environment() {
  std::unique_ptr<Schedule> schedule = Schedule::from_environment();
  return schedule != nullptr ? std::make_unique<ScheduledRun>(std::move(schedule)) : nullptr;
}

// --- The thread that runs the work ------------------------------------------------------------------------------------

void ScheduledRun::ensure_started() {
  thread_.ensure_started("that runs the work of WEIR_SCHEDULE", [this] { run(); });
}

void ScheduledRun::run() noexcept {
  for (;;) {
    wait_for_work();
    wait_for_host();
    const std::lock_guard step(step_);
    Scheduler::instance().run_chosen();
    wait_for_function();
    ValueWaits::instance().look();
  }
}

void ScheduledRun::made_ready() {
  ensure_started();
  const std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void ScheduledRun::count_functions(int more) noexcept {
  const std::lock_guard lock(mutex_);
  functions_ += static_cast<std::uint32_t>(more);
  ++function_changes_;
  changed_.notify_all();
}

/// Waits until the host waits for work or seems to: it has submitted nothing for a while, and none of its threads is
/// running. A thread that runs may only be slow on a busy machine, so this waits for it; but after much processor time, the
/// thread is assumed to poll.
void ScheduledRun::wait_for_host() noexcept {
  using namespace std::chrono_literals;
  constexpr auto a_while = 2ms, much_time = 100ms;
  const auto processor_time = [] {  // processor time of the other threads of the process
    const auto time_of = [](clockid_t clock) {
      timespec now{};
      ::clock_gettime(clock, &now);
      return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
    };
    return time_of(CLOCK_PROCESS_CPUTIME_ID) - time_of(CLOCK_THREAD_CPUTIME_ID);
  };
  std::unique_lock lock(mutex_);
  // If a thread's wait is over, that thread continues before any work runs.
  const auto waits = [&] {
    for (const HostWait* wait = host_waits_; wait != nullptr; wait = wait->next) {
      if (wait->is_over()) return false;
    }
    return host_waits_ != nullptr || (order_waits_ != 0 && order().holds_host());
  };
  auto begin = processor_time();
  for (int times_asleep = 0; times_asleep < 2 && !waits();) {
    const std::uint64_t seen = submissions_;
    const auto is_news = [&] { return waits() || seen != submissions_; };
    if (!changed_.wait_for(lock, a_while, is_news)) {
      if (processor_time() - begin >= much_time) silent_at_ = seen;
      if (seen == silent_at_ || asks_.exchange(false, std::memory_order_relaxed)) return;
      lock.unlock();  // unlocked, because a thread that waits for this lock would look asleep
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

/// Waits until the running host function has returned. A host function is one operation of the schedule. If the function
/// waits for something, this stops waiting, and other operations run meanwhile.
void ScheduledRun::wait_for_function() noexcept {
  using namespace std::chrono_literals;
  constexpr auto longest = 50ms;
  std::unique_lock lock(mutex_);
  const auto are_done = [this] { return functions_ == 0; };
  if (!are_done() && waiting_function_ != function_changes_ && !changed_.wait_for(lock, longest, are_done))
    waiting_function_ = function_changes_;
  changed_.notify_all();  // the host may be waiting for the operation that has just run
}

/// Releases a held operation once nothing else can run. There are two cases: nothing has happened for half a second, a
/// thread of the host waits for work, and all others sleep at three checks in a row; or nothing has happened for longer. The
/// notes contain the case.
void ScheduledRun::wait_for_work() noexcept {
  using namespace std::chrono_literals;
  constexpr auto look = 50ms, least_hold = 500ms, longest_hold = 1500ms;
  ScheduleOrder& order = this->order();
  const char* why = nullptr;
  {
    std::unique_lock lock(mutex_);
    auto held = 0ms;
    int times_asleep = 0;
    while (!Scheduler::instance().others_wait(Level::low) && why == nullptr) {
      if (!std::exchange(is_idle_, true)) changed_.notify_all();
      if (!order.is_holding()) {
        changed_.wait(lock);
        continue;
      }
      if (changed_.wait_for(lock, look) != std::cv_status::timeout) {
        held = 0ms;
        times_asleep = 0;
        continue;
      }
      held += look;
      lock.unlock();
      const bool is_asleep = !is_program_running();
      lock.lock();
      times_asleep = is_asleep && host_waits_ != nullptr && functions_ == 0 ? times_asleep + 1 : 0;
      if (held >= least_hold && times_asleep >= 3) why = "stuck";
      if (why == nullptr && held >= longest_hold) why = "silent";
    }
    is_idle_ = false;
  }
  if (why != nullptr) order.let_go(why);
}

void ScheduledRun::submit_from_outside(const std::function<void()>& function) {
  const std::lock_guard step(step_);
  bool is_idle = false;
  {
    const std::lock_guard lock(mutex_);
    is_idle = is_idle_;
  }
  if (is_idle) function();
}

void ScheduledRun::submitted() noexcept {
  ScheduleOrder& order = this->order();
  std::unique_lock lock(mutex_);
  ++submissions_;
  if (!order.holds_host()) return;
  ++order_waits_;
  order.set_host_waits(true);
  changed_.notify_all();
  changed_.wait(lock, [&] {
    return !order.holds_host() || (is_idle_ && functions_ == 0 && !Scheduler::instance().others_wait(Level::low));
  });
  order.set_host_waits(--order_waits_ != 0);
}

bool ScheduledRun::run_all() noexcept {
  const HostWait waits(nullptr);
  std::unique_lock lock(mutex_);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  const auto is_holding = [this] { return order().is_holding(); };
  const auto is_done = [&] {
    return is_idle_ && functions_ == 0 && !Scheduler::instance().others_wait(Level::low) && !is_holding();
  };
  while (!is_done()) {
    // Held operations are released only once no thread can wake by itself, as a thread that waits with a deadline can.
    if (is_holding())
      changed_.wait(lock, [&] { return !is_holding(); });
    else if (changed_.wait_until(lock, deadline) == std::cv_status::timeout)
      return is_done();
  }
  return true;
}

// --- Waits of the host ------------------------------------------------------------------------------------------------

void ScheduledRun::begin_wait(HostWait& wait) {
  ensure_started();  // needed here: even a single host function may never end
  const std::lock_guard lock(mutex_);
  wait.next = std::exchange(host_waits_, &wait);
  changed_.notify_all();
}

void ScheduledRun::end_wait(HostWait& wait) noexcept {
  const std::lock_guard lock(mutex_);
  HostWait** link = &host_waits_;
  while (*link != &wait) link = &(*link)->next;
  *link = wait.next;
  changed_.notify_all();
}

void ScheduledRun::gave_up() noexcept {
  if (order().has_held()) order().write_note("gave up");
}

}  // namespace weir::host
