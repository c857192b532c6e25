// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>

#include "collectives/nccl/library.hpp"
#include "weir/event.hpp"
#include "weir/memory.hpp"

namespace weir::nccl {

/// Waits until the communicator's last call has been carried out, no longer than `limit`. Returns its result, or
/// `in_progress`.
int settle(const Api& api, CommHandle comm, std::chrono::steady_clock::time_point limit);

/// A communicator of NCCL's or RCCL's.
///
/// With a timeout it is made non-blocking, so that no call can wait for a peer for ever. One thread looks after all of
/// them: it asks the library for errors, and waits for the event behind each operation.
class Communicator final : public weir::CommunicatorImpl {
 public:
  Communicator(Library& library, Device& device, int rank, int ranks, CommHandle comm, std::chrono::milliseconds timeout);
  ~Communicator() override;

  /// Looks for errors and for operations that take too long. Called by the thread that looks after communicators.
  void look() noexcept;

 protected:
  void do_enqueue(std::span<const CollectiveCall> calls) override;
  void do_check() override;
  void do_abort() noexcept override;
  void do_watch(Stream& stream, void* native_stream) override;
  void* do_native_handle() const noexcept override { return comm_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Pending {
    EventPtr end;
    Clock::time_point since;
  };

  int enqueue_one(const CollectiveCall& call);
  int settle_call();
  [[noreturn]] void throw_result(int result, const CollectiveCall& call);

  Library& library_;
  const Api& api_;
  const std::chrono::milliseconds timeout_;
  AllocationPtr scratch_;  // for barriers

  // With a timeout, held during calls of the library, until a group's end, so that an abort comes between them. Without one
  // a call may wait for a peer, and only an abort ends that; the lock then keeps `check` and aborts from each other.
  std::mutex calls_;
  std::atomic<CommHandle> comm_;  // null once it was aborted
  std::mutex pending_mutex_;
  std::deque<Pending> pending_;  // with a timeout: operations that may still run
};

}  // namespace weir::nccl
