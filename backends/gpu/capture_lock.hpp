// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

/// What keeps questions after captures apart from their begins and ends, where a driver does not.
namespace weir::gpu {

/// For drivers that crash where one thread asks after a stream, or after a fork of it, while another begins or ends its
/// capture. Held alone by begins and ends, which are rare, and shared by questions: each thread counts its own on one of several
/// cache lines, so that threads that ask do not meet. Not recursive: nothing but the driver is called while it is held.
class CaptureLock {
 public:
  void lock() noexcept {
    while (is_held_alone_.exchange(true, std::memory_order_seq_cst)) std::this_thread::yield();
    for (Sharers& sharers : sharers_) {
      while (sharers.count.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
    }
  }
  void unlock() noexcept { is_held_alone_.store(false, std::memory_order_release); }

  /// Shares the lock for its life.
  class Question {
   public:
    explicit Question(CaptureLock& lock) noexcept : count_(lock.own_count()) {
      // Either this sees who wants it alone, or is seen.
      while (count_.fetch_add(1, std::memory_order_seq_cst), lock.is_held_alone_.load(std::memory_order_seq_cst)) [[unlikely]] {
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
    // Threads' descriptors lie some pages apart.
    const auto thread = static_cast<std::uintptr_t>(::pthread_self());
    return sharers_[(thread >> 12U ^ thread >> 20U) % sharers_.size()].count;
  }

  std::array<Sharers, 8> sharers_;
  alignas(64) std::atomic<bool> is_held_alone_{false};
};

/// For drivers that need none. An end may run destructors of the program's there, which no lock of Weir's should be held
/// around.
struct NoCaptureLock {
  void lock() noexcept {}
  void unlock() noexcept {}
  struct Question {
    explicit Question(NoCaptureLock&) noexcept {}
  };
};

}  // namespace weir::gpu
