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

  /// Calls `f(event)` for each event that a run records, subgraphs' included.
  template <class F>
  void for_each_recorded_event(F&& f) const {
    for (const HostEvent* event : recorded_) f(const_cast<HostEvent&>(*event));
  }

 private:
  class Node;
  void run_from(Node* node, Lane lane) noexcept;
  Node* after(Node& node, Lane lane) noexcept;
  void hand_out(Node& node) noexcept;
  bool finish(std::uint32_t count) noexcept;

  std::uint32_t node_count_;
  std::unique_ptr<Node[]> nodes_;
  std::vector<std::uint32_t> roots_;
  std::vector<const HostEvent*> recorded_;  // kept alive by the nodes
  std::vector<std::shared_ptr<void>> memory_;
  Queue* queue_ = nullptr;
  Continuation* continuation_ = nullptr;
  std::atomic<std::uint32_t> unfinished_{0};
};

}  // namespace weir::host
