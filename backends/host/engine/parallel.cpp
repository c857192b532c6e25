// SPDX-License-Identifier: Apache-2.0
#include "backends/host/engine/parallel.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "core/base/free_list.hpp"

namespace weir::host {
namespace {

using Clock = StepTime::Clock;

/// One thread's share of a loop's pieces. Other threads may take pieces from it.
struct alignas(64) Share {
  std::atomic<std::uint64_t> next{0};
  std::uint64_t end = 0;
};

/// One loop. Its pieces are divided into shares, one for each thread. The starting thread works on the first share. Each
/// helper works on the share with the same number in consecutive loops, so the share's data is still in its processor's
/// cache. A helper whose share was short leaves without looking at other shares, because reading them takes as long as a
/// short share. The starter then finishes all other shares, and wakes all workers if the loop takes longer than expected.
///
/// Helpers may arrive after the loop is over and its work is destroyed. So helpers share ownership of the loop, and access
/// the work only after they have taken a piece.
///
/// For a small kernel, moving a few cache lines between processors takes as long as the kernel itself. So the starter writes
/// the whole loop before it wakes the first helper, the data for helpers is contiguous, and a helper leaves with one atomic
/// operation.
class alignas(64) Loop final : public Runnable {
 public:
  /// Returns null if there is no memory. `threads`: how many threads share the loop, including the caller. `at_once`: how
  /// many pieces a thread takes first.
  static Loop* make_loop(Divisible& work, std::uint64_t count, std::uint64_t piece, std::uint32_t threads,
                         std::uint64_t at_once, Level level, Continuation& continuation) {
    Loop* const loop = take();
    if (loop == nullptr) return nullptr;
    loop->work_ = &work;
    loop->count_ = count;
    loop->piece_ = piece;
    loop->level_ = level;
    loop->continuation_ = &continuation;
    loop->starter_ = Scheduler::instance().worker();
    loop->helpers_left_ = 0;
    loop->is_late_.store(false, std::memory_order_relaxed);
    const std::uint64_t pieces = (count + piece - 1) / piece;
    loop->divide(pieces, threads);
    // A thread takes only a part of its share at once, so that other threads can help if the loop takes longer than before.
    const std::uint64_t own = pieces / loop->share_count_;
    loop->most_at_once_ = static_cast<std::uint16_t>(std::clamp<std::uint64_t>(own / 2, 1, 0xffff));
    loop->at_once_ = static_cast<std::uint16_t>(std::clamp<std::uint64_t>(std::min(at_once, own / 4), 1, 0xffff));
    // The starter counts as one unfinished piece. So when it leaves, it sees whether all other pieces are done.
    loop->state_.store(pieces + 1 + one_owner, std::memory_order_relaxed);
    return loop;
  }

  /// Runs the loop. `helpers`: how many threads to wake at first. `all`: how many to wake if the loop takes longer than
  /// expected.
  bool start(StepTime* step_time, std::uint32_t helpers, std::uint32_t all) noexcept {
    const bool needs_pool = wake_idle_workers(helpers) != helpers;
    if (needs_pool) call_from_pool(all);
    const Clock::time_point begin = Clock::now();
    // The expected duration: four times that of a loop for which exactly this number of threads pays off.
    const Clock::time_point expected_end = begin + 4 * (helpers + 1) * StepTime::call;
    const auto call_all_if_late = [&](Clock::time_point now) {
      if (is_late() || now < expected_end || !has_pieces()) return;
      is_late_.store(true, std::memory_order_relaxed);
      const std::uint32_t called = wake_idle_workers(all);
      if (!needs_pool && called < all) call_from_pool(all - called);
    };
    Taker taker{begin, at_once_};
    std::uint64_t own = work_on(shares_[0], taker, call_all_if_late);
    if (step_time != nullptr && own != 0) step_time->learn(taker.now - begin, own * piece_, is_late());
    // The shares are taken in order, because blocks may wait for blocks with lower numbers, as a scan with look-back does.
    for (std::uint32_t i = 1; i < share_count_; ++i) own += work_on(shares_[i], taker, call_all_if_late);
    // The last pieces of other threads take about as long as one piece of this thread. Waiting for them is cheaper than
    // letting another thread continue the stream.
    const std::uint64_t finished = own + 1;
    wait_a_moment([&] { return unfinished(state_.load(std::memory_order_acquire)) == finished; });
    if (state_.load(std::memory_order_acquire) == finished + one_owner) {  // no other thread uses the loop any longer
      put_back();
      return true;
    }
    return leave(finished);
  }

