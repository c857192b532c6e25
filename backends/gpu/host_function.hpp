// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>

#include "core/base/free_list.hpp"
#include "weir/device.hpp"
#include "weir/ptr.hpp"
#include "weir/unique_function.hpp"

/// Host functions in the form that drivers call: a C function and a pointer. Exceptions of the user's function do not reach
/// the driver. Nothing here calls the driver.
namespace weir::gpu {

/// The pending exceptions of a stream's host functions, or of one captured function. Shared by the functions and the stream,
/// because either may be destroyed first.
class HostErrors final : public RefCounted {
 public:
  explicit HostErrors(const Device& device) : device_(device) {}
  ~HostErrors() override;
  /// Logs and stores the exception that is being handled.
  void add_current() noexcept;
  /// Takes the oldest exception and drops the others; null without one.
  std::exception_ptr take() noexcept;
  bool is_empty() const noexcept { return newest_.load(std::memory_order_acquire) == nullptr; }

 private:
  struct Node {
    std::exception_ptr error;
    Node* older;
  };
  const Device& device_;
  std::atomic<Node*> newest_{nullptr};
};

/// The host functions of a stream that have not run yet.
///
/// They are in a ring, because a stream runs them in order: the next slot is the one that has been free for longest. So the
/// submitting thread and the driver's thread share few cache lines and no lock. Objects of this class are pooled and never
/// freed, so functions may still run after their stream is destroyed.
class HostCalls {
 public:
  /// An object for a stream, from the pool.
  static HostCalls* take(const Ptr<HostErrors>& errors);
  /// Called when the stream is destroyed: returns this object to the pool once the last function has run.
  void close() noexcept;

  /// Stores a function until it has run, and returns the argument for `call_enqueued`. Allocates only if more functions wait
  /// than ever before.
  void* put(HostFunction&& function);
  /// Destroys a function that could not be enqueued.
  static void take_back(void* slot) noexcept;
  /// Called by the driver.
  static void call_enqueued(void* slot) noexcept;

  HostCalls* next_spent = nullptr;

 private:
  // A small function and its state fit into one cache line.
  struct alignas(64) Slot {
    std::atomic<std::uint32_t> busy{0};
    HostCalls* owner = nullptr;
    HostFunction function;
  };
  struct Ring {
    Ring(HostCalls* owner, std::uint32_t size, Ring* before);
    const std::uint32_t mask;
    std::unique_ptr<Slot[]> slots;
    const std::unique_ptr<Ring> older;  // may still hold functions
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
  std::atomic<std::uint32_t> closed_{0};  // the number of the life that has ended and is not yet returned to the pool, or 0
};

/// A captured host function, which runs at each launch. The graph owns it. It stores its exceptions for the streams that
/// launch the graph (see GraphErrors).
struct CapturedHostFunction {
  HostFunction function;
  Ptr<HostErrors> errors;

  /// Called by the driver.
  static void call_captured(void* captured) noexcept;
  /// Called by the driver once no graph needs the function.
  static void destroy(void* captured) noexcept;
};

}  // namespace weir::gpu
