// SPDX-License-Identifier: Apache-2.0
#include "collectives/host/local_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <list>
#include <thread>

#include "collectives/host/reduce.hpp"
#include "collectives/operation.hpp"
#include "collectives/threads.hpp"
#include "core/base/no_destructor.hpp"
#include "weir/plugin/support.hpp"
#include "weir/plugin/waits.hpp"

namespace weir::collectives {

using Kind = CollectiveCall::Kind;

namespace {

constexpr std::size_t tile_bytes = std::size_t{64} << 10U;  // the tiles of all ranks fit into the second-level cache
constexpr int tiles_of_turn = 16;

bool is_same_operation(const CollectiveCall& a, const CollectiveCall& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == Kind::barrier) return true;
  return a.type == b.type && a.count == b.count && (!has_root(a) || a.peer == b.peer) &&
         (!reduces(a) || a.reduction == b.reduction);
}

std::byte* at(void* address, std::size_t offset) { return static_cast<std::byte*>(address) + offset; }
const std::byte* at(const void* address, std::size_t offset) { return static_cast<const std::byte*>(address) + offset; }

void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (to != from) std::memmove(to, from, bytes);
}

// Returns the numbers of the ranks that have not called.
std::string absent_from(const std::vector<std::optional<CommunicatorSplit>>& calls) {
  std::string absent;
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    if (!calls[rank]) absent += fmt::format("{}{}", absent.empty() ? "" : ", ", rank);
  }
  return absent;
}

}  // namespace

// --- Threads ----------------------------------------------------------------------------------------------------------

// The worker threads of all groups. A call becomes work only when all its ranks have arrived, and work never waits for other
// work. So one thread for each core is enough for any number of communicators. The threads run until the process ends.
class LocalGroup::Workers {
 public:
  static Workers& instance() {
    static detail::NoDestructor<Workers> workers;
    return *workers;
  }

  /// Starts threads until there are `wanted`, but no more than there are cores. Throws only if there is none at all.
  void ensure_started(std::size_t wanted) {
    const std::lock_guard lock(mutex_);
    wanted = std::min<std::size_t>(wanted, std::max(1U, std::thread::hardware_concurrency()));
    try {
      for (; threads_ < wanted; ++threads_)
        start_thread("Communicator::from_devices", "for the work of collectives", [this] { work(); }).detach();
    } catch (const Error&) {
      if (threads_ == 0) throw;
    }
  }

  void add(JobPtr job) {
    const bool is_large = job->tiles > 1;
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    is_large ? wake_.notify_all() : wake_.notify_one();
  }
  void add(std::span<const StepEnd> ends) {
    if (ends.empty()) return;
    const std::lock_guard lock(mutex_);
    ends_.insert(ends_.end(), ends.begin(), ends.end());
    wake_.notify_one();
  }

 private:
  // `mutex_` must not be held when a group's lock is taken. A job may be the last owner of its group, so it is also released
  // without the lock.
  void work() noexcept {
    std::vector<StepEnd> ends;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return !ends_.empty() || !jobs_.empty(); });
      if (!ends_.empty()) {
        ends.swap(ends_);
        lock.unlock();
      } else {
        JobPtr job = jobs_.front();
        // Jobs take turns, so that a large job does not delay other communicators.
        if (job->next.load(std::memory_order_relaxed) < job->tiles)
          jobs_.splice(jobs_.end(), jobs_, jobs_.begin());
        else
          jobs_.pop_front();
        lock.unlock();
        std::size_t tile = 0;
        for (int i = 0; i < tiles_of_turn && (tile = job->next.fetch_add(1, std::memory_order_relaxed)) < job->tiles; ++i) {
          run_tile(*job, tile);
          if (job->finished.fetch_add(1, std::memory_order_acq_rel) + 1 == job->tiles) job->group->finish(*job, ends);
        }
      }
      for (StepEnd& end : ends) end();
      ends.clear();
      lock.lock();
    }
  }

  std::mutex mutex_;  // locked after a group's mutex, never before
  std::condition_variable wake_;
  std::list<JobPtr> jobs_;
  std::vector<StepEnd> ends_;  // ends of steps that need no further work
  std::size_t threads_ = 0;
};

// --- A group ----------------------------------------------------------------------------------------------------------

// The list of all groups in the process.
class LocalGroup::All {
 public:
  static All& instance() {
    static detail::NoDestructor<All> all;
    return *all;
  }
  All() { support::add_wait_description(&LocalGroup::describe_wait); }

  std::mutex mutex;  // locked before a group's mutex
  std::vector<const LocalGroup*> groups;
};