  void execute(ThreadKind) noexcept override {
    if (helpers_left_ != 0 && has_pieces()) call_from_pool(helpers_left_);
    const auto workers = static_cast<std::uint32_t>(Scheduler::instance().threads());
    work_and_leave((Scheduler::instance().worker() + workers - starter_) % workers, true);
  }
  void help(std::uint32_t number) noexcept override { work_and_leave(number, false); }

 private:
  /// The state of a thread that takes pieces.
  struct Taker {
    Clock::time_point now;  // time after its last pieces
    std::uint64_t at_once;
  };
  static constexpr std::chrono::nanoseconds short_share{3000};

  void work_and_leave(std::uint32_t number, bool takes_all) noexcept {
    const auto nothing = [](Clock::time_point) {};
    const Clock::time_point begin = Clock::now();
    Taker taker{begin, is_late() ? 1U : at_once_};
    std::uint64_t finished = work_on(shares_[number % share_count_], taker, nothing);
    if (takes_all || taker.now - begin >= short_share || is_late()) {
      for (std::uint32_t i = 1; i < share_count_; ++i) {
        finished += work_on(shares_[(number + i) % share_count_], taker, nothing);
      }
    }
    Continuation& continuation = *continuation_;
    if (leave(finished)) continuation.resume(ThreadKind::worker);
  }

  /// Runs pieces of a share until none is left. Returns the number of pieces that it ran. It reads the clock after the
  /// first, second, fourth, … batch of pieces and at the end, and calls `after_each` with the time.
  template <class AfterEach>
  std::uint64_t work_on(Share& share, Taker& taker, AfterEach&& after_each) noexcept {
    std::uint64_t finished = 0;
    int takes = 0, takes_timed = 0;
    const auto read_clock = [&] {
      const Clock::time_point before = std::exchange(taker.now, Clock::now());
      const auto took = std::max<std::int64_t>((taker.now - before).count() / (takes - takes_timed), 1);
      const auto wanted = static_cast<std::int64_t>(taker.at_once) * StepTime::take.count() / took;
      taker.at_once = static_cast<std::uint64_t>(std::clamp<std::int64_t>(wanted, 1, most_at_once_));
      takes_timed = takes;
      after_each(taker.now);
    };
    while (share.next.load(std::memory_order_relaxed) < share.end) {
      const std::uint64_t first = share.next.fetch_add(taker.at_once, std::memory_order_relaxed);
      if (first >= share.end) break;
      const std::uint64_t last = std::min(first + taker.at_once, share.end);
      work_->do_range(first * piece_, std::min(count_, last * piece_));
      finished += last - first;
      if (++takes >= 2 * takes_timed) read_clock();
    }
    if (takes != takes_timed) read_clock();
    return finished;
  }

  bool is_late() const noexcept { return is_late_.load(std::memory_order_relaxed); }

  /// Waits until `condition` holds, for a few microseconds at most, and only while no other work needs a worker.
  template <class Condition>
  static void wait_a_moment(Condition&& condition) noexcept {
    constexpr int most_spins = 400;
    const Scheduler& scheduler = Scheduler::instance();
    for (int i = 0; i < most_spins && !condition() && !scheduler.others_wait(Level::low); ++i) spin_pause();
  }

  /// Wakes up to `most` spinning workers. Returns how many of them start.
  std::uint32_t wake_idle_workers(std::uint32_t most) noexcept {
    if (most == 0) return 0;
    state_.fetch_add(most * one_owner, std::memory_order_relaxed);
    const std::uint32_t called = Scheduler::instance().wake_idle_workers(this, most);
    if (called != most) state_.fetch_sub((most - called) * one_owner, std::memory_order_relaxed);
    return called;
  }
  /// Calls workers from the pool: each worker calls the next one while pieces are left. The loop must be in no list.
  void call_from_pool(std::uint32_t helpers) noexcept {
    helpers_left_ = helpers - 1;
    state_.fetch_add(one_owner, std::memory_order_relaxed);
    Scheduler::instance().submit_helper(this, level_);
  }

