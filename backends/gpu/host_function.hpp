// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
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
/// They lie in a ring, since a stream runs them in order: the place that is reused next is the one that has been free for
/// longest, and the thread that enqueues meets the driver's thread on few cache lines and takes no lock. Objects of this class
/// are pooled and never freed, so that a function may still run when its stream has gone.
class HostCalls {
 public:
  /// For a stream with these errors.
  static HostCalls* take(const Ptr<HostErrors>& errors);
  /// The stream lets go: back to the pool, once the last function has run.
  void close() noexcept;

  /// Keeps a function for one run; what is returned is for `run`. Allocates where more functions wait than ever before.
  void* put(HostFunction&& function);
  /// For a function that could not be enqueued: destroys it.
  static void take_back(void* slot) noexcept;
  /// What the driver calls.
  static void run(void* slot) noexcept;

  HostCalls* next_spent = nullptr;

 private:
  // What a function with few captures needs lies on one cache line.
  struct alignas(64) Slot {
    std::atomic<std::uint32_t> busy{0};
    HostCalls* owner = nullptr;
    HostFunction function;
  };
  struct Ring {
    Ring(HostCalls* owner, std::uint32_t size, Ring* before);
    const std::uint32_t mask;
    std::unique_ptr<Slot[]> slots;
    const std::unique_ptr<Ring> older;  // where functions may still lie
    alignas(64) std::atomic<std::uint32_t> next{0};
  };

  HostCalls() = default;
  void grow(const Ring* full);
  void finish(Slot& slot) noexcept;
  void give_back_if_idle() noexcept;

  std::atomic<Ring*> ring_{nullptr};  // the newest, which owns the older ones
  std::mutex growth_;
  Ptr<HostErrors> errors_;
  std::uint32_t life_ = 0;
  std::atomic<std::uint32_t> closed_{0};  // the number of the life that has ended and is to be tidied up, or 0
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
