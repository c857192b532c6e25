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

/// Wraps a `HostFunction` in the form that drivers call: a C function and a pointer. An exception of the function is stored
/// and does not reach the driver. Nothing here calls the driver.
namespace weir::gpu {

/// The pending exceptions of one stream's host functions, or of one captured function. The stream and the functions share
/// ownership, because either may be destroyed first.
class HostErrors final : public RefCounted {
 public:
  explicit HostErrors(const Device& device) : device_(device) {}
  ~HostErrors() override;
  /// Logs and stores the exception that is being handled.
  void add_current() noexcept;
  /// Returns the oldest exception and discards the others; null if there is none.
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
/// They are stored in a ring. A stream runs its functions in order, so the next slot is usually the one that has been free
/// for longest. As a result, the submitting thread and the driver's thread share few cache lines and need no lock. Objects
/// of this class are pooled and never freed, because functions may still run after their stream is destroyed.
class HostCalls {
 public:
  /// Returns an object for a new stream, from the pool if it has one.
  static HostCalls* take(const Ptr<HostErrors>& errors);
  /// Called when the stream is destroyed. The object returns to the pool once the stream's last function has run.
  void close() noexcept;

  /// Stores a function until it has run, and returns the argument for `call_enqueued`. Allocates only if more functions are
  /// pending than ever before.
  void* put(HostFunction&& function);
  /// Destroys a stored function that could not be enqueued.
  static void take_back(void* slot) noexcept;
  /// The C function for the driver: runs the function in `slot`.
  static void call_enqueued(void* slot) noexcept;

  HostCalls* next_spent = nullptr;

 private:
  // A small function and its `busy` flag fit into one cache line.
  struct alignas(64) Slot {
    std::atomic<std::uint32_t> busy{0};
    HostCalls* owner = nullptr;
    HostFunction function;
  };
  struct Ring {
    Ring(HostCalls* owner, std::uint32_t size, Ring* before);
    const std::uint32_t mask;
    std::unique_ptr<Slot[]> slots;
    const std::unique_ptr<Ring> older;  // its slots may still hold functions
    alignas(64) std::atomic<std::uint32_t> next{0};
  };

  HostCalls() = default;
  void grow(const Ring* full);
  void finish(Slot& slot) noexcept;
  void give_back_if_idle() noexcept;

  std::atomic<Ring*> ring_{nullptr};  // the newest ring, which owns the older ones
  std::mutex growth_;
  Ptr<HostErrors> errors_;
  std::uint32_t life_ = 0;
  // 0, or the `life_` number of a closed stream while this object is not yet back in the pool.
  std::atomic<std::uint32_t> closed_{0};
};

/// A captured host function. The graph owns it, and each launch calls it. Its exceptions are stored until a stream that
/// launched the graph rethrows one (see GraphErrors).
struct CapturedHostFunction {
  HostFunction function;
  Ptr<HostErrors> errors;

  /// The C function for the driver: runs the captured function.
  static void call_captured(void* captured) noexcept;
  /// The driver calls this once no graph needs the function any longer.
  static void destroy(void* captured) noexcept;
};

}  // namespace weir::gpu
