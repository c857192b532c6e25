// SPDX-License-Identifier: Apache-2.0
#include "backends/host/run/fibers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "backends/host/run/fiber_stacks.hpp"
#include "backends/host/run/kernel_crash.hpp"
#include "backends/host/run/launch_services.hpp"

namespace weir::host {
namespace {

constexpr std::uint32_t most_threads = 1024;
constexpr std::uint32_t widest_warp = 64;
// These limits make sure that any thread that can run will run eventually. `pick` prefers threads that just met in a warp,
// because their memory is in the cache. But those threads may loop until another thread acts. So every `few` switches the
// ready thread that has waited longest runs; and every `patience` switches spinning threads also get a turn, and waiting
// lanes may continue without lanes that are still ready.
constexpr std::uint32_t few = 64, patience = 1024;
// Lanes that wait for all lanes of their warp that may still arrive continue without those after the others have waited so
// often at calls that name lanes: the others may loop there until one of these lanes acts. If they did, lanes of the block
// wait half as long the next time.
constexpr std::uint32_t vain_waits = 1U << 20U, least_vain_waits = 1U << 14U;
// For lanes that synchronize at each volatile access. The lanes that are ahead wait about half a second for lanes that loop
// at a volatile access: that loop may wait for another block, and the lanes ahead rely on lockstep. If the wait was in vain,
// warps of the block wait half as long the next time. So a chain of lanes that wait for each other takes a second and not a
// minute.
constexpr std::uint32_t lockstep_turns = 1U << 22U, least_lockstep_turns = 1U << 8U;
// The part of a fiber's stack that must be free when a thread waits, because the functions below run on that stack.
constexpr std::ptrdiff_t own_stack = 16384;

/// A thread that has started and is waiting, or is ready to continue.
struct Thread {
  FiberContext* stack;
  Thread* next;  // the next thread in its list
  std::uint32_t turns;  // how often it has waited for a turn since it last waited for others
};

// One turn alone proves nothing: it comes at every few hundredth atomic access of any threads.
bool is_spinning(const Thread& thread) noexcept { return thread.turns > 1; }

class ThreadList {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  Thread* first() const noexcept { return first_; }
  void push(Thread& thread) noexcept {
    thread.next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = &thread;
    last_ = &thread;
  }
  Thread* pop() noexcept {
    Thread* const thread = first_;
    if (thread != nullptr) first_ = thread->next;
    return thread;
  }
  void append(ThreadList& other) noexcept {
    if (other.empty()) return;
    (first_ == nullptr ? first_ : last_->next) = other.first_;
    last_ = other.last_;
    other.first_ = nullptr;
  }

 private:
  Thread* first_ = nullptr;
  Thread* last_ = nullptr;
};

/// Lanes of one warp that wait in the same call. The call names the lanes that must arrive.
struct Meeting {
  const Wait* call;
  std::uint64_t here;
  ThreadList threads;
  Meeting* next;
};

bool same_call(const Wait& a, const Wait& b) noexcept {
  return ((a.line ^ b.line) | (a.kind ^ b.kind)) == 0 && a.combine == b.combine && a.named == b.named &&
         a.address == b.address;
}

struct Warp {
  Meeting* meetings = nullptr;
  ThreadList active;  // lanes in calls that do not name lanes; the first has waited longest
  ThreadList fenced;  // lanes at fences
  std::uint32_t at_fence = 0;
  // How many other lanes continued before that first lane, or as much time, counted in switches.
  std::uint32_t passed_over = 0;
  std::uint32_t waits = 0;  // how often lanes waited at fences and in calls that name lanes, since others wait for them
};

/// Runs a range of blocks on one worker, their threads on fibers.
class FiberBlocks final : public FiberOwner {
 public:
  FiberBlocks(const BlockRange& range, std::uint64_t first, const FiberKernel& kernel, FiberStacks& stacks);
  ~FiberBlocks();
  FiberBlocks(const FiberBlocks&) = delete;
  FiberBlocks& operator=(const FiberBlocks&) = delete;

  /// Runs blocks until the range ends or one is stuck. Returns the number after the last block that ran.
  std::uint64_t run();
  std::uint32_t wait(Wait& wait, std::uint32_t started);
  /// Whether a thread has waited.
  bool has_waited() const noexcept { return switches_ != 0; }

  bool overflowed(const void* address) const noexcept override {
    return running_ != nullptr && FiberStacks::overflows(*running_, address);
  }
  [[noreturn, gnu::noinline]] void leave_crashed() noexcept override;