LocalGroup::LocalGroup(int ranks, std::chrono::milliseconds timeout)
    : ranks_(ranks),
      timeout_(timeout),
      recorders_(static_cast<std::size_t>(ranks)),
      collectives_(static_cast<std::size_t>(ranks)),
      has_left_(static_cast<std::size_t>(ranks)) {
  All& all = All::instance();
  const std::lock_guard lock(all.mutex);
  all.groups.push_back(this);
  Workers::instance().ensure_started(static_cast<std::size_t>(ranks));
  if (timeout_.count() != 0) Watch<LocalGroup>::instance().add(*this);
}

LocalGroup::~LocalGroup() {
  {
    All& all = All::instance();
    const std::lock_guard lock(all.mutex);
    std::erase(all.groups, this);
  }
  if (timeout_.count() != 0) Watch<LocalGroup>::instance().remove(*this);
}

template <class Group, class F>
void LocalGroup::for_each_queue(Group& group, F function) {
  for (auto& queue : group.collectives_) function(queue);
  for (auto& [ranks, pair] : group.pairs_) {
    function(pair.sent);
    function(pair.received);
  }
}

// --- Meeting ----------------------------------------------------------------------------------------------------------

void LocalGroup::arrive(int rank, std::span<const CollectiveCall> calls, StepEnd end) noexcept {
  const std::lock_guard lock(mutex_);
  if (failure_.has_failed()) return Workers::instance().add({&end, 1});
  const auto arrival = std::make_shared<Arrival>();
  arrival->rank = rank;
  arrival->calls.assign(calls.begin(), calls.end());
  arrival->end = end;
  arrival->open = calls.size();
  for (const CollectiveCall& call : calls) recorders_[static_cast<std::size_t>(rank)]->mark_started(call.number);
  match(rank, arrival);
  look_for_absent();
}

void LocalGroup::leave(int rank) noexcept {
  const std::lock_guard lock(mutex_);
  has_left_[static_cast<std::size_t>(rank)] = true;
  look_for_absent();
}

void LocalGroup::match(int rank, const ArrivalPtr& arrival) {
  const auto pair_of = [&](const CollectiveCall& call) -> Pair& {
    return pairs_[call.kind == Kind::send ? std::pair(rank, call.peer) : std::pair(call.peer, rank)];
  };
  // Queue all calls before matching any, so that a group that fails releases all of them.
  for (const CollectiveCall& call : arrival->calls) {
    if (!is_paired(call))
      collectives_[static_cast<std::size_t>(rank)].push_back({arrival, &call});
    else
      (call.kind == Kind::send ? pair_of(call).sent : pair_of(call).received).push_back({arrival, &call});
  }
  for (const CollectiveCall& call : arrival->calls) {
    if (is_paired(call)) match_pair(pair_of(call));
  }
  match_collectives();
}

void LocalGroup::match_pair(Pair& pair) {
  while (!pair.sent.empty() && !pair.received.empty()) {
    std::vector<Waiting> both = {std::move(pair.sent.front()), std::move(pair.received.front())};
    pair.sent.pop_front();
    pair.received.pop_front();
    const CollectiveCall &from = *both[0].call, &to = *both[1].call;
    if (from.count != to.count || from.type != to.type) {
      const std::string cause =
          fmt::format("rank {} sends {} {} to rank {}, but that rank receives {} {}", both[0].arrival->rank, from.count,
                      to_string(from.type), both[1].arrival->rank, to.count, to_string(to.type));
      return fail_locked(cause, both);
    }
    add_job(std::move(both));
  }
}

void LocalGroup::match_collectives() {
  while (std::none_of(collectives_.begin(), collectives_.end(), [](const auto& queue) { return queue.empty(); })) {
    std::vector<Waiting> calls;
    for (auto& queue : collectives_) {
      calls.push_back(std::move(queue.front()));
      queue.pop_front();
    }
    for (const Waiting& waiting : calls) {
      if (is_same_operation(*calls[0].call, *waiting.call)) continue;
      const std::string cause = fmt::format("the ranks call different operations: rank 0 {}, rank {} {}",
                                            describe(*calls[0].call), waiting.arrival->rank, describe(*waiting.call));
      return fail_locked(cause, calls);
    }
    add_job(std::move(calls));
  }
}

void LocalGroup::add_job(std::vector<Waiting> calls) {
  auto job = std::make_shared<Job>();
  job->group = Ptr<LocalGroup>(this);
  const CollectiveCall& call = *calls[0].call;
  const auto ranks = static_cast<std::size_t>(ranks_);
  job->part_bytes = call.kind == Kind::barrier ? 0 : call.count * size_of(call.type);
  if (call.kind == Kind::all_gather || call.kind == Kind::reduce_scatter) job->parts = ranks;
  if (call.kind == Kind::all_to_all) job->parts = ranks * ranks;
  job->tiles_of_part = std::max<std::size_t>(1, (job->part_bytes + tile_bytes - 1) / tile_bytes);
  job->tiles = job->parts * job->tiles_of_part;
  job->calls = std::move(calls);
  Workers::instance().add(std::move(job));
}

