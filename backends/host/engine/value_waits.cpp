// SPDX-License-Identifier: Apache-2.0
#include "backends/host/engine/value_waits.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "backends/host/engine/schedule_policy.hpp"
#include "core/base/no_destructor.hpp"
#include "weir/plugin/waits.hpp"

namespace weir::host {

std::uint64_t value_at(const MemoryOperation& wait) noexcept {
  return wait.is_64() ? __atomic_load_n(static_cast<const std::uint64_t*>(wait.address), __ATOMIC_RELAXED)
                      : __atomic_load_n(static_cast<const std::uint32_t*>(wait.address), __ATOMIC_RELAXED);
}

bool is_met(const MemoryOperation& wait) noexcept {
  // Sequentially consistent, as the store in `write_value`, which explains why.
  return support::would_end(wait, wait.is_64()
                                      ? __atomic_load_n(static_cast<const std::uint64_t*>(wait.address), __ATOMIC_SEQ_CST)
                                      : __atomic_load_n(static_cast<const std::uint32_t*>(wait.address), __ATOMIC_SEQ_CST));
}

void write_value(const MemoryOperation& write) {
  // A waiter is counted before it reads the value. So either this thread sees the count, or the waiter sees the new value.
  if (write.is_64()) {
    __atomic_store_n(static_cast<std::uint64_t*>(write.address), write.value, __ATOMIC_SEQ_CST);
  } else {
    __atomic_store_n(static_cast<std::uint32_t*>(write.address), static_cast<std::uint32_t>(write.value), __ATOMIC_SEQ_CST);
  }
  ValueWaits& waits = ValueWaits::instance();
  ValueWaits::Bucket& bucket = waits.bucket_of(write.address);
  if (bucket.count.load(std::memory_order_seq_cst) != 0) waits.look(bucket);
}

ValueWaits& ValueWaits::instance() noexcept {
  static detail::NoDestructor<ValueWaits> waits;
  return *waits;
}

ValueWaits::Bucket& ValueWaits::bucket_of(const void* address) noexcept {
  // Hashes the 64-bit word, because a write to either half may satisfy a wait for 64 bits.
  const std::uint64_t word = reinterpret_cast<std::uintptr_t>(address) / 8;
  return buckets_[word * 0x9E3779B97F4A7C15U >> 54U];
}

void ValueWaits::add(ValueWaiter& waiter, const MemoryOperation& wait) noexcept {
  waiter.operation_ = wait;
  waiter.given_ = &wait;
  Bucket& bucket = bucket_of(wait.address);
  {
    // Counted before the waiter is in the list, where other threads may find and remove it.
    std::lock_guard lock(mutex_);
    waiting_.fetch_add(1, std::memory_order_relaxed);
    ++additions_;
  }
  {
    std::lock_guard lock(bucket.mutex);
    waiter.next_ = bucket.waiting;
    bucket.waiting = &waiter;
    bucket.count.fetch_add(1, std::memory_order_seq_cst);
  }
  wake_.notify_one();
  // Checks the value again, because a write may have come between the caller's check and the registration.
  look(bucket);
}

bool ValueWaits::has(const MemoryOperation& wait) noexcept {
  Bucket& bucket = bucket_of(wait.address);
  const std::lock_guard lock(bucket.mutex);
  for (const ValueWaiter* waiter = bucket.waiting; waiter != nullptr; waiter = waiter->next_) {
    if (waiter->given_ == &wait) return true;
  }
  return false;
}

void ValueWaits::look(Bucket& bucket) noexcept {
  ValueWaiter* met = nullptr;
  {
    std::lock_guard lock(bucket.mutex);
    for (ValueWaiter** link = &bucket.waiting; *link != nullptr;) {
      ValueWaiter* const waiter = *link;
      if (is_met(waiter->operation_)) {
        *link = waiter->next_;
        waiter->next_ = met;
        met = waiter;
        bucket.count.fetch_sub(1, std::memory_order_seq_cst);
        waiting_.fetch_sub(1, std::memory_order_relaxed);
      } else {
        link = &waiter->next_;
      }
    }
  }
  while (met != nullptr) {
    ValueWaiter* const waiter = met;
    met = waiter->next_;
    waiter->met();
  }
}

void ValueWaits::look() noexcept {
  if (waiting_.load(std::memory_order_relaxed) == 0) return;
  for (Bucket& bucket : buckets_) {
    if (bucket.count.load(std::memory_order_relaxed) != 0) look(bucket);
  }
}

void ValueWaits::poll() noexcept {
  using Clock = std::chrono::steady_clock;
  using std::chrono::microseconds;
  constexpr int eager_looks = 200;
  int looks = 0;
  std::uint64_t seen = 0;
  auto since = Clock::now();
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      const auto is_new = [&] { return seen != additions_; };
      if (waiting_.load(std::memory_order_relaxed) == 0) {
        wake_.wait(lock, [this] { return waiting_.load(std::memory_order_relaxed) != 0; });
      } else if (looks >= eager_looks) {
        // Sleeps for a small fraction of the time waited so far, so that long waits use little processor time.
        const auto waited = std::chrono::duration_cast<microseconds>(Clock::now() - since);
        wake_.wait_for(lock, std::clamp(waited / 32, microseconds(10), microseconds(20000)), is_new);
      }
      if (is_new()) {  // polls at first, because a new wait is likely to end soon
        seen = additions_;
        looks = 0;
        since = Clock::now();
      }
    }
    if (SchedulePolicy* const policy = Scheduler::instance().policy()) {
      policy->submit_from_outside([this] { look(); });
    } else {
      look();
    }
    if (++looks < eager_looks) std::this_thread::yield();
  }
}

}  // namespace weir::host
