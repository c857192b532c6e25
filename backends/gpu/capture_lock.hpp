// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

/// A lock around driver calls that begin, end or query captures, for drivers that crash without it.
namespace weir::gpu {

/// Needed by drivers that crash if one thread queries a capture (cuStreamGetCaptureInfo) while another thread begins or ends
/// it. Threads that begin or end a capture, which is rare, take the lock exclusively; queries share it. The number of
/// running queries is spread over several cache lines by thread, to avoid contention. The lock is not recursive, because its
/// holder calls only the driver. cuStreamIsCapturing needs no lock: see docs/cuda-backend.md.
class CaptureLock {
 public:
  void lock() noexcept {
    while (is_held_alone_.exchange(true, std::memory_order_seq_cst)) std::this_thread::yield();
    for (Sharers& sharers : sharers_) {
      while (sharers.count.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
    }
  }
  void unlock() noexcept { is_held_alone_.store(false, std::memory_order_release); }

  /// Scope of a query: holds a share of the lock.
  class Question {
   public:
    [[gnu::always_inline]] explicit Question(CaptureLock& lock) noexcept : count_(lock.own_count()) {
      // Either this thread sees that the lock is held exclusively, or the exclusive holder sees this count.
      while (count_.fetch_add(1, std::memory_order_seq_cst), lock.is_held_alone_.load(std::memory_order_seq_cst))
        [[unlikely]] {
          count_.fetch_sub(1, std::memory_order_release);
          while (lock.is_held_alone_.load(std::memory_order_acquire)) std::this_thread::yield();
        }
    }
    ~Question() { count_.fetch_sub(1, std::memory_order_release); }
    Question(const Question&) = delete;
    Question& operator=(const Question&) = delete;

   private:
    std::atomic<std::uint32_t>& count_;
  };

 private:
  struct alignas(64) Sharers {
    std::atomic<std::uint32_t> count{0};
  };

  std::atomic<std::uint32_t>& own_count() noexcept {
    // Thread descriptors are several pages apart, so their lower 12 bits do not distinguish threads.
    const auto thread = static_cast<std::uintptr_t>(::pthread_self());
    return sharers_[(thread >> 12U ^ thread >> 20U) % sharers_.size()].count;
  }

  std::array<Sharers, 8> sharers_;
  alignas(64) std::atomic<bool> is_held_alone_{false};
};

/// For drivers whose capture calls are safe without a lock. Such a driver may run the program's destructors when it ends a
/// capture, so no lock may be held there.
struct NoCaptureLock {
  void lock() noexcept {}
  void unlock() noexcept {}
  struct Question {
    explicit Question(NoCaptureLock&) noexcept {}
  };
};

}  // namespace weir::gpu
