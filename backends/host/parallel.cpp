// SPDX-License-Identifier: Apache-2.0
#include "backends/host/parallel.hpp"

#include <algorithm>
#include <mutex>
#include <new>

#include "core/spin_lock.hpp"


namespace weir::host {
namespace {

/// One loop. Helpers may start late, after the loop is over and its work is gone. They count as owners of the loop, and look
/// at the next piece before anything else.
class Loop final : public Runnable, public RefCounted {
 public:
  /// Null if there is no memory.
  static Loop* make_loop(Divisible& work, std::uint64_t count, std::uint64_t piece, Level level,
                         Continuation& continuation) {
    Loop* const loop = take();
    if (loop == nullptr) return nullptr;
    loop->work_ = &work;
    loop->count_ = count;
    loop->piece_ = piece;
    loop->level_ = level;
    loop->continuation_ = &continuation;
    loop->pieces_ = (count + piece - 1) / piece;
    loop->helpers_left_.store(static_cast<std::int64_t>(std::min<std::uint64_t>(
                                  loop->pieces_, static_cast<std::uint64_t>(Scheduler::instance().threads()))) -
                                  1,
                              std::memory_order_relaxed);
    // The thread that starts the loop holds a share, so that it learns whether all is done when it leaves.
    loop->unfinished_.store(loop->pieces_ + 1, std::memory_order_relaxed);
    loop->next_.store(0, std::memory_order_release);
    return loop;
  }

  bool start() noexcept {
    retain();
    call_helper();
    const bool done = finish(work_on() + 1);
    release();
    return done;
  }

  void run(Lane lane) noexcept override {
    if (next_.load(std::memory_order_acquire) < pieces_) {
      call_helper();
      const std::uint64_t finished = work_on();
      if (finished != 0 && finish(finished)) continuation_->resume(lane);
    }
    release();
  }

 private:
  void call_helper() noexcept {
    if (helpers_left_.fetch_sub(1, std::memory_order_relaxed) > 0) {
      retain();
      Scheduler::instance().submit(this, level_);
    }
  }

  /// Runs pieces until none is left, and returns how many it ran.
  std::uint64_t work_on() noexcept {
    std::uint64_t finished = 0;
    for (;;) {
      const std::uint64_t piece = next_.fetch_add(1, std::memory_order_relaxed);
      if (piece >= pieces_) return finished;
      work_->do_range(piece * piece_, std::min(count_, (piece + 1) * piece_));
      ++finished;
    }
  }

  bool finish(std::uint64_t finished) noexcept {
    return unfinished_.fetch_sub(finished, std::memory_order_acq_rel) == finished;
  }

  // Loops are reused, so that launches do not allocate.
  static SpinLock& free_lock() noexcept {
    static SpinLock lock;
    return lock;
  }
  static Loop*& free_list() noexcept {
    static Loop* list = nullptr;
    return list;
  }
  static Loop* take() {
    {
      std::lock_guard lock(free_lock());
      if (Loop* const loop = free_list()) {
        free_list() = loop->next_free_;
        return loop;
      }
    }
    return new (std::nothrow) Loop;
  }
  void dispose() noexcept override {
    std::lock_guard lock(free_lock());
    next_free_ = free_list();
    free_list() = this;
  }

  Divisible* work_ = nullptr;
  Continuation* continuation_ = nullptr;
  std::uint64_t count_ = 0;
  std::uint64_t piece_ = 0;
  std::uint64_t pieces_ = 0;
  Level level_ = Level::normal;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> unfinished_{0};
  std::atomic<std::int64_t> helpers_left_{0};
  Loop* next_free_ = nullptr;
};

}  // namespace

bool run_parallel(Divisible& work, std::uint64_t count, std::uint64_t piece, Level level,
                  Continuation& continuation) noexcept {
  if (count <= piece || Scheduler::instance().threads() == 1) {
    work.do_range(0, count);
    return true;
  }
  Loop* const loop = Loop::make_loop(work, count, piece, level, continuation);
  if (loop != nullptr) return loop->start();
  work.do_range(0, count);
  return true;
}

}  // namespace weir::host