// --- Splitting --------------------------------------------------------------------------------------------------------

std::vector<LocalGroup::Part> LocalGroup::split(std::span<const CommunicatorSplit> ranks) {
  std::unique_lock lock(mutex_);
  if (!split_)
    split_ = std::make_shared<Split>(Split{std::vector<std::optional<CommunicatorSplit>>(collectives_.size()), {}});
  const std::shared_ptr<Split> split = split_;
  for (const CommunicatorSplit& rank : ranks) split->calls[static_cast<std::size_t>(rank.communicator->rank())] = rank;
  if (std::all_of(split->calls.begin(), split->calls.end(), [](const auto& call) { return call.has_value(); })) {
    split_.reset();
    lock.unlock();  // new groups are made without the lock, because they lock the list of all groups
    std::vector<Part> parts;
    try {
      parts = parts_of(*split);
    } catch (const std::exception& error) {
      fail(fmt::format("the parts of a split could not be made: {}", error.what()));
      return {};
    }
    lock.lock();
    split->parts = std::move(parts);
    split_moved_.notify_all();
  } else {
    look_for_absent();
    const auto is_over = [&] { return !split->parts.empty() || failure_.has_failed(); };
    if (timeout_.count() == 0)
      split_moved_.wait(lock, is_over);
    else if (!split_moved_.wait_for(lock, timeout_, is_over))
      fail_locked(fmt::format("split of rank {} has waited for {} ms for rank {}", ranks[0].communicator->rank(),
                              timeout_.count(), absent_from(split->calls)));
  }
  std::vector<Part> mine;
  for (const CommunicatorSplit& rank : ranks) {
    if (!split->parts.empty()) mine.push_back(split->parts[static_cast<std::size_t>(rank.communicator->rank())]);
  }
  return mine;
}

std::vector<LocalGroup::Part> LocalGroup::parts_of(const Split& split) const {
  std::map<int, std::vector<std::pair<int, int>>> members;  // by color: key and rank
  for (std::size_t rank = 0; rank < split.calls.size(); ++rank) {
    const CommunicatorSplit& call = *split.calls[rank];
    if (call.color >= 0) members[call.color].emplace_back(call.key, static_cast<int>(rank));
  }
  std::vector<Part> parts(split.calls.size());
  for (auto& [color, its] : members) {
    std::sort(its.begin(), its.end());
    const auto group = make_ptr<LocalGroup>(static_cast<int>(its.size()), timeout_);
    for (std::size_t i = 0; i < its.size(); ++i)
      parts[static_cast<std::size_t>(its[i].second)] = {group, static_cast<int>(i)};
  }
  return parts;
}

// --- Failing ----------------------------------------------------------------------------------------------------------

void LocalGroup::let_go(std::span<const Waiting> calls, std::vector<StepEnd>& ends) noexcept {
  for (const Waiting& waiting : calls) {
    if (--waiting.arrival->open == 0) ends.push_back(waiting.arrival->end);
  }
}

// Fails the group and ends all its waits. `calls`: further calls to end, which are no longer in the queues.
void LocalGroup::fail_locked(const std::string& cause, std::vector<Waiting> calls) noexcept {
  if (!failure_.set(cause)) return;
  const auto take = [&](std::deque<Waiting>& queue) {
    calls.insert(calls.end(), std::make_move_iterator(queue.begin()), std::make_move_iterator(queue.end()));
    queue.clear();
  };
  for_each_queue(*this, take);
  std::vector<StepEnd> ends;
  let_go(calls, ends);
  Workers::instance().add(ends);
  split_moved_.notify_all();
}

void LocalGroup::fail(const std::string& cause) noexcept {
  const std::lock_guard lock(mutex_);
  fail_locked(cause);
}

// Fails the group if a call waits for a rank that has left.
void LocalGroup::look_for_absent() {
  const auto look = [&](const std::deque<Waiting>& queue, int absent) {
    if (queue.empty() || !has_left_[static_cast<std::size_t>(absent)]) return;
    fail_locked(fmt::format("{} of rank {} waits for rank {}, whose communicator was destroyed",
                            describe(*queue.front().call), queue.front().arrival->rank, absent));
  };
  for (int rank = 0; rank < ranks_; ++rank) {
    const auto i = static_cast<std::size_t>(rank);
    if (split_ && has_left_[i] && !split_->calls[i])
      fail_locked(fmt::format("split waits for rank {}, whose communicator was destroyed", rank));
    if (!collectives_[i].empty()) continue;
    for (const auto& queue : collectives_) look(queue, rank);
  }
  for (const auto& [ranks, pair] : pairs_) {
    look(pair.sent, ranks.second);
    look(pair.received, ranks.first);
  }
}

