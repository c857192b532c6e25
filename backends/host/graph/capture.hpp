// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "backends/host/engine/queue.hpp"
#include "backends/host/graph/graph.hpp"
#include "weir/capture.hpp"

/// Captures: queues whose work is recorded as nodes of a graph instead of being run. All captures share one lock, because
/// captures can wait for each other and be joined, and because recording a node takes little time.
namespace weir::host {

class Capture final : public RefCounted {
 public:
  /// Begins a capture on `origin` that continues `graph`, which may be empty: the first node depends on the leaves of
  /// `graph`. Returns the capture's id.
  static std::uint64_t begin(Queue& origin, Ptr<HostGraph> graph);
  /// Ends the capture that `origin` began, on all its queues. Throws `capture_unmatched`, `capture_unjoined`.
  static Ptr<HostGraph> end(Queue& origin);
  /// Ends the capture that `queue` began and discards its graph, because `queue` is being destroyed.
  static void abandon(Queue& queue) noexcept;
  static CaptureState state_of(const Queue& queue);
  /// Returns a copy of the graph captured so far; null if `queue` is not in a capture.
  static Ptr<HostGraph> graph_of(const Queue& queue);

  /// Adds work as a node to the capture of `queue`. Returns false if `queue` is not in a capture.
  static bool add(Queue& queue, NodeKind kind, Work&& work);
  /// Adds an allocation node. The graph owns `memory`. Returns false if `queue` is not in a capture.
  static bool add_memory(Queue& queue, std::shared_ptr<void> memory);
  /// Records `event` in the capture of `queue`, after the queue's last node. Returns false if `queue` is not in a capture.
  static bool record(Queue& queue, RecordedEvent& event);
  /// Makes the next node of `queue` depend on a point of a capture. If `queue` is not in a capture, it joins that capture.
  static void wait(Queue& queue, const RecordPoint& point);
  /// Makes the next node of `queue` depend on the last node of `other`. Returns false if neither queue is in a capture.
  static bool wait(Queue& queue, Queue& other);
  /// The nodes that the next node of `queue` depends on.
  static std::vector<std::uint32_t> position_of(const Queue& queue);
  /// Replaces the nodes that the next node of `queue` depends on. Throws `invalid_argument` for a node that does not exist.
  static void set_position(Queue& queue, std::vector<std::uint32_t> nodes);

 private:
  Capture(Queue& origin, Ptr<HostGraph> graph);
  static std::mutex& mutex();
  /// The capture that `queue` is in, or null. The caller must hold the lock.
  static Capture* of(const Queue& queue) noexcept { return static_cast<Capture*>(queue.capture().capture.get()); }
  void join(Queue& queue, const std::vector<std::uint32_t>& nodes, const char* operation);
  [[nodiscard]] std::vector<Ptr<Queue>> dissolve() noexcept;
  GraphData& data() const noexcept { return *graph_->data(); }
  bool all_joined() const;

  const std::uint64_t id_;
  Queue& origin_;  // also in queues_
  Ptr<HostGraph> graph_;  // null once the capture has ended
  std::vector<Ptr<Queue>> queues_;
};

}  // namespace weir::host
