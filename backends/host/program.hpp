// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "backends/host/graph_data.hpp"
#include "backends/host/work.hpp"

/// A graph made ready to run: branches that do not depend on each other run at once. One run at a time; runs allocate nothing.
namespace weir::host {

class Program final : public RefCounted {
 public:
  explicit Program(const GraphData& graph);
  ~Program() override;

  /// Runs everything once on behalf of `queue`, starting on this thread, which must be a worker. If it is not all done on
  /// return, `continuation` is resumed when it is.
  Progress start(Queue& queue, Continuation& continuation);

  /// A launch has been enqueued: the events that it records, subgraphs' included, are recorded by it from here on.
  void expect_records() noexcept;
  bool calls_host_functions() const noexcept { return calls_host_functions_; }
  /// Where the events that a run waits for, subgraphs' included, are recorded now.
  std::vector<SignalWait> wait_points() const;
  /// What the next run waits for, as `wait_points` gave it when the run was enqueued. Empty: what was set before.
  void set_wait_points(const std::vector<SignalWait>& points);

 private:
  class Node;
  void run_from(Node* node, Lane lane) noexcept;
  Node* after(Node& node, Lane lane) noexcept;
  void hand_out(Node& node) noexcept;
  bool finish(std::uint32_t count) noexcept;

  std::uint32_t node_count_;
  std::unique_ptr<Node[]> nodes_;
  std::vector<std::uint32_t> roots_;
  // In the nodes of this program and of those within.
  std::vector<ExternalRecord*> recorded_;
  std::vector<ExternalWait*> waited_;
  bool calls_host_functions_ = false;
  std::vector<std::shared_ptr<void>> memory_;
  Queue* queue_ = nullptr;
  Continuation* continuation_ = nullptr;
  std::atomic<std::uint32_t> unfinished_{0};
};

}  // namespace weir::host
