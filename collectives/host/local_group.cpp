// SPDX-License-Identifier: Apache-2.0
#include "collectives/host/local_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "collectives/host/reduce.hpp"
#include "weir/backend_support.hpp"

namespace weir::collectives {

using Kind = CollectiveCall::Kind;

namespace {

constexpr std::size_t tile_bytes = std::size_t{64}
                                   << 10U;  // fits into the second-level cache, as often as a worker has ranks

std::string describe(const CollectiveCall& call) {
  std::string text = fmt::format("{} of {} {}", to_string(call.kind), call.count, to_string(call.type));
  if (call.kind == Kind::all_reduce || call.kind == Kind::reduce || call.kind == Kind::reduce_scatter) {
    text += fmt::format(" by {}", to_string(call.reduction));
  }
  if (call.kind == Kind::broadcast || call.kind == Kind::reduce) text += fmt::format(" with root {}", call.peer);
  return text;
}

bool is_paired(const CollectiveCall& call) { return call.kind == Kind::send || call.kind == Kind::receive; }

bool is_same_operation(const CollectiveCall& a, const CollectiveCall& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == Kind::barrier) return true;
  const bool rooted = a.kind == Kind::broadcast || a.kind == Kind::reduce;
  const bool reduces = a.kind == Kind::all_reduce || a.kind == Kind::reduce || a.kind == Kind::reduce_scatter;
  return a.type == b.type && a.count == b.count && (!rooted || a.peer == b.peer) && (!reduces || a.reduction == b.reduction);
}

std::byte* at(void* address, std::size_t offset) { return static_cast<std::byte*>(address) + offset; }
const std::byte* at(const void* address, std::size_t offset) { return static_cast<const std::byte*>(address) + offset; }

void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (to != from) std::memmove(to, from, bytes);
}

}  // namespace

LocalGroup::LocalGroup(int ranks, std::chrono::milliseconds time_out)
    : ranks_(ranks), time_out_(time_out), collectives_(static_cast<std::size_t>(ranks)) {
  const auto most = std::max(1U, std::thread::hardware_concurrency());
  const support::SignalsBlocked blocked;
  for (unsigned i = 0; i < std::min(most, static_cast<unsigned>(ranks)); ++i)
    threads_.emplace_back([this, i] { work(i == 0); });
}

LocalGroup::~LocalGroup() {
  {
    const std::lock_guard lock(mutex_);
    fail_locked("the communicators were destroyed");  // so that streams that wait for a rank which never called go on
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::string LocalGroup::cause() const {
  const std::lock_guard lock(mutex_);
  return cause_;
}

// --- Meeting ----------------------------------------------------------------------------------------------------------

void LocalGroup::arrive(int rank, std::span<const CollectiveCall> calls, StepEnd end) noexcept {
  const std::lock_guard lock(mutex_);
  if (failed_.load(std::memory_order_relaxed)) {
    ends_.push_back(end);
  } else {
    const auto arrival = std::make_shared<Arrival>();
    arrival->rank = rank;
    arrival->calls.assign(calls.begin(), calls.end());
    arrival->end = end;
    arrival->open = calls.size();
    match(rank, arrival);
  }
  wake_.notify_all();
}

void LocalGroup::match(int rank, const ArrivalPtr& arrival) {
  const auto pair_of = [&](const CollectiveCall& call) -> Pair& {
    return pairs_[call.kind == Kind::send ? std::pair(rank, call.peer) : std::pair(call.peer, rank)];
  };
  // All calls wait before any is matched: a group that fails then lets go of all of them.
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
          fmt::format("rank {} sends {} {} to rank {}, which receives {} {}", both[0].arrival->rank, from.count,
                      to_string(from.type), both[1].arrival->rank, to.count, to_string(to.type));
      let_go(std::move(both));
      return fail_locked(cause);
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
      let_go(std::move(calls));
      return fail_locked(cause);
    }
    add_job(std::move(calls));
  }
}

void LocalGroup::add_job(std::vector<Waiting> calls) {
  auto job = std::make_shared<Job>();
  const CollectiveCall& call = *calls[0].call;
  const auto ranks = static_cast<std::size_t>(ranks_);
  job->part_bytes = call.kind == Kind::barrier ? 0 : call.count * size_of(call.type);
  if (call.kind == Kind::all_gather || call.kind == Kind::reduce_scatter) job->parts = ranks;
  if (call.kind == Kind::all_to_all) job->parts = ranks * ranks;
  job->tiles_of_part = std::max<std::size_t>(1, (job->part_bytes + tile_bytes - 1) / tile_bytes);
  job->tiles = job->parts * job->tiles_of_part;
  job->calls = std::move(calls);
  jobs_.push_back(std::move(job));
}

// --- Failing ----------------------------------------------------------------------------------------------------------

void LocalGroup::let_go(std::vector<Waiting>&& calls) noexcept {
  for (Waiting& waiting : calls) {
    if (--waiting.arrival->open == 0) ends_.push_back(waiting.arrival->end);
  }
}

