// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>

#include "backends/host/engine/executable.hpp"
#include "backends/host/engine/graph_data.hpp"
#include "weir/plugin/graph.hpp"

namespace weir::host {

class HostGraph final : public GraphImpl {
 public:
  HostGraph(Device& device, Ptr<GraphData> data);
  const Ptr<GraphData>& data() const noexcept { return data_; }

 protected:
  std::size_t do_node_count() const override;
  Topology do_topology() const override;
  std::string do_debug_dot() const override;
  GraphPtr do_clone() const override;
  GraphExecPtr do_instantiate(const InstantiateOptions& options) const override;
  Disposal disposal() const noexcept override { return Disposal::anywhere; }

 private:
  Ptr<GraphData> data_;
  // `memory_claim_` expires when the executable of a graph that allocates memory is destroyed: such a graph may have only
  // one.
  mutable std::mutex mutex_;
  mutable std::weak_ptr<void> memory_claim_;
};

class HostGraphExec final : public GraphExecImpl {
 public:
  HostGraphExec(Device& device, Ptr<GraphData> data, std::shared_ptr<void> memory_claim);

 protected:
  void do_launch(Stream& stream, const CaptureState& capture) override;
  void do_upload(Stream& stream) override;
  void do_update(const Graph& graph) override;
  void do_apply(const GraphChanges& changes) override;
  Disposal disposal() const noexcept override { return Disposal::anywhere; }

 private:
  const std::shared_ptr<void> memory_claim_;
  // Held while a launch is enqueued, so that each launch runs after the previous one, even on another queue.
  std::mutex mutex_;
  Ptr<GraphData> data_;
  Ptr<Executable> executable_;
  Ptr<Signal> last_;
  std::uint64_t last_number_ = 0;
};

}  // namespace weir::host
