// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "collectives/host/steps.hpp"
#include "weir/plugin/flight_recorder.hpp"

/// Collectives for host devices of one process. The memory of all ranks is in this process, so when the last rank arrives,
/// the process's worker threads can run the operation.
namespace weir::collectives {

class LocalGroup final : public RefCounted {
 public:
  /// Throws `out_of_memory` if the system cannot start a thread.
  LocalGroup(int ranks, std::chrono::milliseconds timeout);
  ~LocalGroup() override;

  /// Sets where the operations of `rank` are marked. Before its first one.
  void set_recorder(int rank, std::shared_ptr<FlightRecorder> recorder) {
    recorders_[static_cast<std::size_t>(rank)] = std::move(recorder);
  }
  /// Reports that the stream of `rank` has reached these calls. Calls `end` when all of them are done or the group has
  /// failed. Called from a host function.
  void arrive(int rank, std::span<const CollectiveCall> calls, StepEnd end) noexcept;
  /// Reports that `rank` makes no more calls. The group fails if another rank waits for this one. Any thread may call it.
  void leave(int rank) noexcept;
  /// A rank's place behind a split. Null for a negative color.
  struct Part {
    Ptr<LocalGroup> group;
    int rank = 0;
  };
  /// Waits until all ranks have called this, and returns the new places of `ranks`. If the group fails, returns fewer.
  std::vector<Part> split(std::span<const CommunicatorSplit> ranks);
  /// Fails the group and ends all waits. If it has failed already, the first cause is kept. Any thread may call it.
  void fail(const std::string& cause) noexcept;
  int size() const noexcept { return ranks_; }
  std::chrono::milliseconds timeout() const noexcept { return timeout_; }
  EngineFailure& failure() noexcept { return failure_; }
  /// Fails the group if a call has waited longer than the timeout.
  void look() noexcept;
  /// If a stream waits for other ranks through this word, returns a description, such as "all_reduce of 4 float of rank 0
  /// waits for rank 1". Otherwise returns "".
  static std::string describe_wait(const void* word);

 private:
  using Clock = std::chrono::steady_clock;
  /// The calls of one step (see steps.hpp) of one rank.
  struct Arrival {
    int rank;
    std::vector<CollectiveCall> calls;
    StepEnd end;
    Clock::time_point time = Clock::now();
    std::size_t open = 0;  // number of calls that are not done; guarded by the mutex
  };
  using ArrivalPtr = std::shared_ptr<Arrival>;
  /// A call that waits for the other ranks' calls.
  struct Waiting {
    ArrivalPtr arrival;
    const CollectiveCall* call = nullptr;
  };
  /// Sends from one rank to another that have no matching receive yet, and receives without a matching send.
  struct Pair {
    std::deque<Waiting> sent, received;
  };
  /// One operation with the calls of all ranks, ordered by rank; or a send with its receive. Workers run it in tiles.
  struct Job {
    Ptr<LocalGroup> group;
    std::vector<Waiting> calls;
    std::size_t part_bytes = 0;  // the operation's bytes are `part_bytes * parts`
    std::size_t parts = 1;
    std::size_t tiles_of_part = 1;
    std::size_t tiles = 1;
    std::atomic<std::size_t> next{0}, finished{0};
  };
  using JobPtr = std::shared_ptr<Job>;

  /// A split whose ranks have not all called.
  struct Split {
    std::vector<std::optional<CommunicatorSplit>> calls;  // by rank
    std::vector<Part> parts;                              // by rank; empty before the end
  };

  class All;
  std::string described_wait(const void* word) const;
  class Workers;

  template <class Group, class F>
  static void for_each_queue(Group& group, F function);
  void match(int rank, const ArrivalPtr& arrival);
  void match_pair(Pair& pair);
  void match_collectives();
  void add_job(std::vector<Waiting> calls);
  std::vector<Part> parts_of(const Split& split) const;
  void look_for_absent();
  void fail_locked(const std::string& cause, std::vector<Waiting> calls = {}) noexcept;
  static void let_go(std::span<const Waiting> calls, std::vector<StepEnd>& ends) noexcept;
  void finish(const Job& job, std::vector<StepEnd>& ends) noexcept;
  std::string absent_for(const Waiting& waiting) const;
  static void run_tile(const Job& job, std::size_t tile) noexcept;

  const int ranks_;
  const std::chrono::milliseconds timeout_;
  std::vector<std::shared_ptr<FlightRecorder>> recorders_;  // by rank
  EngineFailure failure_;

  mutable std::mutex mutex_;  // guards the members below
  std::vector<std::deque<Waiting>> collectives_;  // by rank
  std::map<std::pair<int, int>, Pair> pairs_;     // by sender and receiver
  std::vector<bool> has_left_;                    // by rank
  std::shared_ptr<Split> split_;                  // null: no rank has called `split`
  std::condition_variable split_moved_;
};

}  // namespace weir::collectives
