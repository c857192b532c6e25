// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "backends/gpu/host_function.hpp"
#include "weir/ptr.hpp"

namespace weir::gpu {

/// Leads what the host functions of an executable graph throw to the stream of the launch they threw in.
///
/// A captured function does not know which launch it runs in. But an executable graph runs one launch after another, and each
/// launch calls each of its functions once: so the n-th call of a function belongs to the n-th launch. Each executable graph
/// therefore has counters of its own, which take the place of the captured functions in its nodes.
class GraphErrors final : public RefCounted {
 public:
  /// One host function of the executable graph.
  struct Slot {
    CapturedHostFunction* function;
    GraphErrors* owner;
    std::atomic<std::uint64_t> calls{0};

    Slot(CapturedHostFunction* f, GraphErrors* o) : function(f), owner(o) {}
    /// What the driver calls.
    static void run(void* slot) noexcept;
  };

  /// To be called before the launches begin. The slot stays where it is.
  Slot& add(CapturedHostFunction* function) { return slots_.emplace_back(function, this); }
  bool empty() const noexcept { return slots_.empty(); }

  /// Before each launch, one at a time: errors of the launch go to `stream`.
  void launching(const Ptr<HostErrors>& stream);
  /// After a launch that did not happen.
  void not_launched() noexcept;

  /// What the driver calls once no executable graph needs the slots any more.
  static void destroy(void* errors) noexcept;

 private:
  // Launches from `first` on, up to the next entry's, were made on one stream.
  struct Run {
    std::uint64_t first;
    Ptr<HostErrors> stream;
  };
  Ptr<HostErrors> stream_of(std::uint64_t launch) const;
  void forget_finished();

  std::deque<Slot> slots_;
  // Held for moments, by launches and by functions that have thrown; never while the driver or a function is called.
  mutable std::mutex mutex_;
  std::vector<Run> runs_;
  std::uint64_t launches_ = 0;
};

}  // namespace weir::gpu
