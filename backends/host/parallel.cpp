// SPDX-License-Identifier: Apache-2.0
#include "backends/host/parallel.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

#include "core/spin_lock.hpp"

namespace weir::host {
namespace {

/// A part of a loop's pieces.
struct alignas(64) Share {
  std::atomic<std::uint64_t> next{0};
  std::uint64_t end = 0;
};

/// One loop. Its pieces are divided into shares, one for each thread. A worker begins with the share that its number gives,
/// counted from the worker that started the loop, and goes on with the others: so loops over the same memory, one after the
/// other, find it in the caches of the same processors. Helpers may start late, after the loop is over and its work is gone:
/// they own the loop, too, and take a piece before they touch the work.
///
/// A small kernel takes as long as a few cache lines need from one processor to another. So the thread that starts a loop
/// writes all of it before it calls the first helper, what a helper reads lies together, and it leaves by one operation.
class alignas(64) Loop final : public Runnable {
 public:
  /// Null if there is no memory. `threads`: how many share it, the caller included.
  static Loop* make_loop(Divisible& work, std::uint64_t count, std::uint64_t piece, std::uint32_t threads, Level level,
                         Continuation& continuation) {
    Loop* const loop = take();
    if (loop == nullptr) return nullptr;
    piece = std::max(piece, count / (one_owner / 2));
    loop->work_ = &work;
    loop->count_ = count;
    loop->piece_ = piece;
    loop->level_ = level;
    loop->continuation_ = &continuation;
    loop->starter_ = Scheduler::instance().worker();
    loop->helpers_left_ = 0;
    const std::uint64_t pieces = (count + piece - 1) / piece;
    loop->divide(pieces, threads);
    // The thread that starts the loop holds a piece, so that it learns whether all is done when it leaves.
    loop->state_.store(pieces + 1 + one_owner, std::memory_order_relaxed);
    return loop;
  }

  /// `helpers`: how many threads are called at once. `more`: how many if it takes longer than a short loop.
  bool start(Pace* pace, std::uint32_t helpers, std::uint32_t more) noexcept {
    call_helpers(helpers);
    const auto begin = Pace::Clock::now();
    const std::uint64_t own = work_on([&] {
      if (more == 0 || Pace::Clock::now() - begin < Pace::short_loop) return;
      call_helpers(std::exchange(more, 0));
    });
    if (pace != nullptr && own != 0) pace->learn(Pace::Clock::now() - begin, own * piece_);
    // The last pieces of others take as long as one of this thread's. Going on here is cheaper than there.
    const std::uint64_t finished = own + 1;
    wait_a_moment([&] { return unfinished(state_.load(std::memory_order_acquire)) == finished; });
    if (state_.load(std::memory_order_acquire) == finished + one_owner) {  // no other thread knows the loop
      put_back();
      return true;
    }
    return leave(finished);
  }

  void run(Lane) noexcept override {
    if (helpers_left_ != 0 && has_pieces()) call_from_pool();
    help();
  }
  void help() noexcept override {
    const std::uint64_t finished = work_on([] {});
    Continuation& continuation = *continuation_;
    if (leave(finished)) continuation.resume(Lane::worker);
  }

 private:
  /// Waits a few microseconds at most, and only while no other work waits for a worker.
  template <class Condition>
  static void wait_a_moment(Condition&& condition) noexcept {
    constexpr int looks = 400;
    const Scheduler& scheduler = Scheduler::instance();
    if (scheduler.is_shaken()) return;  // where one operation runs at a time
    for (int i = 0; i < looks && !condition() && !scheduler.others_wait(Level::low); ++i) spin_pause();
  }

  /// Workers that look for a loop first. Others come from the pool, each called by the one before.
  void call_helpers(std::uint32_t helpers) noexcept {
    if (helpers == 0) return;
    state_.fetch_add(helpers * one_owner, std::memory_order_relaxed);
    const std::uint32_t left = helpers - Scheduler::instance().call_lookers(this, helpers);
    if (left == 0) return;
    state_.fetch_sub(left * one_owner, std::memory_order_relaxed);
    helpers_left_ = left;
    call_from_pool();
  }
  // Some are left, and the loop is in no list.
  void call_from_pool() noexcept {
    --helpers_left_;
    state_.fetch_add(one_owner, std::memory_order_relaxed);
    Scheduler::instance().submit_helper(this, level_);
  }

