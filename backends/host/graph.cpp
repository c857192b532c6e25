// SPDX-License-Identifier: Apache-2.0
#include "backends/host/graph.hpp"

#include <algorithm>

#include "backends/host/capture.hpp"
#include "backends/host/device.hpp"
#include "backends/host/queue.hpp"
#include "backends/host/stream.hpp"
#include "weir/error.hpp"

namespace weir::host {

// --- Content ----------------------------------------------------------------------------------------------------------

std::uint32_t GraphData::add(NodeKind kind, Work work, std::vector<std::uint32_t> after) {
  nodes.push_back({kind, std::move(work), std::move(after)});
  return static_cast<std::uint32_t>(nodes.size() - 1);
}

Topology GraphData::topology() const {
  Topology result;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    result.nodes.push_back(nodes[i].kind);
    for (const std::uint32_t before : nodes[i].after) result.edges.emplace_back(before, i);
  }
  return result;
}

Ptr<GraphData> GraphData::copy() const {
  auto result = make<GraphData>();
  result->nodes = nodes;
  result->memory = memory;
  return result;
}

// --- Graph ------------------------------------------------------------------------------------------------------------

HostGraph::HostGraph(HostDevice& device, Ptr<GraphData> data) : Graph(device, data.get()), data_(std::move(data)) {}

std::size_t HostGraph::do_node_count() const { return data_->nodes.size(); }
Topology HostGraph::do_topology() const { return data_->topology(); }

std::string HostGraph::do_debug_dot() const {
  std::string text = "digraph weir {\n  rankdir=TB;\n  node [shape=box];\n";
  for (std::size_t i = 0; i < data_->nodes.size(); ++i) {
    const GraphNode& node = data_->nodes[i];
    std::string label = std::to_string(i) + ": " + std::string(to_string(node.kind));
    if (const auto* const launch = std::get_if<Launch>(&node.work)) {
      label += "\\n" + launch->kernel->name() + " " + to_string(launch->grid) + " x " + to_string(launch->block);
    } else if (const auto* const copy = std::get_if<Copy>(&node.work)) {
      label += "\\n" + std::to_string(copy->width * copy->height) + " bytes";
    } else if (const auto* const fill = std::get_if<Fill>(&node.work)) {
      label += "\\n" + std::to_string(fill->width * fill->height * fill->element_size) + " bytes";
    }
    text += "  n" + std::to_string(i) + " [label=\"" + label + "\"];\n";
    for (const std::uint32_t before : node.after) {
      text += "  n" + std::to_string(before) + " -> n" + std::to_string(i) + ";\n";
    }
  }
  return text + "}\n";
}

GraphPtr HostGraph::do_clone() const { return make<HostGraph>(static_cast<HostDevice&>(device()), data_->copy()); }

GraphExecPtr HostGraph::do_instantiate(const InstantiateOptions&) const {
  return make<HostGraphExec>(static_cast<HostDevice&>(device()), data_->copy());
}

// --- Executable graph -------------------------------------------------------------------------------------------------

HostGraphExec::HostGraphExec(HostDevice& device, Ptr<GraphData> data)
    : GraphExec(device, data.get()), data_(std::move(data)), program_(make<Program>(*data_)) {}

void HostGraphExec::do_launch(Stream& stream) {
  Queue& queue = static_cast<HostStream&>(stream).queue();
  Ptr<Signal> former;  // let go of outside the lock
  std::lock_guard lock(mutex_);
  if (Capture::add(queue, NodeKind::child_graph, SubGraph{data_, nullptr})) return;
  if (last_ && last_.get() != &queue && !last_->has_reached(last_number_)) queue.enqueue(SignalWait{last_, last_number_});
  // A launch waits for the records there are when it is made, and is waited for by what comes after it.
  std::vector<SignalWait> wait_points = program_->wait_points();
  std::vector<std::uint64_t> numbers;
  for (HostEvent* const event : program_->recorded_events()) numbers.push_back(event->reserve_external_record());
  queue.enqueue(SubGraph{nullptr, program_, std::move(wait_points)});
  for (std::size_t i = 0; i < numbers.size(); ++i) program_->recorded_events()[i]->expect_external_record(numbers[i]);
  last_number_ = queue.submitted();
  if (last_.get() != &queue) {
    former = std::move(last_);
    last_ = Ptr<Signal>(&queue);
  }
}

void HostGraphExec::do_upload(Stream&) {}

void HostGraphExec::do_update(const Graph& graph) {
  const auto refuse = [this](const std::string& cause) {
    throw Error(Errc::graph_update_failed, "GraphExec::update", describe(), cause + "; instantiate the new graph instead");
  };
  // What is replaced is let go of outside the lock: it may own what launches this graph when it goes.
  Ptr<GraphData> fresh = static_cast<const HostGraph&>(graph).data()->copy();
  Ptr<Program> program = make<Program>(*fresh);
  std::lock_guard lock(mutex_);
  if (fresh->nodes.size() != data_->nodes.size()) {
    refuse("the new graph has " + std::to_string(fresh->nodes.size()) + " nodes, and this has " +
           std::to_string(data_->nodes.size()));
  }
  for (std::size_t i = 0; i < fresh->nodes.size(); ++i) {
    const GraphNode& now = data_->nodes[i];
    const GraphNode& then = fresh->nodes[i];
    if (now.kind != then.kind) {
      refuse("node " + std::to_string(i) + " is a " + std::string(to_string(then.kind)) + " in the new graph, and a " +
             std::string(to_string(now.kind)) + " in this");
    }
    if (now.after != then.after) refuse("node " + std::to_string(i) + " comes after other nodes in the new graph than in this");
  }
  // Launches that are enqueued hold on to the program that they were enqueued with.
  program_.swap(program);
  data_.swap(fresh);
}

}  // namespace weir::host
