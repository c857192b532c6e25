// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "backends/host/graph.hpp"
#include "backends/host/queue.hpp"
#include "weir/capture.hpp"

/// Captures: queues that write down what they are told. All captures share one lock, since they join and wait for each
/// other, and since writing down is not what programs spend their time on.
namespace weir::host {

class Capture final : public RefCounted {
 public:
  /// Begins a capture on `origin`, behind the leaves of `graph`, which is empty or an earlier capture's. Returns the id.
  static std::uint64_t begin(Queue& origin, Ptr<HostGraph> graph);
  /// Ends the capture that `origin` began; all queues leave it. Throws `capture_unmatched`, `capture_unjoined`.
  static Ptr<HostGraph> end(Queue& origin);
  /// Ends and drops the capture that `queue`, which goes away, began.
  static void abandon(Queue& queue) noexcept;
  static CaptureState state_of(const Queue& queue);
  /// A copy of the graph as it is now; null where `queue` is part of no capture.
  static Ptr<HostGraph> graph_of(const Queue& queue);

  /// Adds work to the capture that `queue` is part of. Returns false if it is part of none.
  static bool add(Queue& queue, NodeKind kind, Work&& work);
  /// Adds memory that belongs to the graph, with its node. Returns false if `queue` is part of no capture.
  static bool add_memory(Queue& queue, std::shared_ptr<void> memory);
  /// Records `event` where `queue` is. Returns false if it is part of no capture.
  static bool record(Queue& queue, HostEvent& event);
  /// Puts what `queue` does next behind a point of a capture, which it joins if it is part of none.
  static void wait(Queue& queue, const RecordPoint& point);
  /// Likewise behind where `other` is. Returns false if neither is part of a capture.
  static bool wait(Queue& queue, Queue& other);

 private:
  Capture(Queue& origin, Ptr<HostGraph> graph);
  static std::mutex& mutex();
  void join(Queue& queue, const std::vector<std::uint32_t>& nodes, const char* operation);
  [[nodiscard]] std::vector<Ptr<Queue>> dissolve() noexcept;
  GraphData& data() const noexcept { return *graph_->data(); }
  bool all_joined() const;

  const std::uint64_t id_;
  Queue& origin_;  // in queues_, too
  Ptr<HostGraph> graph_;  // null once the capture has ended
  std::vector<Ptr<Queue>> queues_;
};

}  // namespace weir::host
