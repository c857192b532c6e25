// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/host/steps.hpp"
#include "weir/communicator.hpp"

/// The host's own collectives, for devices of one process: all ranks' memory is at hand, so whoever comes last knows all
/// there is to do, and a few threads do it.
namespace weir::collectives {

class LocalGroup final : public RefCounted {
 public:
  LocalGroup(int ranks, std::chrono::milliseconds time_out);
  ~LocalGroup() override;

  /// The stream of `rank` has come to these calls; `end` is called once all are done, or the group has failed. Called in a
  /// host function.
  void arrive(int rank, std::span<const CollectiveCall> calls, StepEnd end) noexcept;
  /// The group has failed: all that waits goes on. Any thread. The first cause is kept.
  void fail(const std::string& cause) noexcept;
  bool has_failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  std::string cause() const;

 private:
  using Clock = std::chrono::steady_clock;
  /// The calls of one step.
  struct Arrival {
    int rank;
    std::vector<CollectiveCall> calls;
    StepEnd end;
    Clock::time_point time = Clock::now();
    std::size_t open = 0;  // calls that are not done; under the lock
  };
  using ArrivalPtr = std::shared_ptr<Arrival>;
  /// One call that waits for those of the other ranks.
  struct Waiting {
    ArrivalPtr arrival;
    const CollectiveCall* call = nullptr;
  };
  /// Sends from one rank to another, and the other's receives from it.
  struct Pair {
    std::deque<Waiting> sent, received;
  };
  /// One operation of which all ranks' calls are there, in the order of the ranks; a send and its receive.
  struct Job {
    std::vector<Waiting> calls;
    std::size_t part_bytes = 0;  // the work is `parts` times this
    std::size_t parts = 1;
    std::size_t tiles_of_part = 1;
    std::size_t tiles = 1;
    std::atomic<std::size_t> next{0}, finished{0};
  };
  using JobPtr = std::shared_ptr<Job>;

  void match(int rank, const ArrivalPtr& arrival);
  void match_pair(Pair& pair);
  void match_collectives();
  void add_job(std::vector<Waiting> calls);
  void fail_locked(const std::string& cause) noexcept;
  void let_go(std::vector<Waiting>&& calls) noexcept;
  void finish(const Job& job) noexcept;
  void check_time();
  void work(bool keeps_time) noexcept;
  static void run_tile(const Job& job, std::size_t tile, std::byte* scratch) noexcept;

  const int ranks_;
  const std::chrono::milliseconds time_out_;
  std::atomic<bool> failed_{false};

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::string cause_;
  std::vector<std::deque<Waiting>> collectives_;  // of each rank
  std::map<std::pair<int, int>, Pair> pairs_;     // from → to
  std::deque<JobPtr> jobs_;
  std::vector<StepEnd> ends_;  // of steps that end with no more work
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace weir::collectives
