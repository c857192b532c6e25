// SPDX-License-Identifier: Apache-2.0
#include "core/capture_hold.hpp"

#include <new>
#include <thread>
#include <utility>

#include "weir/capture.hpp"

namespace weir::detail {
namespace {

/// The holds of one thread. Only that thread writes it, which is cheaper than counting together, and on a cache line that no
/// other thread's calls want. Never freed: when its thread ends, the next new one takes it over.
struct alignas(64) ThreadHolds {
  std::atomic<std::uint32_t> count{0};
  std::atomic<bool> taken{true};
  ThreadHolds* next = nullptr;
};

std::atomic<ThreadHolds*> all_threads{nullptr};
/// Of threads that are ending, and of those that no memory was to be had for.
std::atomic<std::uint32_t> other_holds{0};

// Of a type without a destructor, so that it is there for the destructors of other thread-local objects.
struct Own {
  ThreadHolds* holds = nullptr;
  bool none_to_be_had = false;
};
constinit thread_local Own own __attribute__((tls_model("initial-exec")));

ThreadHolds* take_or_make() noexcept {
  for (ThreadHolds* holds = all_threads.load(std::memory_order_acquire); holds != nullptr; holds = holds->next) {
    const bool is_free = !holds->taken.load(std::memory_order_relaxed);
    if (is_free && !holds->taken.exchange(true, std::memory_order_acquire)) return holds;
  }
  auto* const holds = new (std::nothrow) ThreadHolds;
  if (holds == nullptr) return nullptr;
  holds->next = all_threads.load(std::memory_order_relaxed);
  // In the one order of all that decides who sees whom: who does not find these holds is seen by them.
  while (!all_threads.compare_exchange_weak(holds->next, holds, std::memory_order_seq_cst)) {
  }
  return holds;
}

[[gnu::cold, gnu::noinline]] void find_own() noexcept {
  own.holds = take_or_make();
  if (own.holds == nullptr) {
    own.none_to_be_had = true;
    return;
  }
  struct AtEnd {
    ~AtEnd() {
      own.none_to_be_had = true;
      std::exchange(own.holds, nullptr)->taken.store(false, std::memory_order_release);
    }
  };
  thread_local AtEnd at_end;
}

std::atomic<std::uint32_t>& own_count() noexcept {
  if (own.holds == nullptr && !own.none_to_be_had) [[unlikely]] find_own();
  return own.holds != nullptr ? own.holds->count : other_holds;
}

}  // namespace

// Either the call sees the capture, or the capture sees the call: both announce themselves before they look.
CaptureHold::CaptureHold() noexcept : count_(own_count()) {
  if (&count_ != &other_holds) [[likely]] {
    count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  } else {
    count_.fetch_add(1, std::memory_order_seq_cst);
  }
  none_open_ = open_captures.load(std::memory_order_seq_cst) == 0;
}

CaptureHold::~CaptureHold() {
  if (&count_ != &other_holds) [[likely]] {
    count_.store(count_.load(std::memory_order_relaxed) - 1, std::memory_order_release);
  } else {
    count_.fetch_sub(1, std::memory_order_release);
  }
}

void CaptureHold::wait_for_all() noexcept {
  const auto wait_for = [](const std::atomic<std::uint32_t>& count) {
    while (count.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
  };
  wait_for(other_holds);
  for (const ThreadHolds* holds = all_threads.load(std::memory_order_seq_cst); holds != nullptr; holds = holds->next) {
    wait_for(holds->count);
  }
}

}  // namespace weir::detail
