// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "backends/host/engine/queue.hpp"
#include "backends/host/graph/graph.hpp"
#include "weir/capture.hpp"

/// Captures: queues that record work as nodes. All captures share one lock, because they join and wait for each other, and
/// because recording takes little time.
namespace weir::host {

class Capture final : public RefCounted {
 public:
  /// Begins a capture on `origin`, after the leaves of `graph`, which may be empty. Returns the id.
  static std::uint64_t begin(Queue& origin, Ptr<HostGraph> graph);
  /// Ends the capture that `origin` began, for all its queues. Throws `capture_unmatched`, `capture_unjoined`.
  static Ptr<HostGraph> end(Queue& origin);
  /// Ends and drops the capture that `queue` began, because `queue` is being destroyed.
  static void abandon(Queue& queue) noexcept;
  static CaptureState state_of(const Queue& queue);
  /// A copy of the graph as it is now; null if `queue` is not in a capture.
  static Ptr<HostGraph> graph_of(const Queue& queue);

  /// Adds work to the capture of `queue`. Returns false if it is not in one.
  static bool add(Queue& queue, NodeKind kind, Work&& work);
  /// Adds memory that belongs to the graph, with its node. Returns false if `queue` is not in a capture.
  static bool add_memory(Queue& queue, std::shared_ptr<void> memory);
  /// Records `event` at the position of `queue`. Returns false if it is not in a capture.
  static bool record(Queue& queue, RecordedEvent& event);
  /// Makes the next work of `queue` depend on a point of a capture. If `queue` is not in a capture, it joins that one.
  static void wait(Queue& queue, const RecordPoint& point);
  /// The same for the position of `other`. Returns false if neither is in a capture.
  static bool wait(Queue& queue, Queue& other);
  /// The nodes that the next work of `queue` depends on.
  static std::vector<std::uint32_t> position_of(const Queue& queue);
  /// Sets them. Throws `invalid_argument` for a node that does not exist.
  static void set_position(Queue& queue, std::vector<std::uint32_t> nodes);

 private:
  Capture(Queue& origin, Ptr<HostGraph> graph);
  static std::mutex& mutex();
  /// The queue's capture, or null. Call it under the lock.
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
