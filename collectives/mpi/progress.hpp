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

/// The thread that makes MPI's calls and polls their requests.
namespace weir::mpi {

/// Pinned memory in place of GPU memory, for an MPI that cannot read the GPU's.
struct Staged {
  AllocationPtr memory;
  EventPtr used;  // recorded after the last work that uses the memory
};

/// Shared by a communicator and its steps, and freed with the last of them: MPI's communicator, and the memory that was
/// passed to MPI.
struct Shared {
  Shared(const Library& l, int r, int s, std::chrono::milliseconds t) : library(l), rank(r), size(s), timeout(t) {}
  ~Shared();
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  void fail(const std::string& why) noexcept;
  std::string cause() const;

  const Library& library;
  Handle comm = 0;  // a copy of the program's; freed by the destructor
  const int rank;
  const int size;
  const std::chrono::milliseconds timeout;
  std::vector<Staged> staged;  // used only by the communicator's calling thread
  std::atomic<bool> failed{false};

 private:
  mutable std::mutex mutex_;
  std::string cause_;
};
using SharedPtr = std::shared_ptr<Shared>;

class Progress {
 public:
  static Progress& instance();

  /// Begins the calls and ends the step once they are done, or the communicator has failed. Called in a host function; the
  /// thread must have been started. The thread begins the calls of one communicator in the order of these calls.
  void begin(const SharedPtr& shared, const std::vector<CollectiveCall>& calls, collectives::StepEnd end);
  /// Throws `out_of_memory` if the system cannot start a thread.
  void ensure_started();
  /// Ends the thread. Returns false if a communicator has failed or steps are open: MPI must not be finalized then.
  bool stop();
  /// Records that a communicator has failed. Any thread.
  void set_had_failure() noexcept { had_failure_.store(true, std::memory_order_release); }

 private:
  struct Request {
    Handle handle;
    const CollectiveCall* call;  // null for the empty messages of `meet`
  };
  // Memory of a step that MPI uses until it is done.
  struct Result {
    const CollectiveCall* call;
    std::vector<std::byte> bytes;
    std::vector<float> floats;  // of 16-bit types
  };
  struct Step {
    SharedPtr shared;
    std::vector<CollectiveCall> calls;
    collectives::StepEnd end;
    std::chrono::steady_clock::time_point since;
    std::vector<Request> requests;
    std::vector<Result> results;
    bool is_large = false;
    std::size_t absent = 0;  // outstanding empty messages of `meet`
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
