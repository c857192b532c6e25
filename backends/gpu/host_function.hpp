// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#include "backends/gpu/free_list.hpp"
#include "weir/ptr.hpp"
#include "weir/unique_function.hpp"

/// Host functions as a driver calls them: a C function and a pointer. Nothing that the user's function throws passes through
/// the driver, and nothing here calls the driver.
namespace weir::gpu {

/// What the host functions of one stream, or one captured function, threw and nobody has taken yet. Shared by those who
/// throw and those who take, since either may be gone first.
class HostErrors final : public RefCounted {
 public:
  ~HostErrors() override;
  /// Logs and keeps the exception that is being handled.
  void add_current() noexcept;
  /// The oldest one, forgetting the others; null if there is none.
  std::exception_ptr take() noexcept;

 private:
  struct Node {
    std::exception_ptr error;
    Node* older;
  };
  std::atomic<Node*> newest_{nullptr};
};

/// The host functions that one stream has enqueued and that have not run yet.
///
/// A call that has run is pushed onto a list by the driver's thread; the threads that enqueue take that list as a whole when
/// they have no idle call left, so that the two sides share few cache lines. Objects of this class and their calls are
/// pooled and never freed: a function may still run when its stream has gone, and driver threads may outlive main.
class HostCalls {
 public:
  /// For a stream with these errors.
  static HostCalls* take(const Ptr<HostErrors>& errors);
  /// The stream lets go: back to the pool, once the last function has run. Nothing may be put any more.
  void close() noexcept;

  /// Keeps a function for one run; what is returned is for `run`. Allocates where more functions wait than ever before.
  void* put(HostFunction&& function);
  /// For a function that could not be enqueued: destroys it.
  static void take_back(void* call) noexcept;
  /// What the driver calls.
  static void run(void* call) noexcept;

  FreeListHook pool_hook;

 private:
  // What a function with few captures needs lies on one cache line.
  struct alignas(64) Call {
    HostCalls* owner;
    Call* next = nullptr;  // while it is idle
    HostFunction function;
  };

  HostCalls() = default;
  static void finish(Call& call) noexcept;
  void recycle() noexcept;

  // Of the threads that enqueue.
  std::mutex mutex_;
  Call* idle_ = nullptr;
  std::int64_t put_ = 0;

  // Of the driver's thread.
  alignas(64) std::atomic<Call*> finished_{nullptr};
  // The number of functions that are over; less those that were put, once the stream has closed: it is 0 then after the
  // last.
  std::atomic<std::int64_t> over_{0};
  Ptr<HostErrors> errors_;
};

/// A host function that was captured, for one run at each launch. Owned by the graph. It keeps what it throws: a stream that
/// launches an executable of the graph takes it from there (see GraphErrors).
struct CapturedHostFunction {
  HostFunction function;
  Ptr<HostErrors> errors;

  /// What the driver calls.
  static void run(void* captured) noexcept;
  /// What the driver calls once no graph needs it any more.
  static void destroy(void* captured) noexcept;
};

}  // namespace weir::gpu
