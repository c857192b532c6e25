// SPDX-License-Identifier: Apache-2.0
#include "backends/host/value_waits.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <type_traits>

namespace weir::host {
namespace {

template <class T>
bool meets(const void* address, WaitCondition condition, std::uint64_t value) noexcept {
  // Sequentially consistent, like the store in `write_value`: see there.
  const T now = __atomic_load_n(static_cast<const T*>(address), __ATOMIC_SEQ_CST);
  const T wanted = static_cast<T>(value);
  switch (condition) {
    case WaitCondition::geq: return static_cast<std::make_signed_t<T>>(static_cast<T>(now - wanted)) >= 0;
    case WaitCondition::eq: return now == wanted;
    case WaitCondition::bit_and: return (now & wanted) != 0;
    case WaitCondition::bit_nor: return static_cast<T>(~(now | wanted)) != 0;
  }
  return false;
}

}  // namespace

bool is_met(const MemoryOperation& wait) noexcept {
  return wait.is_64() ? meets<std::uint64_t>(wait.address, wait.condition, wait.value)
                      : meets<std::uint32_t>(wait.address, wait.condition, wait.value);
}

void write_value(const MemoryOperation& write) {
  // Either this sees the waiter that was counted before it looked at the value, or the waiter sees the value.
  if (write.is_64()) {
    __atomic_store_n(static_cast<std::uint64_t*>(write.address), write.value, __ATOMIC_SEQ_CST);
  } else {
    __atomic_store_n(static_cast<std::uint32_t*>(write.address), static_cast<std::uint32_t>(write.value), __ATOMIC_SEQ_CST);
  }
  ValueWaits& waits = ValueWaits::instance();
  if (waits.count_.load(std::memory_order_seq_cst) != 0) waits.look();
}

ValueWaits& ValueWaits::instance() noexcept {
  static auto* const waits = new ValueWaits;
  return *waits;
}

void ValueWaits::add(ValueWaiter& waiter, const MemoryOperation& wait) {
  waiter.operation_ = wait;
  {
    std::lock_guard lock(mutex_);
    waiter.next_ = waiting_;
    waiting_ = &waiter;
    count_.fetch_add(1, std::memory_order_seq_cst);
    ++additions_;
    if (!started_) {
      std::thread([this] { poll(); }).detach();
      started_ = true;
    }
    wake_.notify_one();
  }
  // A write between the caller's look at the value and its registration went unnoticed.
  look();
}

void ValueWaits::look() noexcept {
  ValueWaiter* met = nullptr;
  {
    std::lock_guard lock(mutex_);
    for (ValueWaiter** link = &waiting_; *link != nullptr;) {
      ValueWaiter* const waiter = *link;
      if (is_met(waiter->operation_)) {
        *link = waiter->next_;
        waiter->next_ = met;
        met = waiter;
        count_.fetch_sub(1, std::memory_order_seq_cst);
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

void ValueWaits::poll() noexcept {
  using namespace std::chrono_literals;
  constexpr int eager_looks = 200;
  constexpr auto longest_pause = 200us;
  auto pause = 10us;
  int looks = 0;
  std::uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return waiting_ != nullptr; });
      if (seen != additions_) {  // a new wait is likelier to end soon than an old one
        seen = additions_;
        looks = 0;
        pause = 10us;
      }
    }
    look();
    if (++looks < eager_looks) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(pause);
      pause = std::min<std::chrono::microseconds>(pause * 2, longest_pause);
    }
  }
}

}  // namespace weir::host
