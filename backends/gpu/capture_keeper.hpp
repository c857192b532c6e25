// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "weir/graph.hpp"
#include "weir/module.hpp"

namespace weir::gpu {

/// The modules of the kernels that a graph launches: for as long as the graph or an executable of it is there.
///
/// Not the driver's user objects, which would make each launch of the graph dearer: what they add, that an object outlives an
/// executable whose launch is under way, modules do not need, since unloading one waits for the device.
using KeptModules = std::vector<ModulePtr>;

/// What open captures keep, for all devices of a backend, since a capture may span several.
class CaptureKeeper {
 public:
  /// Changes with each begin and end of a capture: while it stays the same, so does the capture that a capturing stream is in.
  std::uint64_t epoch() const noexcept { return epoch_.load(std::memory_order_acquire); }

  /// `resumed`: the graph that the capture continues, or null.
  void began(std::uint64_t capture, const GraphPtr& resumed);
  /// The body of a conditional node keeps what it needs with the capture that it is in.
  void began_body(std::uint64_t body, std::uint64_t capture);
  /// Whether Weir began it.
  bool knows(std::uint64_t capture);
  /// False for a capture that foreign code began: nobody would let go of what it keeps.
  bool keep(std::uint64_t capture, const ModulePtr& module);
  struct Kept {
    KeptModules modules;
    GraphPtr resumed;
  };
  /// What the capture kept, which is nothing for one that foreign code began. From here on `keep` keeps nothing for it.
  Kept ended(std::uint64_t capture) noexcept;

 private:
  struct Entry {
    std::uint64_t capture;
    std::uint64_t outer;  // the capture whose conditional body this is, or 0
    Kept kept;
  };
  void add(Entry&& entry);
  std::vector<Entry>::iterator find(std::uint64_t capture) noexcept;

  std::atomic<std::uint64_t> epoch_{1};
  std::mutex mutex_;
  std::vector<Entry> open_;
};

}  // namespace weir::gpu