 private:
  static void enter();
  void start_block();
  [[gnu::noinline]] void start_fiber(FiberContext& from);
  void run_blocks();
  [[noreturn]] void end_fiber();
  [[noreturn]] void leave();

  std::uint32_t number_of(const Thread& thread) const noexcept { return static_cast<std::uint32_t>(&thread - threads_); }
  Wait& wait_of(const Thread& thread) const noexcept { return *waits_[number_of(thread)]; }
  std::uint32_t warp_size() const noexcept { return 1U << warp_shift_; }
  std::uint32_t lane_of(std::uint32_t thread) const noexcept { return thread & (warp_size() - 1); }

  // Functions with code that rarely runs are not inlined. The frames of `wait` stay on each waiting thread's stack, so they
  // should occupy few cache lines.
  void arrive(Thread& thread, Wait& wait);
  [[gnu::noinline]] void join_barrier(const Wait& wait);
  [[gnu::noinline]] void meet(Thread& thread, Wait& wait, std::uint32_t warp);
  void pass_fence(Warp& warp) noexcept;
  Thread* pick();
  [[gnu::noinline]] Thread* pick_ready();

  void settle();
  void settle_block();
  std::uint64_t ready_warps() const noexcept;
  void settle_warp(std::uint32_t number, bool has_ready_lanes);
  void settle_active(Warp& warp, std::uint32_t first, bool in_lockstep);
  std::uint64_t waiting_lanes(std::uint32_t first) const noexcept;
  void end_meeting(Meeting** link, std::uint32_t first);
  void combine_lanes(std::uint32_t first, std::uint64_t lanes);

  [[noreturn, gnu::noinline]] void fail_mask(const Wait& wait);
  [[noreturn, gnu::noinline]] void fail_barrier();
  [[noreturn, gnu::noinline]] void fail_stuck();
  std::string elsewhere(const Wait& call) const;
  template <class Tell>
  [[noreturn]] void fail(Tell&& tell);

  const BlockRange& range_;
  const FiberKernel& kernel_;
  FiberStacks& stacks_;
  const std::uint32_t count_;
  const std::uint32_t warp_shift_;
  std::uint64_t at_;         // number of the running block
  std::uint32_t index_[3];   // blockIdx of the running block

  FiberContext worker_;              // the worker's own stack
  FiberContext* running_ = nullptr;  // the running fiber; null on the worker's own stack
  FiberContext* left_ = nullptr;     // the context that started the newest fiber
  std::uint32_t started_ = 0;        // how many threads of the block have started
  std::uint32_t waiting_ = 0;        // how many of them wait or are ready
  std::uint32_t switches_ = 0;
  std::uint32_t settled_at_ = 0;     // value of `switches_` when `settle` last checked the warps
  bool is_busy_ = false;             // whether some threads are always ready, which delays `settle`
  ThreadList hot_;                   // ready threads that just met in a warp, so their memory is in the cache
  ThreadList ready_;
  ThreadList turns_;                 // spinning threads, which let other threads run first
  ThreadList barrier_;
  std::uint32_t at_barrier_ = 0;
  bool is_mixed_ = false;            // whether those threads are in different calls
  std::uint64_t busy_warps_ = 0;     // warps with meetings or active lanes, one bit each
  std::uint32_t most_passed_over_ = lockstep_turns;
  std::uint32_t most_waits_ = vain_waits;
  Meeting* free_meetings_ = nullptr;
  std::uint32_t meetings_made_ = 0;
  bool out_of_memory_ = false;

