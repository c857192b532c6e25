// SPDX-License-Identifier: Apache-2.0
#include "collectives/mpi/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "collectives/host/reduce.hpp"
#include "core/immortal.hpp"
#include "weir/backend_support.hpp"

namespace weir::mpi {

using Kind = CollectiveCall::Kind;

// MPI lets a communicator go once its work is done; one that has failed stays.
Shared::~Shared() {
  if (failed.load() || comm == 0) return;
  int is_finalized = 0;
  library.api().Finalized(&is_finalized);
  if (is_finalized == 0) library.api().Comm_free(&comm);
}

void Shared::fail(const std::string& why) noexcept {
  const std::lock_guard lock(mutex_);
  if (failed.load(std::memory_order_relaxed)) return;
  cause_ = why;
  failed.store(true, std::memory_order_release);
  Progress::instance().note_failure();
}

std::string Shared::cause() const {
  const std::lock_guard lock(mutex_);
  return cause_;
}

Progress& Progress::instance() {
  static detail::Immortal<Progress> progress;
  return *progress;
}

void Progress::ensure_started() {
  const std::lock_guard lock(mutex_);
  if (thread_.joinable()) return;
  const support::SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

void Progress::wake() {
  const std::lock_guard lock(mutex_);
  wake_.notify_all();
}

void Progress::begin(const SharedPtr& shared, const std::vector<CollectiveCall>& calls, collectives::StepEnd end) {
  auto step = std::make_unique<Step>(Step{shared, calls, end, {}, {}, std::chrono::steady_clock::now()});
  const std::lock_guard lock(mutex_);
  arrived_.push_back(std::move(step));
  wake_.notify_all();
}

bool Progress::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  return !had_failure_.load(std::memory_order_acquire);
}

// --- A step -----------------------------------------------------------------------------------------------------------

void Progress::start(Step& step) {
  const Library& library = step.shared->library;
  const Api& api = library.api();
  const Handle comm = step.shared->comm;
  for (const CollectiveCall& c : step.calls) {
    const auto count = static_cast<int>(c.count);
    const Handle type = api.types[static_cast<std::size_t>(c.type)];
    const Handle op = library.operation(c.type, c.reduction);
    const std::size_t bytes = c.count * size_of(c.type);
    Handle request = 0;
    int result = 0;
    switch (c.kind) {
      case Kind::all_reduce:
        result = api.Iallreduce(c.send == c.receive ? api.in_place : c.send, c.receive, count, type, op, comm, &request);
        break;
      case Kind::reduce: {
        // Only the root's receive buffer counts, and only there an operation can be in place.
        const bool in_place = c.send == c.receive && c.peer == step.shared->rank;
        result = api.Ireduce(in_place ? api.in_place : c.send, c.receive, count, type, op, c.peer, comm, &request);
        break;
      }
      case Kind::reduce_scatter:
        // In place means another place to MPI, so the result is put there at the end.
        step.results.push_back({std::vector<std::byte>(bytes), c.receive});
        result = api.Ireduce_scatter_block(c.send, step.results.back().bytes.data(), count, type, op, comm, &request);
        break;
      case Kind::broadcast:
        if (c.peer == step.shared->rank && c.send != c.receive) std::memcpy(c.receive, c.send, bytes);
        result = api.Ibcast(c.receive, count, type, c.peer, comm, &request);
        break;
      case Kind::all_gather: {
        const bool in_place =
            c.send == static_cast<std::byte*>(c.receive) + static_cast<std::size_t>(step.shared->rank) * bytes;
        result = api.Iallgather(in_place ? api.in_place : c.send, count, type, c.receive, count, type, comm, &request);
        break;
      }
      case Kind::all_to_all: result = api.Ialltoall(c.send, count, type, c.receive, count, type, comm, &request); break;
      case Kind::send: result = api.Isend(c.send, count, type, c.peer, 0, comm, &request); break;
      case Kind::receive: result = api.Irecv(c.receive, count, type, c.peer, 0, comm, &request); break;
      case Kind::barrier: result = api.Ibarrier(comm, &request); break;
    }
    if (result != 0) {
      step.shared->fail(fmt::format("MPI refused {}: {}", to_string(c.kind), library.native_error(result).message));
      return;
    }
    step.requests.push_back(request);
  }
}

bool Progress::is_over(Step& step) {
  const Library& library = step.shared->library;
  if (step.shared->failed.load(std::memory_order_acquire)) return true;  // what MPI still does is left alone
  alignas(16) std::byte status[256];
  while (!step.requests.empty()) {
    int flag = 0;
    if (const int result = library.api().Test(&step.requests.back(), &flag, status); result != 0) {
      step.shared->fail("MPI reported an error: " + library.native_error(result).message);
      return true;
    }
    if (flag == 0) break;
    step.requests.pop_back();
  }
  if (step.requests.empty()) {
    for (const Result& result : step.results) std::memcpy(result.to, result.bytes.data(), result.bytes.size());
    for (const CollectiveCall& c : step.calls) {
      const bool reduces = c.kind == Kind::all_reduce || c.kind == Kind::reduce || c.kind == Kind::reduce_scatter;
      const bool receives = c.kind != Kind::reduce || c.peer == step.shared->rank;
      if (reduces && receives && c.reduction == Reduction::avg) {
        collectives::divide(c.type, c.receive, c.count, step.shared->size);
      }
    }
    return true;
  }
  const auto time_out = step.shared->time_out;
  if (time_out.count() != 0 && std::chrono::steady_clock::now() - step.since > time_out) {
    step.shared->fail(fmt::format("{} has not ended within {} ms: a peer may have died, or have called other operations",
                                  to_string(step.calls.front().kind), time_out.count()));
    return true;
  }
  return false;
}

void Progress::run() {
  std::vector<std::unique_ptr<Step>> open;
  static detail::Immortal<std::vector<std::unique_ptr<Step>>> immortal;
  auto& lost = *immortal;  // steps of which MPI still has requests: it may write to the memory that they own
  int idle = 0;
  for (;;) {
    std::vector<std::unique_ptr<Step>> fresh;
    {
      std::unique_lock lock(mutex_);
      if (open.empty()) wake_.wait(lock, [this] { return stopping_ || !arrived_.empty(); });
      if (stopping_) {
        if (!open.empty() || !arrived_.empty()) note_failure();
        return;
      }
      fresh.swap(arrived_);
    }
    for (auto& step : fresh) {
      if (!step->shared->failed.load(std::memory_order_acquire)) start(*step);
      open.push_back(std::move(step));
    }
    bool moved = !fresh.empty();
    for (std::unique_ptr<Step>& step : open) {
      if (!is_over(*step)) continue;
      step->end();
      if (!step->requests.empty()) lost.push_back(std::move(step));
      step.reset();
      moved = true;
    }
    std::erase(open, nullptr);
    // MPI works only while it is called. A step that takes long is asked for less often, for the sake of other threads.
    idle = moved ? 0 : idle + 1;
    if (idle < 200)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(std::min(100, 10 + idle / 100)));
  }
}

}  // namespace weir::mpi
