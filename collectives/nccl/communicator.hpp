// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string_view>
#include <vector>

#include "collectives/nccl/library.hpp"
#include "weir/event.hpp"
#include "weir/memory.hpp"

/// The communicator over NCCL or RCCL.
namespace weir::nccl {

/// Waits until the communicator's last call has completed, at most until `limit`. Returns the call's result, or
/// `in_progress`.
int settle(const Api& api, CommHandle comm, std::chrono::steady_clock::time_point limit);

/// A communicator of NCCL or RCCL.
///
/// With a timeout, NCCL's communicator is non-blocking, so that no call can wait for a peer forever. One thread checks all
/// such communicators: it queries the library for errors, and polls the event after each operation.
class Communicator final : public weir::CommunicatorImpl {
 public:
  Communicator(Library& library, Device& device, int rank, int ranks, CommHandle comm, std::chrono::milliseconds timeout);
  ~Communicator() override;

  /// Checks for errors and for operations that exceed the timeout. Called on the thread that checks communicators.
  void look() noexcept;

 protected:
  void do_enqueue(std::span<const CollectiveCall> calls) override;
  void do_check() override;
  void do_abort() noexcept override;
  std::vector<CommunicatorPtr> do_split(std::span<const CommunicatorSplit> ranks,
                                        std::span<const std::vector<int>> members) override;
  void do_watch(Stream& stream, void* native_stream) override;
  void* do_native_handle() const noexcept override { return comm_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Pending {
    EventPtr end;
    Clock::time_point since;
    std::uint64_t number;  // of the call; 0 for a graph's work
  };

  int enqueue_one(const CollectiveCall& call);
  int settle_call();
  void watch_call(Stream& stream, std::uint64_t number);
  [[noreturn]] void throw_result(int result, std::string_view operation, std::uint64_t number);

  Library& library_;
  const Api& api_;
  AllocationPtr scratch_;  // memory for barriers

  // With a timeout: held during calls of the library and until the end of a group, so that an abort never comes in between.
  // Without a timeout: calls do not hold it, because a call may wait for a peer, and only an abort ends that wait. Then it
  // only separates `check` from aborts, and an abort gives an open call 200 ms to return.
  std::mutex calls_;
  std::atomic<CommHandle> comm_;    // null after an abort
  std::atomic<int> open_calls_{0};  // calls of the library that may use the handle
  std::mutex pending_mutex_;
  std::deque<Pending> pending_;  // with a timeout: operations that may not be complete
};

}  // namespace weir::nccl