  void divide(std::uint64_t pieces, std::uint32_t threads) noexcept {
    share_count_ = static_cast<std::uint32_t>(std::min({std::uint64_t{threads}, pieces, std::uint64_t{most_shares}}));
    for (std::uint64_t i = 0; i < share_count_; ++i) {
      shares_[i].end = (i + 1) * pieces / share_count_;
      shares_[i].next.store(i * pieces / share_count_, std::memory_order_relaxed);
    }
  }

  bool has_pieces() const noexcept {
    return std::any_of(shares_, shares_ + share_count_,
                       [](const Share& share) { return share.next.load(std::memory_order_relaxed) < share.end; });
  }

  /// Runs pieces until none is left, and returns how many it ran. Calls `after_each` after each.
  template <class AfterEach>
  std::uint64_t work_on(AfterEach&& after_each) noexcept {
    std::uint64_t finished = 0;
    const auto threads = static_cast<std::uint32_t>(Scheduler::instance().threads());
    std::uint32_t mine = (Scheduler::instance().worker() + threads - starter_) % threads;
    for (std::uint32_t left = share_count_; left != 0; --left, ++mine) {
      Share& share = shares_[mine % share_count_];
      while (share.next.load(std::memory_order_relaxed) < share.end) {
        const std::uint64_t piece = share.next.fetch_add(1, std::memory_order_relaxed);
        if (piece >= share.end) break;
        work_->do_range(piece * piece_, std::min(count_, (piece + 1) * piece_));
        ++finished;
        after_each();
      }
    }
    return finished;
  }

  /// The last call of an owner, which has finished so many pieces. True if they were the last ones.
  bool leave(std::uint64_t finished) noexcept {
    const std::uint64_t before = state_.fetch_sub(finished + one_owner, std::memory_order_acq_rel);
    if (before / one_owner == 1) put_back();
    return finished != 0 && unfinished(before) == finished;
  }
  static std::uint64_t unfinished(std::uint64_t state) noexcept { return state % one_owner; }

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
  void put_back() noexcept {
    std::lock_guard lock(free_lock());
    next_free_ = free_list();
    free_list() = this;
  }

  Divisible* work_ = nullptr;
  std::uint64_t count_ = 0;
  std::uint64_t piece_ = 0;
  std::uint32_t share_count_ = 0;
  std::uint32_t starter_ = 0;
  std::uint32_t helpers_left_ = 0;  // to be called from the pool, each by the one before
  Level level_ = Level::normal;
  Continuation* continuation_ = nullptr;
  Loop* next_free_ = nullptr;
  // Pieces that are not finished, and owners above them.
  static constexpr std::uint64_t one_owner = std::uint64_t{1} << 48;
  alignas(64) std::atomic<std::uint64_t> state_{0};
  static constexpr std::size_t most_shares = 32;
  Share shares_[most_shares];
};

}  // namespace

bool run_parallel(Divisible& work, std::uint64_t count, std::uint64_t piece, Level level, Continuation& continuation,
                  Pace* pace) noexcept {
  const auto workers = static_cast<std::uint32_t>(Scheduler::instance().threads());
  if (count <= piece || workers == 1) {
    work.do_range(0, count);
    return true;
  }
  const std::uint32_t threads = pace == nullptr ? workers : pace->threads_for(count, workers);
  if (threads == 1) {
    piece = std::max(piece, (count + 3) / 4);  // few, since each costs as much as a small block
  } else if (pace != nullptr) {
    piece = std::max(piece, pace->least_steps());
  }
  const std::uint64_t others = std::min<std::uint64_t>((count - 1) / piece, workers - 1);
  const auto helpers = static_cast<std::uint32_t>(std::min<std::uint64_t>(others, threads - 1));
  Loop* const loop = Loop::make_loop(work, count, piece, threads == 1 ? workers : threads, level, continuation);
  if (loop != nullptr) return loop->start(pace, helpers, threads == 1 ? static_cast<std::uint32_t>(others) : 0);
  work.do_range(0, count);
  return true;
}

}  // namespace weir::host