// --- Working ----------------------------------------------------------------------------------------------------------

// Returns the numbers of the ranks that a call waits for.
std::string LocalGroup::absent_for(const Waiting& waiting) const {
  if (is_paired(*waiting.call)) return std::to_string(waiting.call->peer);
  std::string absent;
  for (std::size_t rank = 0; rank < collectives_.size(); ++rank) {
    if (collectives_[rank].empty()) absent += fmt::format("{}{}", absent.empty() ? "" : ", ", rank);
  }
  return absent;
}

std::string LocalGroup::describe_wait(const void* word) {
  All& all = All::instance();
  const std::lock_guard lock(all.mutex);
  for (const LocalGroup* const group : all.groups) {
    if (std::string text = group->described_wait(word); !text.empty()) return text;
  }
  return "";
}

std::string LocalGroup::described_wait(const void* word) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  const auto look = [&](const std::deque<Waiting>& queue) {
    for (const Waiting& waiting : queue) {
      if (waiting.arrival->end.word() != word || !text.empty()) continue;
      text = fmt::format("{} of rank {} waits for rank {}", describe(*waiting.call), waiting.arrival->rank,
                         absent_for(waiting));
    }
  };
  for_each_queue(*this, look);
  return text;
}

void LocalGroup::look() noexcept {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  const auto look = [&](const std::deque<Waiting>& queue) {
    if (queue.empty() || now - queue.front().arrival->time < timeout_) return;
    const Waiting& first = queue.front();
    fail_locked(fmt::format("{} of rank {} has waited for {} ms for rank {}", describe(*first.call), first.arrival->rank,
                            timeout_.count(), absent_for(first)));
  };
  for_each_queue(*this, look);
}

void LocalGroup::finish(const Job& job, std::vector<StepEnd>& ends) noexcept {
  const std::lock_guard lock(mutex_);
  for (const Waiting& waiting : job.calls)
    recorders_[static_cast<std::size_t>(waiting.arrival->rank)]->mark_done(waiting.call->number);
  let_go(job.calls, ends);
}

void LocalGroup::run_tile(const Job& job, std::size_t tile) noexcept {
  const CollectiveCall& first = *job.calls[0].call;
  if (first.kind == Kind::barrier) return;
  const std::size_t part = tile / job.tiles_of_part;
  const std::size_t begin = tile % job.tiles_of_part * tile_bytes;
  const std::size_t bytes = std::min(tile_bytes, job.part_bytes - begin);
  const std::size_t ranks = job.calls.size();
  const auto call = [&](std::size_t rank) -> const CollectiveCall& { return *job.calls[rank].call; };
  const auto root = static_cast<std::size_t>(first.peer);
  std::vector<const void*> sources;
  std::vector<void*> results;
  const auto receives = [&](std::size_t rank) { results.push_back(at(call(rank).receive, begin)); };
  // Reduces the data of all ranks from byte `offset` on.
  const auto reduce_from = [&](std::size_t offset) {
    sources.clear();
    for (std::size_t rank = 0; rank < ranks; ++rank) sources.push_back(at(call(rank).send, offset));
    reduce(first.type, first.reduction, results, sources, bytes / size_of(first.type));
  };
  // Each tile is read on all ranks before it is written, so that operations can be in place.
  switch (first.kind) {
    case Kind::all_reduce:
      for (std::size_t rank = 0; rank < ranks; ++rank) receives(rank);
      reduce_from(begin);
      break;
    case Kind::reduce:
      receives(root);
      reduce_from(begin);
      break;
    case Kind::reduce_scatter:
      receives(part);
      reduce_from(part * job.part_bytes + begin);
      break;
    case Kind::broadcast:
      for (std::size_t rank = 0; rank < ranks; ++rank)
        copy(at(call(rank).receive, begin), at(call(root).send, begin), bytes);
      break;
    case Kind::all_gather:
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        copy(at(call(rank).receive, part * job.part_bytes + begin), at(call(part).send, begin), bytes);
      }
      break;
    case Kind::all_to_all: {
      const std::size_t to = part / ranks, from = part % ranks;
      copy(at(call(to).receive, from * job.part_bytes + begin), at(call(from).send, to * job.part_bytes + begin), bytes);
      break;
    }
    case Kind::send:  // the pair is the send, then its receive
    case Kind::receive: copy(at(call(1).receive, begin), at(call(0).send, begin), bytes); break;
    case Kind::barrier: break;
  }
}

}  // namespace weir::collectives
