// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>

#include "backends/gpu/free_list.hpp"
#include "weir/ptr.hpp"
#include "weir/unique_function.hpp"

/// Host functions as a driver calls them: a C function and a pointer. Nothing that the user's function throws passes through
/// the driver, and nothing here calls the driver.
namespace weir::gpu {

/// What the host functions of one stream threw and nobody has taken yet. Shared by the stream and the functions that are
/// enqueued, since either may be gone first.
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

/// A host function that was enqueued, for one run.
struct HostCall {
  HostFunction function;
  Ptr<HostErrors> errors;
  FreeListHook pool_hook;

  static HostCall* take(HostFunction&& function, const Ptr<HostErrors>& errors);
  /// Destroys what the call holds and keeps the shell for the next.
  void give_back() noexcept;
  /// What the driver calls; `call` is spent afterwards.
  static void run(void* call) noexcept;
};

/// A host function that was captured, for one run at each launch. Owned by the graph.
struct CapturedHostFunction {
  HostFunction function;
  Ptr<HostErrors> errors;  // of the stream that captured it: for graphs that foreign code instantiates

  void call(HostErrors& to) noexcept;
  /// What the driver calls where no executable graph of Weir's has put its own function in place.
  static void run(void* captured) noexcept;
  /// What the driver calls once no graph needs it any more.
  static void destroy(void* captured) noexcept;
};

}  // namespace weir::gpu
