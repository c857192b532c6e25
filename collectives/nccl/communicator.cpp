// SPDX-License-Identifier: Apache-2.0
#include "collectives/nccl/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "collectives/threads.hpp"
#include "weir/plugin/flight_recorder.hpp"
#include "weir/plugin/support.hpp"
#include "weir/device.hpp"
#include "weir/stream.hpp"

namespace weir::nccl {

using Kind = CollectiveCall::Kind;

namespace {

constexpr bool is_good(int result) { return result == success || result == in_progress; }

}  // namespace

int settle(const Api& api, CommHandle comm, std::chrono::steady_clock::time_point limit) {
  for (int rounds = 0;; ++rounds) {
    int state = success;
    if (const int result = api.CommGetAsyncError(comm, &state); result != success) return result;
    if (state != in_progress) return state;
    if (std::chrono::steady_clock::now() > limit) return in_progress;
    if (rounds < 100)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

Communicator::Communicator(Library& library, Device& device, int rank, int ranks, CommHandle comm,
                           std::chrono::milliseconds timeout)
    : weir::CommunicatorImpl(device, rank, ranks, library.label(), timeout),
      library_(library),
      api_(library.api()),
      scratch_(device.allocate_bytes(sizeof(int))),
      comm_(comm) {
  if (api_.CommSplit == nullptr) {
    set_feature(CommunicatorFeature::split, Support::absent,
                "the library lacks ncclCommSplit, which NCCL has from 2.18 on: " + library_.label());
  }
  if (timeout.count() == 0) return;
  flight_recorder()->set_marks(false);
  collectives::Watch<Communicator>::instance().add(*this);
}

Communicator::~Communicator() {
  if (timeout().count() != 0) collectives::Watch<Communicator>::instance().remove(*this);
  if (comm_ == nullptr) return;
  int result = success;
  // A clean end waits for the other ranks. They may wait for this one, if an exception ends it early.
  const bool is_early = std::uncaught_exceptions() != 0;
  if (timeout().count() != 0 && !is_early) {  // a non-blocking communicator is destroyed in two steps
    result = api_.CommFinalize(comm_);
    if (is_good(result)) result = settle(api_, comm_, Clock::now() + timeout());
  }
  if (result == success && !is_early)
    result = api_.CommDestroy(comm_);
  else
    api_.CommAbort(comm_);
  if (!is_good(result)) {
    support::log(support::LogLevel::warn,
                 "a communicator could not be ended cleanly: " + library_.native_error(result, nullptr).message);
  }
}

// --- Operations -------------------------------------------------------------------------------------------------------

int Communicator::enqueue_one(const CollectiveCall& c) {
  const int type = data_types[static_cast<std::size_t>(c.type)], op = reductions[static_cast<std::size_t>(c.reduction)];
  void* const stream = c.native_stream;
  switch (c.kind) {
    case Kind::all_reduce: return api_.AllReduce(c.send, c.receive, c.count, type, op, comm_, stream);
    case Kind::broadcast: return api_.Broadcast(c.send, c.receive, c.count, type, c.peer, comm_, stream);
    case Kind::reduce: return api_.Reduce(c.send, c.receive, c.count, type, op, c.peer, comm_, stream);
    case Kind::all_gather: return api_.AllGather(c.send, c.receive, c.count, type, comm_, stream);
    case Kind::reduce_scatter: return api_.ReduceScatter(c.send, c.receive, c.count, type, op, comm_, stream);
    case Kind::send: return api_.Send(c.send, c.count, type, c.peer, comm_, stream);
    case Kind::receive: return api_.Recv(c.receive, c.count, type, c.peer, comm_, stream);
    case Kind::barrier: return api_.AllReduce(scratch_->data(), scratch_->data(), 1, data_types[2], 0, comm_, stream);
    case Kind::all_to_all: {
      const std::size_t bytes = c.count * size_of(c.type);
      int result = api_.GroupStart();
      for (int peer = 0; peer < size() && is_good(result); ++peer) {
        const std::size_t offset = static_cast<std::size_t>(peer) * bytes;
        result = api_.Send(static_cast<const std::byte*>(c.send) + offset, c.count, type, peer, comm_, stream);
        if (is_good(result))
          result = api_.Recv(static_cast<std::byte*>(c.receive) + offset, c.count, type, peer, comm_, stream);
      }
      const int end = api_.GroupEnd();
      return is_good(result) ? end : result;
    }
  }
  return success;
}

// `number`: of the call; 0 for a split.
void Communicator::throw_result(int result, std::string_view name, std::uint64_t number) {
  const std::string operation = "Communicator::" + std::string(name);
  if (has_failed()) throw_failure(operation.c_str());  // it was aborted during the call
  const NativeError native = library_.native_error(result, comm_);
  if (result == invalid_argument || result == invalid_usage) {
    throw Error(Errc::backend_failure, operation, describe(),
                "the library refused the call (for details set NCCL_DEBUG=WARN)", native);
  }
  if (result != in_progress)
    fail("the library reported an error (for details set NCCL_DEBUG=WARN)", native);
  else if (number != 0)
    fail_late(number);
  else
    fail(fmt::format("not all of the {} ranks have called split within {} ms", size(), timeout().count()));
  throw_failure(operation.c_str());
}

// Waits until the last call is enqueued. A non-blocking communicator may enqueue it in the background, but later work must
// come after it.
int Communicator::settle_call() {
  const auto limit = Clock::now() + timeout();
  for (;;) {
    {
      const std::lock_guard lock(calls_);
      if (comm_ == nullptr) return success;  // it has failed in the meantime; the next call reports that
      if (const int state = settle(api_, comm_, Clock::now()); state != in_progress) return state;
    }
    if (Clock::now() > limit) return in_progress;
    std::this_thread::yield();
  }
}

void Communicator::do_enqueue(std::span<const CollectiveCall> calls) {
  const auto of = [](const CollectiveCall& call) -> Communicator& { return static_cast<Communicator&>(*call.communicator); };
  const bool grouped = calls.size() > 1;
  int result = success;
  const CollectiveCall* refused = &calls.front();
  {
    // Lock all communicators of the group: the library uses them until the group's end, so none may be aborted earlier.
    std::vector<std::unique_lock<std::mutex>> locks;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const auto before = calls.first(i);
      const auto same = [&](const CollectiveCall& call) { return call.communicator == calls[i].communicator; };
      if (of(calls[i]).timeout().count() != 0 && std::none_of(before.begin(), before.end(), same)) {
        locks.emplace_back(of(calls[i]).calls_);
      }
    }
    for (const CollectiveCall& call : calls) ++of(call).open_calls_;
    if (grouped) result = api_.GroupStart();
    for (const CollectiveCall& call : calls) {
      if (!is_good(result)) break;
      Communicator& comm = of(call);
      if (comm.comm_ == nullptr) continue;  // it has failed in the meantime; the next call reports that
      refused = &call;
      result = comm.enqueue_one(call);
    }
    if (grouped) {
      const int end = api_.GroupEnd();
      if (is_good(result)) result = end;
    }
    for (const CollectiveCall& call : calls) --of(call).open_calls_;
  }
  if (result == in_progress) {
    for (const CollectiveCall& call : calls) {
      result = of(call).settle_call();
      refused = &call;
      if (result != success) break;
    }
  }
  if (result != success) of(*refused).throw_result(result, to_string(refused->kind), refused->number);
  for (const CollectiveCall& call : calls) of(call).flight_recorder()->accept(call.number);
  for (const CollectiveCall& call : calls) {
    if (of(call).timeout().count() != 0 && !call.capture) of(call).watch_call(*call.stream, call.number);
  }
}

// --- Splitting --------------------------------------------------------------------------------------------------------

std::vector<CommunicatorPtr> Communicator::do_split(std::span<const CommunicatorSplit> ranks,
                                                    std::span<const std::vector<int>> /*members*/) {
  const auto of = [](const CommunicatorSplit& rank) -> Communicator& {
    return static_cast<Communicator&>(*rank.communicator);
  };
  const bool is_blocking = timeout().count() == 0;
  // A non-blocking library writes the handles in the background, perhaps after this function has given up; then they leak.
  auto handles = std::make_unique<std::vector<CommHandle>>(ranks.size());
  Communicator* refused = this;
  int result = success;
  {
    std::vector<std::unique_lock<std::mutex>> locks;
    for (const CommunicatorSplit& rank : ranks) {
      if (!is_blocking) locks.emplace_back(of(rank).calls_);
    }
    for (const CommunicatorSplit& rank : ranks) ++of(rank).open_calls_;
    result = api_.GroupStart();
    for (std::size_t i = 0; i < ranks.size() && is_good(result); ++i) {
      refused = &of(ranks[i]);
      constexpr int no_color = -1;  // NCCL_SPLIT_NOCOLOR
      const CommHandle comm = refused->comm_;
      if (comm == nullptr) continue;  // it has failed in the meantime; reported below
      result = api_.CommSplit(comm, std::max(ranks[i].color, no_color), ranks[i].key, &(*handles)[i], nullptr);
    }
    const int end = api_.GroupEnd();
    if (is_good(result)) result = end;
    for (const CommunicatorSplit& rank : ranks) --of(rank).open_calls_;
  }
  const auto limit = Clock::now() + timeout();
  for (std::size_t i = 0; i < ranks.size() && is_good(result); ++i) {
    Communicator& rank = of(ranks[i]);
    refused = &rank;
    if (!is_blocking) result = rank.settle_call();
    if (rank.has_failed()) {
      static_cast<void>(handles.release());
      rank.throw_failure("Communicator::split");
    }
    if (result != success || ranks[i].color < 0) continue;
    const CommHandle made = std::atomic_ref((*handles)[i]).load(std::memory_order_acquire);
    result = made == nullptr ? invalid_usage : is_blocking ? success : settle(api_, made, limit);
  }
  std::vector<CommunicatorPtr> parts;
  for (std::size_t i = 0; i < ranks.size() && result == success; ++i) {
    CommHandle& made = (*handles)[i];
    CommunicatorPtr& part = parts.emplace_back();
    if (made == nullptr) continue;
    int rank = 0, size = 0;
    result = api_.CommUserRank(made, &rank);
    if (result == success) result = api_.CommCount(made, &size);
    if (result == success) part = make_ptr<Communicator>(library_, of(ranks[i]).device(), rank, size, made, timeout());
    if (result == success) made = nullptr;  // the new communicator owns it now
  }
  if (result == success) return parts;
  if (result == in_progress) {
    static_cast<void>(handles.release());
  } else {
    for (const CommHandle made : *handles) {
      if (made != nullptr) api_.CommAbort(made);
    }
  }
  refused->throw_result(result, "split", 0);
}

// --- Failing ----------------------------------------------------------------------------------------------------------

void Communicator::do_watch(Stream& stream, void*) {
  if (timeout().count() != 0) watch_call(stream, 0);
}

void Communicator::watch_call(Stream& stream, std::uint64_t number) {
  EventPtr end = stream.record();
  const std::lock_guard lock(pending_mutex_);
  pending_.push_back({std::move(end), Clock::now(), number});
}

void Communicator::do_check() {
  int state = success;
  NativeError native;
  {
    const std::lock_guard lock(calls_);
    if (comm_ == nullptr) return;
    if (const int result = api_.CommGetAsyncError(comm_, &state); result != success) state = result;
    if (is_good(state)) return;
    native = library_.native_error(state, comm_);
  }
  fail("the library reported an error", std::move(native));
}

void Communicator::look() noexcept {
  if (has_failed()) return;
  try {
    do_check();
    std::unique_lock lock(pending_mutex_);
    while (!pending_.empty() && pending_.front().end->is_complete()) {
      flight_recorder()->mark_done(pending_.front().number);
      pending_.pop_front();
      if (!pending_.empty()) pending_.front().since = std::max(pending_.front().since, Clock::now());
    }
    if (pending_.empty() || Clock::now() - pending_.front().since <= timeout()) return;
    const std::uint64_t number = pending_.front().number;
    pending_.clear();
    lock.unlock();
    fail_late(number);
  } catch (const Error& error) {
    // A capture may forbid the query, which is no failure of the communicator. A device fault is one.
    if (error.errc() == Errc::device_fault) fail(error.what(), error.native());
  } catch (const std::exception&) {  // out of memory: the next check tries again
  }
}

void Communicator::do_abort() noexcept {
  const std::lock_guard lock(calls_);
  const CommHandle comm = comm_.exchange(nullptr);
  if (comm == nullptr) return;
  // The library frees the handle. A call that is open without the lock may still use it, and usually returns at once.
  for (int i = 0; i < 200 && open_calls_ != 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (const int result = api_.CommAbort(comm); !is_good(result)) {
    support::log(support::LogLevel::warn, "a communicator could not be aborted cleanly: ", api_.GetErrorString(result));
  }
}

}  // namespace weir::nccl