  void divide(std::uint64_t pieces, std::uint32_t threads) noexcept {
    share_count_ = static_cast<std::uint16_t>(std::min({std::uint64_t{threads}, pieces, std::uint64_t{most_shares}}));
    for (std::uint64_t i = 0; i < share_count_; ++i) {
      shares_[i].end = (i + 1) * pieces / share_count_;
      shares_[i].next.store(i * pieces / share_count_, std::memory_order_relaxed);
    }
  }

  bool has_pieces() const noexcept {
    return std::any_of(shares_, shares_ + share_count_,
                       [](const Share& share) { return share.next.load(std::memory_order_relaxed) < share.end; });
  }

  /// An owner's last call. `finished`: the number of pieces that this owner has finished. Returns true if they were the
  /// loop's last ones.
  bool leave(std::uint64_t finished) noexcept {
    const std::uint64_t before = state_.fetch_sub(finished + one_owner, std::memory_order_acq_rel);
    if (before / one_owner == 1) put_back();
    return finished != 0 && unfinished(before) == finished;
  }
  static std::uint64_t unfinished(std::uint64_t state) noexcept { return state % one_owner; }

  // Loop objects are reused, so that launches do not allocate.
  friend class FreeList<Loop>;
  static FreeList<Loop>& spent_loops() noexcept {
    static constinit FreeList<Loop> loops;
    return loops;
  }
  static Loop* take() {
    Loop* const loop = spent_loops().take();
    return loop != nullptr ? loop : new (std::nothrow) Loop;
  }
  void put_back() noexcept { spent_loops().give_back(this); }

  // Helpers read these members, which fit into one cache line together with the base class.
  Divisible* work_ = nullptr;
  std::uint64_t count_ = 0;
  std::uint64_t piece_ = 0;
  Continuation* continuation_ = nullptr;
  std::uint16_t at_once_ = 1;
  std::uint16_t most_at_once_ = 1;
  std::uint16_t share_count_ = 0;
  Level level_ = Level::normal;
  std::atomic<bool> is_late_{false};  // if true, helpers take pieces from all shares

  std::uint32_t starter_ = 0;
  std::uint32_t helpers_left_ = 0;  // how many workers are still to be called from the pool; each calls the next one
  Loop* next_spent = nullptr;
  // The number of unfinished pieces in the lower 48 bits, and the number of owners in the bits above.
  static constexpr std::uint64_t one_owner = std::uint64_t{1} << 48;
  alignas(64) std::atomic<std::uint64_t> state_{0};
  static constexpr std::size_t most_shares = 32;
  Share shares_[most_shares];
};

}  // namespace

bool run_parallel(Divisible& work, std::uint64_t count, std::uint64_t piece, Level level, Continuation& continuation,
                  StepTime* step_time, std::uint32_t most_workers) noexcept {
  const Scheduler& scheduler = Scheduler::instance();
  const std::uint32_t workers = std::min(static_cast<std::uint32_t>(scheduler.threads()), most_workers);
  // Not under a schedule: it runs one operation at a time, and would choose helpers as if they were operations.
  if (count > piece && workers != 1 && !scheduler.has_policy()) {
    const StepTime::Plan plan = step_time != nullptr ? step_time->plan(count, workers) : StepTime::Plan{workers, 1};
    const std::uint64_t pieces = (count + piece - 1) / piece;
    const auto others = static_cast<std::uint32_t>(std::min<std::uint64_t>(pieces, workers) - 1);
    const std::uint32_t helpers = std::min(others, plan.threads - 1);
    Loop* const loop =
        Loop::make_loop(work, count, piece, helpers + 1, plan.steps_at_once / piece, level, continuation);
    if (loop != nullptr) return loop->start(step_time, helpers, others);
  }
  work.do_range(0, count);
  return true;
}

}  // namespace weir::host