void LocalGroup::fail_locked(const std::string& cause) noexcept {
  if (failed_.load(std::memory_order_relaxed)) return;
  cause_ = cause;
  failed_.store(true, std::memory_order_release);
  std::vector<Waiting> waiting;
  const auto take = [&](std::deque<Waiting>& queue) {
    waiting.insert(waiting.end(), std::make_move_iterator(queue.begin()), std::make_move_iterator(queue.end()));
    queue.clear();
  };
  for (auto& queue : collectives_) take(queue);
  for (auto& [ranks, pair] : pairs_) {
    take(pair.sent);
    take(pair.received);
  }
  let_go(std::move(waiting));
}

void LocalGroup::fail(const std::string& cause) noexcept {
  const std::lock_guard lock(mutex_);
  fail_locked(cause);
  wake_.notify_all();
}

// --- Working ----------------------------------------------------------------------------------------------------------

// Fails the group if a call has waited for longer than the time-out.
void LocalGroup::check_time() {
  const auto now = Clock::now();
  const auto look = [&](const std::deque<Waiting>& queue) {
    if (queue.empty() || now - queue.front().arrival->time < time_out_) return;
    std::string absent;
    for (std::size_t rank = 0; rank < collectives_.size(); ++rank) {
      if (collectives_[rank].empty()) absent += fmt::format("{}{}", absent.empty() ? "" : ", ", rank);
    }
    const CollectiveCall& call = *queue.front().call;
    fail_locked(fmt::format("{} of rank {} has waited for {} ms for rank {}", describe(call), queue.front().arrival->rank,
                            time_out_.count(), is_paired(call) ? std::to_string(call.peer) : absent));
  };
  for (const auto& queue : collectives_) look(queue);
  for (const auto& [ranks, pair] : pairs_) {
    look(pair.sent);
    look(pair.received);
  }
}

void LocalGroup::work(bool keeps_time) noexcept {
  const std::unique_ptr<std::byte[]> scratch(new std::byte[tile_bytes]);
  std::unique_lock lock(mutex_);
  const auto has_work = [this] { return stopping_ || !ends_.empty() || !jobs_.empty(); };
  const auto pause = std::min(time_out_ / 4, std::chrono::milliseconds(1000)) + std::chrono::milliseconds(1);
  auto next_look = Clock::now() + pause;
  for (;;) {
    if (!keeps_time || time_out_.count() == 0) {
      wake_.wait(lock, has_work);
    } else {
      wake_.wait_until(lock, next_look, has_work);
      if (Clock::now() >= next_look) {
        check_time();
        next_look = Clock::now() + pause;
      }
      if (!has_work()) continue;
    }
    if (!ends_.empty()) {
      std::vector<StepEnd> ends;
      ends.swap(ends_);
      lock.unlock();
      for (StepEnd& end : ends) end();
      ends.clear();
      lock.lock();
      continue;
    }
    if (jobs_.empty()) return;
    const JobPtr job = jobs_.front();
    lock.unlock();
    for (std::size_t tile = 0; (tile = job->next.fetch_add(1, std::memory_order_relaxed)) < job->tiles;) {
      run_tile(*job, tile, scratch.get());
      if (job->finished.fetch_add(1, std::memory_order_acq_rel) + 1 == job->tiles) finish(*job);
    }
    lock.lock();
    if (!jobs_.empty() && jobs_.front() == job) jobs_.pop_front();
  }
}

void LocalGroup::finish(const Job& job) noexcept {
  std::vector<Waiting> calls = job.calls;
  const std::lock_guard lock(mutex_);
  let_go(std::move(calls));
  wake_.notify_all();
}

void LocalGroup::run_tile(const Job& job, std::size_t tile, std::byte* scratch) noexcept {
  const CollectiveCall& first = *job.calls[0].call;
  if (first.kind == Kind::barrier) return;
  const std::size_t part = tile / job.tiles_of_part;
  const std::size_t begin = tile % job.tiles_of_part * tile_bytes;
  const std::size_t bytes = std::min(tile_bytes, job.part_bytes - begin);
  const std::size_t ranks = job.calls.size();
  const auto call = [&](std::size_t rank) -> const CollectiveCall& { return *job.calls[rank].call; };
  const auto root = static_cast<std::size_t>(first.peer);
  // Reduces the bytes from `offset` on of what all ranks send.
  const auto reduce = [&](std::size_t offset) {
    const std::size_t count = bytes / size_of(first.type);
    std::memcpy(scratch, at(first.send, offset), bytes);
    for (std::size_t rank = 1; rank < ranks; ++rank) {
      combine(first.type, first.reduction, scratch, at(call(rank).send, offset), count);
    }
    if (first.reduction == Reduction::avg) divide(first.type, scratch, count, static_cast<int>(ranks));
  };
  // Each tile reads all that is sent there before it writes what is received there, so that operations may be in place.
  switch (first.kind) {
    case Kind::all_reduce:
      reduce(begin);
      for (std::size_t rank = 0; rank < ranks; ++rank) std::memcpy(at(call(rank).receive, begin), scratch, bytes);
      break;
    case Kind::reduce:
      reduce(begin);
      std::memcpy(at(call(root).receive, begin), scratch, bytes);
      break;
    case Kind::reduce_scatter:
      reduce(part * job.part_bytes + begin);
      std::memcpy(at(call(part).receive, begin), scratch, bytes);
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
    case Kind::send:  // the first of the two; the other is its receive
    case Kind::receive: copy(at(call(1).receive, begin), at(call(0).send, begin), bytes); break;
    case Kind::barrier: break;
  }
}

}  // namespace weir::collectives