  Warp warps_[most_threads / 32];
  // Elements are uninitialized until their thread starts.
  Thread threads_[most_threads];
  Wait* waits_[most_threads];        // by thread; null for a thread that has not started, runs, or has ended
  Wait* met_[widest_warp];
  alignas(Meeting) std::byte meetings_[most_threads * sizeof(Meeting)];
};

// The object whose fiber runs on this thread of the processor.
thread_local FiberBlocks* current = nullptr;

std::string place_of(const Wait& wait) { return fmt::format("{}:{}", wait.file, wait.line); }

// --- Running ----------------------------------------------------------------------------------------------------------

FiberBlocks::FiberBlocks(const BlockRange& range, std::uint64_t first, const FiberKernel& kernel, FiberStacks& stacks)
    : range_(range),
      kernel_(kernel),
      stacks_(stacks),
      count_(range.block[0] * range.block[1] * range.block[2]),
      warp_shift_(static_cast<std::uint32_t>(std::countr_zero(kernel.warp_size))),
      at_(first) {
  std::fill_n(waits_, count_, nullptr);
  for (std::uint32_t t = 0; t < count_; ++t) threads_[t].turns = 0;
  stacks_.give_all_back();
  current = this;
  KernelSection::current().set_fibers(this);
}

FiberBlocks::~FiberBlocks() {
  current = nullptr;
  KernelSection::current().set_fibers(nullptr);
}

std::uint64_t FiberBlocks::run() {
  adopt_thread(worker_);
  start_block();
  start_fiber(worker_);
  if (out_of_memory_) throw std::bad_alloc();
  if (auto& crash = KernelSection::current().crash()) {
    std::uint32_t thread[3];
    kernel_.thread_index(thread);
    crash->thread = (thread[2] * range_.block[1] + thread[1]) * range_.block[0] + thread[0];
    range_.running_block = at_;
    return range_.last_block;
  }
  return range_.is_over->load(std::memory_order_relaxed) ? range_.last_block : at_ + (at_ != range_.last_block ? 1 : 0);
}

void FiberBlocks::start_block() {
  index_[0] = static_cast<std::uint32_t>(at_ % range_.grid[0]);
  index_[1] = static_cast<std::uint32_t>(at_ / range_.grid[0] % range_.grid[1]);
  index_[2] = static_cast<std::uint32_t>(at_ / range_.grid[0] / range_.grid[1]);
  started_ = 0;
}

void FiberBlocks::start_fiber(FiberContext& from) {
  FiberContext& stack = stacks_.take(&FiberBlocks::enter);
  left_ = &from;
  running_ = &stack;
  switch_fiber(from, stack);
}

void FiberBlocks::enter() {
  begin_fiber(*current->left_);
  current->run_blocks();
}

// Runs threads until all have started. If none of them waits, continues with the next block.
void FiberBlocks::run_blocks() {
  for (;;) {
    started_ = kernel_.run_threads(kernel_, this, index_, started_);
    if (waiting_ != 0) end_fiber();
    if (++at_ == range_.last_block) leave();
    start_block();
  }
}

// Called when the last thread on this stack has ended while other threads wait.
void FiberBlocks::end_fiber() {
  FiberContext& ended = *running_;
  Thread* const next = pick();
  stacks_.give_back(ended);
  running_ = next->stack;
  switch_fiber(ended, *next->stack, true);
  __builtin_unreachable();
}

// Returns to `run`. The fibers' stacks are abandoned.
void FiberBlocks::leave() {
  FiberContext& left = *running_;
  running_ = nullptr;
  switch_fiber(left, worker_, true);
  __builtin_unreachable();
}

void FiberBlocks::leave_crashed() noexcept { leave(); }

// --- Waiting ----------------------------------------------------------------------------------------------------------

std::uint32_t FiberBlocks::wait(Wait& wait, std::uint32_t started) {
  // Checks the stack first. The functions below must not overflow it: an overflow there would look like one in a library
  // function, which may hold a lock, so it could not be handled.
  if (static_cast<const std::byte*>(__builtin_frame_address(0)) - static_cast<const std::byte*>(running_->bottom) <
      own_stack) [[unlikely]] {
    KernelSection::current().leave({.cause = KernelCrash::Cause::stack,
                                    .code = wait.kind == Wait::step ? wait.address : __builtin_return_address(0),
                                    .file = wait.line != 0 ? wait.file : nullptr,
                                    .line = wait.line});
  }
  started_ = started;
  Thread& me = threads_[wait.thread];
  me.stack = running_;
  waits_[wait.thread] = &wait;
  ++waiting_;
  arrive(me, wait);
  Thread* const next = pick();
  if (next == nullptr) {
    start_fiber(*me.stack);
  } else if (next != &me) {
    running_ = next->stack;
    switch_fiber(*me.stack, *next->stack);
  }
  return started_;
}

inline void FiberBlocks::arrive(Thread& thread, Wait& wait) {
  thread.turns = wait.kind == Wait::turn ? thread.turns + 1 : 0;
  if (wait.kind <= Wait::grid) [[likely]] {
    if (at_barrier_++ != 0 && (is_mixed_ || !same_call(wait_of(*barrier_.first()), wait))) join_barrier(wait);
    return barrier_.push(thread);
  }
  if (wait.kind == Wait::turn) {
    // The thread that this one waits for may have crashed, or be in a block that is stuck, and may never arrive.
    if (range_.is_over->load(std::memory_order_relaxed)) leave();
    if (static_cast<RunningLaunch*>(range_.launch)->is_stuck()) leave();
    return (is_spinning(thread) ? turns_ : ready_).push(thread);
  }
  const std::uint32_t warp = wait.thread >> warp_shift_;
  busy_warps_ |= std::uint64_t{1} << warp;
  if (wait.kind == Wait::lanes) return meet(thread, wait, warp);
  Warp& mine = warps_[warp];
  ++mine.waits;
  if (mine.active.empty() && (wait.kind != Wait::fence || mine.fenced.empty())) mine.waits = 0;
  if (wait.kind != Wait::fence) return mine.active.push(thread);
  mine.fenced.push(thread);
  if (++mine.at_fence == std::min(count_ - (warp << warp_shift_), warp_size())) pass_fence(mine);
}

void FiberBlocks::pass_fence(Warp& warp) noexcept {
  hot_.append(warp.fenced);
  warp.at_fence = 0;
}

// Called if threads are in different calls at a barrier. GPUs only count the threads that arrive at __syncthreads(), so
// warps with different work may call it at different places. The lanes of a warp must be in the same call.
void FiberBlocks::join_barrier(const Wait& wait) {
  const auto is_plain = [](const Wait& w) { return w.kind == Wait::block && w.combine == nullptr; };
  is_mixed_ = true;
  bool may_join = is_plain(wait) && is_plain(wait_of(*barrier_.first()));
  const std::uint32_t first = wait.thread >> warp_shift_ << warp_shift_;
  for (std::uint32_t t = first; t < std::min(first + warp_size(), count_); ++t) {
    if (waits_[t] != nullptr && waits_[t]->kind <= Wait::grid && !same_call(*waits_[t], wait)) may_join = false;
  }
  if (!may_join) fail_barrier();
}

void FiberBlocks::meet(Thread& thread, Wait& wait, std::uint32_t warp) {
  const std::uint64_t mine = std::uint64_t{1} << lane_of(wait.thread);
  if ((wait.named & mine) == 0) fail_mask(wait);
  ++warps_[warp].waits;
  Meeting** link = &warps_[warp].meetings;
  while (*link != nullptr && !same_call(*(*link)->call, wait)) link = &(*link)->next;
  if (*link == nullptr) {
    Meeting* meeting = free_meetings_;
    if (meeting != nullptr) {
      free_meetings_ = meeting->next;
    } else {
      meeting = reinterpret_cast<Meeting*>(meetings_) + meetings_made_++;
    }
    *link = ::new (meeting) Meeting{&wait, 0, {}, nullptr};
  }
  Meeting& meeting = **link;
  meeting.here |= mine;
  meeting.threads.push(thread);
  // If all named lanes are here, no other lane matters. If some are missing, `settle` determines whether they have ended.
  const std::uint32_t first = warp << warp_shift_;
  const std::uint64_t exist = ~std::uint64_t{0} >> (64 - std::min(count_ - first, warp_size()));
  if ((wait.named & exist & ~meeting.here) == 0) end_meeting(link, first);
}

// Returns the next thread to continue, or null if a new one is to start.
inline Thread* FiberBlocks::pick() {
  Thread* thread = nullptr;
  if (++switches_ % few != 0) [[likely]] {
    thread = hot_.pop();
    if (thread == nullptr) thread = ready_.pop();
  }
  if (thread == nullptr) {
    thread = pick_ready();
    if (thread == nullptr) return nullptr;
  }
  --waiting_;
  waits_[number_of(*thread)] = nullptr;
  if (thread->next != nullptr) __builtin_prefetch(thread->next->stack->pointer);
  return thread;
}

// Called by `pick` when `hot_` is empty or it is the turn of other threads.
Thread* FiberBlocks::pick_ready() {
  const bool for_all = switches_ % patience == 0;
  if (for_all || (hot_.empty() && ready_.empty())) {
    if (for_all) ready_.append(turns_);
    if (started_ < count_) return nullptr;
    settle();
  }
  // Spinning threads come last, and only one of them: the thread that it waits for then continues as soon as it can.
  for (ThreadList* const list : {&ready_, &hot_, &turns_}) {
    if (Thread* const thread = list->pop()) return thread;
  }
  fail_stuck();
}

// --- Continuing without lanes or threads that cannot arrive ---------------------------------------------------------------

// Called when all threads of the block have started and each has ended, waits, or is ready. Continues those that need not
// wait any longer.
void FiberBlocks::settle() {
  if (at_barrier_ != 0 && at_barrier_ == waiting_) return settle_block();
  is_busy_ = switches_ - settled_at_ >= patience;
  settled_at_ = switches_;
  const std::uint64_t ready = ready_warps();
  for (std::uint64_t left = busy_warps_; left != 0; left &= left - 1) {
    const auto number = static_cast<std::uint32_t>(std::countr_zero(left));
    settle_warp(number, (ready >> number & 1) != 0);
  }
}

// The warps in which ready lanes may still reach the call where other lanes wait. Spinning lanes do not count, because they
// may never arrive.
std::uint64_t FiberBlocks::ready_warps() const noexcept {
  std::uint64_t warps = 0;
  for (const ThreadList* const list : {&hot_, &ready_}) {
    for (const Thread* t = list->first(); t != nullptr; t = t->next) {
      if (!is_spinning(*t)) warps |= std::uint64_t{1} << (number_of(*t) >> warp_shift_);
    }
  }
  return warps;
}

void FiberBlocks::settle_block() {
  const Wait& call = wait_of(*barrier_.first());
  if (call.combine != nullptr) call.combine(waits_, count_);
  if (call.kind == Wait::grid && !range_.services->sync_grid(range_.launch, place_of(call).c_str())) leave();
  at_barrier_ = 0;
  is_mixed_ = false;
  ready_.append(barrier_);
}

void FiberBlocks::settle_warp(std::uint32_t number, bool has_ready_lanes) {
  Warp& warp = warps_[number];
  const std::uint32_t first = number << warp_shift_;
  const std::uint64_t waiting = waiting_lanes(first);
  const bool in_vain = warp.waits >= most_waits_ && !(warp.active.empty() && warp.fenced.empty());
  bool met = false;
  for (Meeting** link = &warp.meetings; *link != nullptr;) {
    if (((*link)->call->named & waiting & ~(*link)->here) == 0) {
      end_meeting(link, first);
      met = true;
    } else {
      link = &(*link)->next;
    }
  }
  if (!warp.fenced.empty() && (in_vain || !has_ready_lanes)) {
    pass_fence(warp);
    met = true;
  }
  const bool in_lockstep = !met && !has_ready_lanes;
  if (!warp.active.empty() && (in_vain || in_lockstep)) settle_active(warp, first, in_lockstep);
  if (in_vain) {
    warp.waits = 0;
    most_waits_ = std::max(most_waits_ / 2, least_vain_waits);
  }
  if (warp.meetings == nullptr && warp.active.empty() && warp.fenced.empty()) busy_warps_ &= ~(std::uint64_t{1} << number);
}

// Continues the lanes that wait in one call. `in_lockstep`: chooses the call that is furthest behind in the code, as in a
// warp in lockstep. Otherwise, or if the lanes that have waited longest were passed over too often, chooses the call of
// those lanes, because the others may wait for them.
void FiberBlocks::settle_active(Warp& warp, std::uint32_t first, bool in_lockstep) {
  if (range_.is_over->load(std::memory_order_relaxed)) leave();  // the lanes may loop until a thread acts that has crashed
  const Wait& oldest = wait_of(*warp.active.first());
  const Wait* chosen = &oldest;
  if (in_lockstep && warp.passed_over < most_passed_over_) {
    const auto order = [](const Wait& w) { return std::pair(reinterpret_cast<std::uintptr_t>(w.address), w.line); };
    for (const Thread* t = warp.active.first(); t != nullptr; t = t->next) {
      if (order(wait_of(*t)) < order(*chosen)) chosen = &wait_of(*t);
    }
  } else if (in_lockstep) {
    most_passed_over_ = std::max(most_passed_over_ / 2, least_lockstep_turns);
  }
  const bool passes_over = !same_call(*chosen, oldest);
  ThreadList others;
  std::uint64_t lanes = 0;
  while (Thread* const thread = warp.active.pop()) {
    const bool same = same_call(wait_of(*thread), *chosen);
    if (same) lanes |= std::uint64_t{1} << lane_of(number_of(*thread));
    (same ? hot_ : others).push(*thread);
  }
  warp.active = others;
  const std::uint32_t continued = is_busy_ ? patience : static_cast<std::uint32_t>(std::popcount(lanes));
  warp.passed_over = passes_over ? warp.passed_over + continued : 0;
  combine_lanes(first, lanes);
}

std::uint64_t FiberBlocks::waiting_lanes(std::uint32_t first) const noexcept {
  std::uint64_t lanes = 0;
  for (std::uint32_t t = first; t < std::min(first + warp_size(), count_); ++t) {
    if (waits_[t] != nullptr) lanes |= std::uint64_t{1} << lane_of(t);
  }
  return lanes;
}

void FiberBlocks::end_meeting(Meeting** link, std::uint32_t first) {
  Meeting& meeting = **link;
  combine_lanes(first, meeting.here);
  hot_.append(meeting.threads);
  *link = meeting.next;
  meeting.next = free_meetings_;
  free_meetings_ = &meeting;
}

void FiberBlocks::combine_lanes(std::uint32_t first, std::uint64_t lanes) {
  const Wait& any = *waits_[first + static_cast<std::uint32_t>(std::countr_zero(lanes))];
  if (any.combine == nullptr) return;
  for (std::uint32_t lane = 0; lane < warp_size(); ++lane) {
    met_[lane] = (lanes >> lane & 1) != 0 ? waits_[first + lane] : nullptr;
  }
  any.combine(met_, warp_size());
}

// --- Failures ---------------------------------------------------------------------------------------------------------

// Reports a fault of the block and leaves it. `tell` writes the report.
template <class Tell>
void FiberBlocks::fail(Tell&& tell) {
  try {
    tell([&](KernelFault fault) {
      std::copy(std::begin(index_), std::end(index_), fault.block);
      range_.services->fail(range_.launch, fault);
    });
  } catch (const std::bad_alloc&) {
    out_of_memory_ = true;
  }
  leave();
}

// Describes where a thread waits that has not reached `call`.
std::string FiberBlocks::elsewhere(const Wait& call) const {
  for (std::uint32_t t = 0; t < count_; ++t) {
    const Wait* const wait = waits_[t];
    if (wait != nullptr && !same_call(*wait, call)) return fmt::format("{} at {}", wait->function, place_of(*wait));
  }
  return {};
}

void FiberBlocks::fail_mask(const Wait& wait) {
  fail([&](auto&& report) {
    const std::string place = place_of(wait);
    report({place.c_str(), wait.function, {}, wait.thread, 0, 0, 0});
  });
}

void FiberBlocks::fail_barrier() {
  fail([&](auto&& report) {
    std::uint32_t here = 0;
    for (const Thread* t = barrier_.first(); t != nullptr; t = t->next) ++here;
    const Wait& call = wait_of(*barrier_.first());
    const std::string place = place_of(call), others = elsewhere(call);
    report({place.c_str(), call.function, {}, 0, here, waiting_ + (count_ - started_), 0, others.c_str()});
  });
}

// All threads wait and none can continue: a warp function lacks lanes, or a barrier lacks threads.
void FiberBlocks::fail_stuck() {
  for (std::uint64_t left = busy_warps_; left != 0; left &= left - 1) {
    const auto number = static_cast<std::uint32_t>(std::countr_zero(left));
    const Warp& warp = warps_[number];
    if (warp.meetings == nullptr) continue;
    fail([&](auto&& report) {
      const Meeting& meeting = *warp.meetings;
      const std::string place = place_of(*meeting.call), others = elsewhere(*meeting.call);
      report({place.c_str(), meeting.call->function, {}, meeting.call->thread, 0, 0,
              meeting.call->named & waiting_lanes(number << warp_shift_) & ~meeting.here, others.c_str()});
    });
  }
  fail_barrier();
}

}  // namespace

void run_fibers(const BlockRange& range, const FiberKernel& kernel) {
  FiberStackPool& pool = FiberStackPool::instance();
  struct Borrowed {
    FiberStackPool& pool;
    std::unique_ptr<FiberStacks> stacks;
    ~Borrowed() { pool.give_back(std::move(stacks)); }
  } borrowed{pool, pool.borrow(range.block[0] * range.block[1] * range.block[2], !range.cooperative)};
  bool has_waited = false;
  for (std::uint64_t next = range.first_block; next != range.last_block;) {
    FiberBlocks blocks(range, next, kernel, *borrowed.stacks);
    next = blocks.run();
    has_waited |= blocks.has_waited();
  }
  if (has_waited) static_cast<RunningLaunch*>(range.launch)->has_waited_on_fibers();
}

std::uint32_t wait_on_fiber(void* fibers, Wait& wait, std::uint32_t started) {
  return static_cast<FiberBlocks*>(fibers)->wait(wait, started);
}

}  // namespace weir::host
