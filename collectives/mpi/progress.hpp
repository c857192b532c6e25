// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "collectives/host/steps.hpp"
#include "collectives/mpi/library.hpp"
#include "weir/event.hpp"
#include "weir/memory.hpp"
#include "weir/plugin/flight_recorder.hpp"

/// The progress thread, which makes MPI's calls and polls their requests.
namespace weir::mpi {

/// Pinned memory that replaces GPU memory if MPI cannot access the GPU's memory.
struct Staged {
  AllocationPtr memory;
  EventPtr used;  // recorded after the last work that uses the memory
};

/// A communicator's data that its steps share: MPI's communicator, and the memory that was passed to MPI. Freed with the
/// last owner.
struct Shared {
  Shared(const Library& l, int r, int s, std::chrono::milliseconds t) : library(l), rank(r), size(s), timeout(t) {}
  ~Shared();
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  /// `late`: as for `EngineFailure`.
  void fail(const std::string& why, std::uint64_t late = 0) noexcept;

  const Library& library;
  Handle comm = 0;  // a duplicate of the program's communicator
  const int rank;
  const int size;
  const std::chrono::milliseconds timeout;
  std::vector<Staged> staged;                // used only by the communicator's calling thread
  std::shared_ptr<FlightRecorder> recorder;  // of the communicator
  collectives::EngineFailure failure;
};
using SharedPtr = std::shared_ptr<Shared>;

class Progress {
 public:
  static Progress& instance();

  /// Posts the calls to the thread, which makes them and ends the step when they are done or the communicator has failed.
  /// Called from a host function, after `ensure_started`. Calls of one communicator are made in the order in which they were
  /// posted.
  void begin(const SharedPtr& shared, const std::vector<CollectiveCall>& calls, collectives::StepEnd end);
  /// Starts the thread unless it runs. Throws `out_of_memory` if the system cannot start a thread.
  void ensure_started();
  /// Ends the thread. Returns false if a communicator has failed or steps are open. Then MPI must not be finalized.
  bool stop();
  /// Records that a communicator has failed. Any thread may call it.
  void set_had_failure() noexcept { had_failure_.store(true, std::memory_order_release); }

 private:
  struct Request {
    Handle handle;
    const CollectiveCall* call;  // null for the empty messages of `meet`
  };
  // Memory of a step that MPI uses until the call is done.
  struct Result {
    const CollectiveCall* call;
    std::vector<std::byte> bytes;
    std::vector<float> floats;  // for 16-bit types
  };
  struct Step {
    SharedPtr shared;
    std::vector<CollectiveCall> calls;
    collectives::StepEnd end;
    std::chrono::steady_clock::time_point since;
    std::vector<Request> requests;
    std::vector<Result> results;
    bool is_large = false;
    std::size_t absent = 0;  // number of empty messages of `meet` that are not complete
  };
  void run();
  static void start(Step& step);
  static int meet(Step& step, const CollectiveCall& call);
  static bool is_done(Step& step, Request& request);
  static bool is_over(Step& step);

  std::mutex mutex_;  // guards the members below
  std::condition_variable wake_;
  std::vector<std::unique_ptr<Step>> arrived_;
  bool stopping_ = false;
  std::thread thread_;
  std::atomic<bool> had_failure_{false};
};

}  // namespace weir::mpi
