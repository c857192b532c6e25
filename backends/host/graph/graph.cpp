// SPDX-License-Identifier: Apache-2.0
#include "backends/host/graph/graph.hpp"

#include <algorithm>

#include "backends/host/engine/engine.hpp"
#include "backends/host/engine/queue.hpp"
#include "backends/host/graph/capture.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/plugin/support.hpp"

namespace weir::host {

// --- Graph ------------------------------------------------------------------------------------------------------------

HostGraph::HostGraph(Device& device, Ptr<GraphData> data) : GraphImpl(device, data.get()), data_(std::move(data)) {}

std::size_t HostGraph::do_node_count() const { return data_->nodes.size(); }
Topology HostGraph::do_topology() const { return data_->topology(); }

std::string HostGraph::do_debug_dot() const {
  std::string text = "digraph weir {\n  rankdir=TB;\n  node [shape=box];\n";
  for (std::size_t i = 0; i < data_->nodes.size(); ++i) {
    const NodeData& node = data_->nodes[i];
    std::string label = std::to_string(i) + ": " + std::string(to_string(node.kind));
    if (const auto* const launch = std::get_if<Launch>(&node.work)) {
      label += "\\n" + launch->kernel->name() + " " + to_string(launch->grid) + " x " + to_string(launch->block);
    } else if (const auto* const copy = std::get_if<Copy>(&node.work)) {
      label += "\\n" + std::to_string(copy->width * copy->rows()) + " bytes";
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

GraphPtr HostGraph::do_clone() const { return make_ptr<HostGraph>(device(), data_->copy()); }

GraphExecPtr HostGraph::do_instantiate(const InstantiateOptions&) const {
  Device& own_device = device();
  if (data_->memory.empty()) return make_ptr<HostGraphExec>(own_device, data_->copy(), nullptr);
  const std::lock_guard lock(mutex_);
  if (!memory_claim_.expired()) support::throw_second_owner_of_memory("Graph::instantiate", describe());
  auto claim = std::make_shared<char>();
  memory_claim_ = claim;
  return make_ptr<HostGraphExec>(own_device, data_->copy(), std::move(claim));
}

// --- Executable graph -------------------------------------------------------------------------------------------------

HostGraphExec::HostGraphExec(Device& device, Ptr<GraphData> data, std::shared_ptr<void> memory_claim)
    : GraphExecImpl(device, this),
      memory_claim_(std::move(memory_claim)),
      data_(std::move(data)),
      executable_(make_ptr<Executable>(*data_)) {}

void HostGraphExec::do_launch(Stream& stream, const CaptureState& capture) {
  Queue& queue = queue_of(stream);
  Ptr<Signal> former;  // destroyed outside the lock
  std::lock_guard lock(mutex_);
  if (capture && !data_->memory.empty()) {
    support::throw_second_owner_of_memory("GraphExec::launch", describe());
  }
  if (capture) check_nesting("GraphExec::launch", describe(), *data_);
  if (Capture::add(queue, NodeKind::child_graph, SubGraph{data_, nullptr})) return;
  if (last_ && last_.get() != &queue && !last_->has_reached(last_number_)) queue.enqueue(SignalWait{last_, last_number_});
  // The launch waits for the records that exist now, when it is enqueued.
  std::vector<SignalWait> wait_points = executable_->wait_points();
  if (executable_->calls_host_functions()) queue.engine().host_thread().ensure_started();
  queue.enqueue(SubGraph{nullptr, executable_, std::move(wait_points), support::watched_launch()});
  executable_->expect_records();
  last_number_ = queue.submitted();
  if (last_.get() != &queue) {
    former = std::move(last_);
    last_ = Ptr<Signal>(&queue);
  }
}

void HostGraphExec::do_upload(Stream&) {}

namespace {

/// Describes how the shapes of two graphs differ; empty if they are equal.
std::string difference_of(const GraphData& now, const GraphData& then) {
  if (then.nodes.size() != now.nodes.size()) {
    return "the new graph has " + std::to_string(then.nodes.size()) + " nodes, but this graph has " +
           std::to_string(now.nodes.size());
  }
  for (std::size_t i = 0; i < then.nodes.size(); ++i) {
    const NodeData& a = now.nodes[i];
    const NodeData& b = then.nodes[i];
    if (a.kind != b.kind) {
      return "node " + std::to_string(i) + " is a " + std::string(to_string(b.kind)) + " in the new graph, but a " +
             std::string(to_string(a.kind)) + " in this";
    }
    if (a.after != b.after) return "node " + std::to_string(i) + " depends on other nodes in the new graph than in this one";
    const auto inner_a = nested_graphs(a.work), inner_b = nested_graphs(b.work);
    if (inner_a.size() != inner_b.size()) return "node " + std::to_string(i) + " has another number of bodies";
    for (std::size_t j = 0; j < inner_a.size(); ++j) {
      if (const std::string inner = difference_of(*inner_a[j], *inner_b[j]); !inner.empty())
        return "in the graph of node " + std::to_string(i) + ": " + inner;
    }
  }
  return {};
}

}  // namespace

void HostGraphExec::do_update(const Graph& graph) {
  const auto throw_update_failed = [this](const std::string& cause) {
    throw Error(Errc::graph_update_failed, "GraphExec::update", describe(), cause + "; instantiate the new graph instead");
  };
  // The replaced executable is destroyed outside the lock, because its destructor may run user code.
  Ptr<GraphData> fresh = static_cast<const HostGraph&>(graph).data()->copy();
  Ptr<Executable> executable = make_ptr<Executable>(*fresh);
  std::lock_guard lock(mutex_);
  if (!fresh->memory.empty() || !data_->memory.empty())
    throw_update_failed("a graph that allocates memory cannot be updated, because it keeps its memory");
  if (const std::string difference = difference_of(*data_, *fresh); !difference.empty()) throw_update_failed(difference);
  // Launches that are already enqueued keep the executable that they were enqueued with.
  executable_.swap(executable);
  data_.swap(fresh);
}

namespace {

void change_node(NodeData& node, const NodeChange& change, const GraphChanges& changes, const HostGraphExec& exec) {
  switch (change.kind) {
    case NodeChange::Kind::enable: node.is_disabled = false; break;
    case NodeChange::Kind::disable: node.is_disabled = true; break;
    case NodeChange::Kind::copy:
      if (node.captured_bytes == 0) {
        const auto& captured = std::get<Copy>(node.work);
        node.captured_bytes = captured.width * captured.rows();
      }
      if (change.count > node.captured_bytes) {
        throw Error(Errc::graph_update_failed, "GraphExec::apply", exec.describe(),
                    "node " + std::to_string(change.node.index) + " was captured as a copy of " +
                        std::to_string(node.captured_bytes) + " bytes, but the change is a copy of " +
                        std::to_string(change.count) + "; capture the largest copy; nothing was changed");
      }
      node.work = contiguous_copy(change.destination, change.source, change.count);
      break;
    case NodeChange::Kind::fill:
      node.work = Fill{change.destination, change.element_size * change.count, change.value,
                       static_cast<std::uint32_t>(change.element_size), change.count, 1};
      break;
    case NodeChange::Kind::kernel: {
      const Launch former = std::get<Launch>(node.work);
      LaunchConfig config = change.config;
      config.cooperative = former.cooperative;
      config.priority = former.priority;
      check_cooperative("GraphExec::apply", change.kernel->device().describe(), *change.kernel, config);
      Launch launch(static_cast<const HostKernel&>(*change.kernel), config,
                    {changes.arguments_of(change), change.parameters.size()}, change.parameters);
      launch.most_workers = former.most_workers;
      node.work = std::move(launch);
      break;
    }
  }
}

}  // namespace

void HostGraphExec::do_apply(const GraphChanges& changes) {
  // First the new executable, after the swap the replaced one, which is destroyed outside the lock.
  Ptr<Executable> executable;
  Ptr<GraphData> fresh;
  const std::lock_guard lock(mutex_);
  fresh = data_->copy();
  for (const NodeChange& change : changes.changes()) {
    const std::size_t count = fresh->nodes.size();
    if (change.node.index >= count) support::throw_impossible_change(describe(), change, std::nullopt, count);
    const NodeKind kind = fresh->nodes[change.node.index].kind;
    if (!support::fits(change.kind, kind)) support::throw_impossible_change(describe(), change, kind, count);
    change_node(fresh->nodes[change.node.index], change, changes, *this);
  }
  executable = make_ptr<Executable>(*fresh);
  executable_.swap(executable);
  data_.swap(fresh);
}

}  // namespace weir::host
