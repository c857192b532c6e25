// SPDX-License-Identifier: Apache-2.0
#include "collectives/mpi/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <memory>
#include <utility>

#include "collectives/extent.hpp"
#include "collectives/operation.hpp"
#include "weir/backend.hpp"
#include "weir/device.hpp"
#include "weir/plugin/support.hpp"

namespace weir::mpi {

using Kind = CollectiveCall::Kind;

Communicator::Communicator(const Library& library, Device& device, SharedPtr shared)
    : StepCommunicator(device, shared->rank, shared->size, library.label(), shared->timeout, {shared, &shared->failure}),
      shared_(std::move(shared)),
      is_host_(device.backend().name() == "host"),
      takes_device_memory_(device.backend().name() == "hip" ? library.api().takes_hip_memory
                                                            : library.api().takes_cuda_memory) {
  if (!is_host_) {
    set_feature(
        CommunicatorFeature::capture, Support::absent,
        "with MPI, GPU memory is copied through pinned memory, which cannot be allocated in a capture; use NCCL or RCCL");
  }
  shared_->recorder = flight_recorder();
  Progress::instance().ensure_started();
  follow_failure();
}

Communicator::~Communicator() {
  try {  // copies on the stream may still use staged memory
    for (const Staged& staged : shared_->staged) staged.used->synchronize();
  } catch (...) {  // the device has failed, so its work is over
  }
}

// --- Operations -------------------------------------------------------------------------------------------------------

// Whether MPI can run the call without Weir's help. It cannot for avg and for 16-bit numbers: Weir reduces or divides these
// on the host.
bool Communicator::is_direct(const CollectiveCall& c) const noexcept {
  if (is_host_ || c.kind == Kind::barrier) return true;
  return takes_device_memory_ && !collectives::reduces(c) && !(c.kind == Kind::broadcast && c.send != c.receive);
}

Staged Communicator::take_staged(std::size_t bytes) {
  std::vector<Staged>& all = shared_->staged;
  const auto fits = [&](const Staged& s) { return s.memory->size_bytes() >= bytes && s.used->is_complete(); };
  if (const auto found = std::find_if(all.begin(), all.end(), fits); found != all.end()) {
    Staged taken = std::move(*found);
    all.erase(found);
    return taken;
  }
  return {device().allocate_bytes(bytes, MemoryKind::pinned), device().create_event()};
}

void Communicator::do_enqueue(std::span<const CollectiveCall> calls) {
  for (const CollectiveCall& call : calls) {
    if (call.count <= INT_MAX) continue;
    throw Error(Errc::invalid_argument, "Communicator::" + std::string(to_string(call.kind)), call.communicator->describe(),
                fmt::format("MPI supports at most {} elements, but these are {}; split the operation", INT_MAX, call.count));
  }
  StepCommunicator::do_enqueue(calls);
}

collectives::StepQueue::Begin Communicator::step_of(std::vector<CollectiveCall> calls) {
  return [shared = shared_, calls = std::move(calls)](collectives::StepEnd end) {
    Progress::instance().begin(shared, calls, end);
  };
}

void Communicator::enqueue_step(Stream& stream, std::vector<CollectiveCall> calls) {
  struct Back {
    void* to;
    const void* from;
    std::size_t bytes;
  };
  std::vector<Back> backs;
  std::vector<Staged> used;
  for (CollectiveCall& call : calls) {
    if (is_direct(call)) continue;
    const collectives::Extent bytes = collectives::extent(call);
    if (bytes.sent != 0) {
      used.push_back(take_staged(bytes.sent));
      stream.copy_bytes(used.back().memory->data(), call.send, bytes.sent);
      call.send = used.back().memory->data();
    }
    if (bytes.received != 0) {
      used.push_back(take_staged(bytes.received));
      backs.push_back({call.receive, used.back().memory->data(), bytes.received});
      call.receive = used.back().memory->data();
    }
  }
  StepCommunicator::enqueue_step(stream, std::move(calls));
  for (const Back& back : backs) stream.copy_bytes(back.to, back.from, back.bytes);
  for (Staged& staged : used) {
    stream.record(*staged.used);
    shared_->staged.push_back(std::move(staged));
  }
}

// --- Splitting --------------------------------------------------------------------------------------------------------

// MPI_Comm_split has no timeout. So the ranks meet first, in a barrier that can be given up.
std::vector<CommunicatorPtr> Communicator::do_split(std::span<const CommunicatorSplit> ranks,
                                                    std::span<const std::vector<int>> /*members*/) {
  const Library& library = shared_->library;
  const Api& api = library.api();
  const CommunicatorSplit& mine = ranks[0];  // each process has one rank
  const auto check_call = [&](int result) {
    if (result != 0) shared_->fail("MPI refused to split: " + library.native_error(result).message);
    if (!has_failed()) do_check();
    if (has_failed()) throw_failure("Communicator::split");
  };
  Handle request = 0;
  check_call(api.Ibarrier(shared_->comm, &request));
  using Clock = std::chrono::steady_clock;
  support::DeadlinePauses pauses(shared_->timeout.count() != 0 ? Clock::now() + shared_->timeout : Clock::time_point::max());
  for (int have_met = 0; have_met == 0;) {
    alignas(16) std::byte status[256];
    check_call(api.Test(&request, &have_met, status));
    if (have_met == 0 && !pauses.next())
      shared_->fail(fmt::format("not all of the {} ranks have called split within {} ms", size(), shared_->timeout.count()));
  }
  constexpr int no_color = -32766;  // MPI_UNDEFINED, in Open MPI and MPICH
  Handle comm = 0;
  check_call(api.Comm_split(shared_->comm, mine.color < 0 ? no_color : mine.color, mine.key, &comm));
  if (comm == api.null) return {nullptr};
  int rank = 0, size = 0;
  check_call(api.Comm_rank(comm, &rank));
  check_call(api.Comm_size(comm, &size));
  const auto shared = std::make_shared<Shared>(library, rank, size, shared_->timeout);
  shared->comm = comm;
  check_call(api.Comm_set_errhandler(comm, api.errors_return));
  return {make_ptr<Communicator>(library, device(), shared)};
}

void Communicator::do_abort() noexcept { shared_->fail(fmt::format("rank {} called Communicator::abort", rank())); }

}  // namespace weir::mpi
