// SPDX-License-Identifier: Apache-2.0
#include "backends/host/engine/signal.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "backends/host/engine/schedule_policy.hpp"
#include "weir/plugin/support.hpp"

namespace weir::host {
namespace {

// Polls first, because many waits end soon after they begin.
constexpr int spins_before_sleep = 2000;

class SleepingThread final : public Waiter {
 public:
  void reached() noexcept override {
    // Notifies under the lock, because the waiting thread may destroy this object as soon as it sees `released_`.
    std::lock_guard lock(mutex_);
    released_ = true;
    wake_.notify_one();
  }
  void sleep() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return released_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool released_ = false;
};

}  // namespace

bool Signal::wait(Waiter& waiter, std::uint64_t number) noexcept {
  if (has_reached(number)) return false;
  std::lock_guard lock(waiters_lock_);
  const std::uint64_t first = awaited_first_.load(std::memory_order_relaxed);
  awaited_first_.store(std::min(first, number), std::memory_order_seq_cst);
  if (value_.load(std::memory_order_seq_cst) >= number) {
    awaited_first_.store(first, std::memory_order_relaxed);
    return false;
  }
  waiter.awaited_ = number;
  waiter.arrival_ = ++arrivals_;
  waiter.next_waiter_ = waiter.child_ = nullptr;
  waiters_ = merged(waiters_, &waiter);
  return true;
}

/// Merges two heaps and returns the result; `a` may be empty.
Waiter* Signal::merged(Waiter* a, Waiter* b) noexcept {
  if (a == nullptr) return b;
  if (b->is_before(*a)) std::swap(a, b);
  b->next_waiter_ = std::exchange(a->child_, b);
  return a;
}

Waiter* Signal::take_first_waiter() noexcept {
  Waiter* const first = waiters_;
  // Merges the children in pairs, then the pairs from last to first. This takes amortized logarithmic time.
  Waiter* pairs = nullptr;
  for (Waiter* child = first->child_; child != nullptr;) {
    Waiter* const a = child;
    Waiter* const b = std::exchange(a->next_waiter_, nullptr);
    child = b != nullptr ? std::exchange(b->next_waiter_, nullptr) : nullptr;
    Waiter* const pair = b != nullptr ? merged(a, b) : a;
    pair->next_waiter_ = std::exchange(pairs, pair);
  }
  waiters_ = nullptr;
  while (pairs != nullptr) {
    Waiter* const pair = std::exchange(pairs, pairs->next_waiter_);
    pair->next_waiter_ = nullptr;
    waiters_ = merged(waiters_, pair);
  }
  return first;
}

bool Signal::is_done(std::uint64_t number) const noexcept {
  if (has_reached(number)) return true;
  if (SchedulePolicy* const schedule = Scheduler::instance().policy()) schedule->asked();
  return false;
}

void Signal::release_waiters(std::uint64_t now) noexcept {
  Waiter* released = nullptr;
  {
    std::lock_guard lock(waiters_lock_);
    Waiter** last = &released;
    while (waiters_ != nullptr && waiters_->awaited_ <= now) {
      *last = take_first_waiter();
      last = &(*last)->next_waiter_;
    }
    if (released == nullptr) return;
    *last = nullptr;
    awaited_first_.store(waiters_ != nullptr ? waiters_->awaited_ : std::numeric_limits<std::uint64_t>::max(),
                         std::memory_order_seq_cst);
  }
  while (released != nullptr) {
    Waiter* const waiter = released;
    released = waiter->next_waiter_;
    waiter->reached();
  }
}

void Signal::wait_on_host(std::uint64_t number, SynchronizationPolicy policy) {
  if (has_reached(number)) return;
  const HostWait waits(this, number);
  // Under a schedule a waiting thread must sleep, because a polling thread looks like one that may still submit work.
  if (Scheduler::instance().has_policy()) policy = SynchronizationPolicy::block;
  const bool sleeps = policy == SynchronizationPolicy::automatic || policy == SynchronizationPolicy::block;
  for (int spins = policy == SynchronizationPolicy::block ? spins_before_sleep : 0; !has_reached(number); ++spins) {
    if (policy == SynchronizationPolicy::yield) {
      std::this_thread::yield();
    } else if (!sleeps || spins < spins_before_sleep) {
      spin_pause();
    } else {
      SleepingThread thread;
      if (wait(thread, number)) thread.sleep();
    }
  }
}

bool Signal::wait_on_host_until(std::uint64_t number, std::chrono::steady_clock::time_point deadline) {
  if (has_reached(number)) return true;
  HostWait waits(this, number);
  for (support::DeadlinePauses pauses(deadline); !has_reached(number);) {
    if (pauses.next()) continue;
    waits.give_up();
    return false;
  }
  return true;
}

}  // namespace weir::host
