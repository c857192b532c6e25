// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>

/// A lock around driver calls that begin, end or describe captures, for drivers that need it.
namespace weir::gpu {

/// For drivers that crash if one thread asks for the description of a capture (cuStreamGetCaptureInfo) while another begins
/// or ends it. Begins and ends are rare and hold the lock exclusively; questions share it. Each thread counts its questions
/// on one of several cache lines, so that threads do not contend. Not recursive: only the driver is called under it. Whether
/// a stream captures (cuStreamIsCapturing) may be asked without the lock: see docs/cuda-backend.md.
class CaptureLock {
 public:
  void lock() noexcept {
    while (is_held_alone_.exchange(true, std::memory_order_seq_cst)) std::this_thread::yield();
    for (Sharers& sharers : sharers_) {
      while (sharers.count.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
    }
  }
  void unlock() noexcept { is_held_alone_.store(false, std::memory_order_release); }

  /// Shares the lock while it lives.
  class Question {
   public:
    [[gnu::always_inline]] explicit Question(CaptureLock& lock) noexcept : count_(lock.own_count()) {
      // Either this sees that the lock is held, or the holder sees this count.
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
    // The descriptors of threads are some pages apart.
    const auto thread = static_cast<std::uintptr_t>(::pthread_self());
    return sharers_[(thread >> 12U ^ thread >> 20U) % sharers_.size()].count;
  }

  std::array<Sharers, 8> sharers_;
  alignas(64) std::atomic<bool> is_held_alone_{false};
};

/// For drivers that need no lock. The end of a capture may run the program's destructors there, so Weir must not hold one.
struct NoCaptureLock {
  void lock() noexcept {}
  void unlock() noexcept {}
  struct Question {
    explicit Question(NoCaptureLock&) noexcept {}
  };
};

}  // namespace weir::gpu
