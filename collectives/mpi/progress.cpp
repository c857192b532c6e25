// SPDX-License-Identifier: Apache-2.0
#include "collectives/mpi/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "collectives/host/reduce.hpp"
#include "collectives/operation.hpp"
#include "collectives/threads.hpp"
#include "core/base/no_destructor.hpp"
#include "weir/plugin/support.hpp"

namespace weir::mpi {

using collectives::reduces;
using Kind = CollectiveCall::Kind;

// Frees the MPI communicator, because all its work is done. A communicator that has failed is never freed.
Shared::~Shared() {
  if (failure.has_failed() || comm == 0) return;
  int is_finalized = 0;
  library.api().Finalized(&is_finalized);
  if (is_finalized == 0) library.api().Comm_free(&comm);
}

void Shared::fail(const std::string& why, std::uint64_t late) noexcept {
  if (failure.set(why, late)) Progress::instance().set_had_failure();
}

Progress& Progress::instance() {
  static detail::NoDestructor<Progress> progress;
  return *progress;
}

void Progress::ensure_started() {
  const std::lock_guard lock(mutex_);
  if (thread_.joinable()) return;
  thread_ = collectives::start_thread("Communicator::from_mpi", "that calls MPI", [this] { run(); });
}

void Progress::begin(const SharedPtr& shared, const std::vector<CollectiveCall>& calls, collectives::StepEnd end) {
  auto step = std::make_unique<Step>(Step{shared, calls, end, std::chrono::steady_clock::now(), {}, {}});
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

namespace {

constexpr std::size_t large_bytes = std::size_t{64} << 10U;

bool is_16_bit_float(ElementType type) { return type == ElementType::float16 || type == ElementType::bfloat16; }

// Whether to use `meet` for the call. The result must be the same on all ranks.
bool is_large(const CollectiveCall& c, std::size_t ranks) {
  const bool has_parts = c.kind == Kind::all_gather || c.kind == Kind::reduce_scatter || c.kind == Kind::all_to_all;
  return c.kind != Kind::barrier && c.count * size_of(c.type) * (has_parts ? ranks : 1) > large_bytes;
}

}  // namespace

// For large operations, ranks first exchange empty messages that show that all ranks have arrived. MPI itself reports only
// the completion of an operation. Before all have arrived, MPI is polled rarely; afterwards often, because MPI moves data
// only during calls.
int Progress::meet(Step& step, const CollectiveCall& c) {
  const Api& api = step.shared->library.api();
  const Handle comm = step.shared->comm, type = api.types[0];
  constexpr int tag = 1;  // messages with data have tag 0
  Handle first = 0, second = 0;
  step.is_large = true;
  if (c.kind != Kind::send && c.kind != Kind::receive) {
    if (const int result = api.Ibarrier(comm, &first); result != 0) return result;
    step.requests.push_back({first, nullptr});
    ++step.absent;
    return 0;
  }
  if (const int result = api.Irecv(nullptr, 0, type, c.peer, tag, comm, &first); result != 0) return result;
  step.requests.push_back({first, nullptr});
  ++step.absent;
  if (const int result = api.Isend(nullptr, 0, type, c.peer, tag, comm, &second); result != 0) return result;
  step.requests.push_back({second, nullptr});
  ++step.absent;
  return 0;
}

void Progress::start(Step& step) {
  const Library& library = step.shared->library;
  const Api& api = library.api();
  const Handle comm = step.shared->comm;
  const auto ranks = static_cast<std::size_t>(step.shared->size);
  step.results.reserve(step.calls.size());
  for (const CollectiveCall& c : step.calls) step.shared->recorder->mark_started(c.number);
  for (const CollectiveCall& c : step.calls) {
    const auto count = static_cast<int>(c.count);
    const std::size_t bytes = c.count * size_of(c.type);
    ElementType element = c.type;
    const void* send = c.send;
    void* receive = c.receive;
    if (reduces(c) && is_16_bit_float(c.type)) {
      // Reduce 16-bit numbers as floats, and round once at the end.
      const std::size_t sent = c.count * (c.kind == Kind::reduce_scatter ? ranks : 1);
      std::vector<float>& floats = step.results.emplace_back(Result{&c, {}, std::vector<float>(sent)}).floats;
      collectives::widen(c.type, floats.data(), c.send, sent);
      element = ElementType::float32;
      send = receive = floats.data();
    } else if (c.kind == Kind::reduce_scatter) {
      // MPI needs a separate receive buffer here for an operation in place, so the result is copied at the end.
      receive = step.results.emplace_back(Result{&c, std::vector<std::byte>(bytes), {}}).bytes.data();
    }
    const Handle type = api.types[static_cast<std::size_t>(element)];
    const Handle op = library.operation(element, c.reduction);
    const void* const reduced = send == receive ? api.in_place : send;
    Handle request = 0;
    int result = is_large(c, ranks) ? meet(step, c) : 0;
    if (result == 0) {
      switch (c.kind) {
        case Kind::all_reduce: result = api.Iallreduce(reduced, receive, count, type, op, comm, &request); break;
        case Kind::reduce: {
          // The receive buffer is used only on the root, so only the root can be in place.
          const bool is_root = c.peer == step.shared->rank;
          result = api.Ireduce(is_root ? reduced : send, receive, count, type, op, c.peer, comm, &request);
          break;
        }
        case Kind::reduce_scatter:
          result = api.Ireduce_scatter_block(reduced, receive, count, type, op, comm, &request);
          break;
        case Kind::broadcast:
          if (c.peer == step.shared->rank && send != receive) std::memcpy(receive, send, bytes);
          result = api.Ibcast(receive, count, type, c.peer, comm, &request);
          break;
        case Kind::all_gather: {
          const bool in_place =
              send == static_cast<std::byte*>(receive) + static_cast<std::size_t>(step.shared->rank) * bytes;
          result = api.Iallgather(in_place ? api.in_place : send, count, type, receive, count, type, comm, &request);
          break;
        }
        case Kind::all_to_all: result = api.Ialltoall(send, count, type, receive, count, type, comm, &request); break;
        case Kind::send: result = api.Isend(send, count, type, c.peer, 0, comm, &request); break;
        case Kind::receive: result = api.Irecv(receive, count, type, c.peer, 0, comm, &request); break;
        case Kind::barrier: result = api.Ibarrier(comm, &request); break;
      }
    }
    if (result != 0) {
      step.shared->fail(fmt::format("MPI refused {}: {}", to_string(c.kind), library.native_error(result).message));
      return;
    }
    step.requests.push_back({request, &c});
  }
}

// Returns whether MPI has finished the request. Returns false if the communicator fails because of it.
bool Progress::is_done(Step& step, Request& request) {
  Shared& shared = *step.shared;
  const Api& api = shared.library.api();
  alignas(16) std::byte status[256];
  int flag = 0;
  if (const int result = api.Test(&request.handle, &flag, status); result != 0) {
    shared.fail("MPI reported an error: " + shared.library.native_error(result).message);
    return false;
  }
  if (flag == 0) return false;
  if (request.call == nullptr) {
    --step.absent;
    return true;
  }
  const CollectiveCall& c = *request.call;
  if (c.kind != Kind::receive) return true;
  int received = 0;  // negative if the message is not a whole number of elements
  api.Get_count(status, api.types[static_cast<std::size_t>(c.type)], &received);
  if (received == static_cast<int>(c.count)) return true;
  shared.fail(fmt::format("rank {} sends {} {} to rank {}, but that rank receives {}", c.peer,
                          received < 0 ? "another type than" : std::to_string(received), to_string(c.type), shared.rank,
                          c.count));
  return false;
}

bool Progress::is_over(Step& step) {
  const collectives::EngineFailure& failure = step.shared->failure;
  std::erase_if(step.requests, [&](Request& request) { return !failure.has_failed() && is_done(step, request); });
  if (failure.has_failed()) return true;  // the rest of MPI's work is abandoned
  if (step.requests.empty()) {
    const auto receives = [&](const CollectiveCall& c) { return c.kind != Kind::reduce || c.peer == step.shared->rank; };
    const int ranks = step.shared->size;
    for (const Result& result : step.results) {
      const CollectiveCall& c = *result.call;
      if (result.floats.empty())
        std::memcpy(c.receive, result.bytes.data(), result.bytes.size());
      else if (receives(c))
        collectives::narrow(c.type, c.receive, result.floats.data(), c.count, c.reduction == Reduction::avg ? ranks : 1);
    }
    for (const CollectiveCall& c : step.calls) {
      if (reduces(c) && c.reduction == Reduction::avg && receives(c) && !is_16_bit_float(c.type))
        collectives::divide(c.type, c.receive, c.count, ranks);
      step.shared->recorder->mark_done(c.number);
    }
    return true;
  }
  const auto timeout = step.shared->timeout;
  if (timeout.count() != 0 && std::chrono::steady_clock::now() - step.since > timeout) {
    const CollectiveCall* const open = step.requests.front().call;  // null for an empty message
    step.shared->fail("an operation has not ended within the timeout",
                      (open != nullptr ? *open : step.calls.front()).number);
    return true;
  }
  return false;
}

void Progress::run() {
  using Clock = std::chrono::steady_clock;
  using std::chrono::microseconds;
  std::vector<std::unique_ptr<Step>> open;
  static detail::NoDestructor<std::vector<std::unique_ptr<Step>>> immortal;
  auto& lost = *immortal;  // steps with open requests, kept because MPI may still write to their memory
  // MPI makes progress only during calls. The thread polls without pauses at first, then with increasing pauses, so that
  // long waits cost little. The delay is a small part of the time waited.
  constexpr int eager_looks = 200;
  int looks = 0;
  auto moved = Clock::now();
  for (;;) {
    std::vector<std::unique_ptr<Step>> fresh;
    {
      std::unique_lock lock(mutex_);
      const auto has_news = [this] { return stopping_ || !arrived_.empty(); };
      if (open.empty()) {
        wake_.wait(lock, has_news);
      } else if (looks >= eager_looks) {
        const bool data_move =
            std::any_of(open.begin(), open.end(), [](const auto& step) { return step->is_large && step->absent == 0; });
        const auto waited = std::chrono::duration_cast<microseconds>(Clock::now() - moved);
        wake_.wait_for(lock, std::clamp(waited / 32, microseconds(10), microseconds(data_move ? 100 : 20000)), has_news);
      }
      if (stopping_) {
        if (!open.empty() || !arrived_.empty()) set_had_failure();
        return;
      }
      fresh.swap(arrived_);
    }
    for (auto& step : fresh) {
      if (!step->shared->failure.has_failed()) {
        try {
          start(*step);
        } catch (const std::bad_alloc&) {
          step->shared->fail("host memory is exhausted: no memory for " + std::string(to_string(step->calls.front().kind)));
        }
      }
      open.push_back(std::move(step));
    }
    bool has_moved = !fresh.empty();
    for (std::unique_ptr<Step>& step : open) {
      const std::size_t requests = step->requests.size();
      const bool over = is_over(*step);
      has_moved = has_moved || over || step->requests.size() != requests;
      if (!over) continue;
      step->end();
      if (step->shared->failure.has_failed()) step->shared->failure.tell();
      if (!step->requests.empty()) lost.push_back(std::move(step));
      step.reset();
    }
    std::erase(open, nullptr);
    if (has_moved) {
      looks = 0;
      moved = Clock::now();
    } else if (++looks < eager_looks) {
      std::this_thread::yield();
    }
  }
}

}  // namespace weir::mpi
