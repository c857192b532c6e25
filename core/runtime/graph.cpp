// SPDX-License-Identifier: Apache-2.0
#include "weir/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "core/base/enum_name.hpp"
#include "core/runtime/captured_work.hpp"
#include "core/runtime/launch_check.hpp"
#include "core/runtime/submit.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/plugin/support.hpp"
#include "weir/stream.hpp"

// The functions of `Graph`, `GraphExec` and `Topology`.
namespace weir {

using detail::is_possible_launch;
using detail::throw_impossible_launch;

std::string_view to_string(NodeKind kind) noexcept {
  return detail::enum_name(kind, {"kernel", "copy", "fill", "host_function", "child_graph", "empty", "event_record",
                                  "event_wait", "memory_operations", "allocate", "free", "conditional", "other"});
}

// --- The end ----------------------------------------------------------------------------------------------------------

// The destructors report to tools, because tools identify graphs by their addresses, which may be reused.
Graph::~Graph() {
  detail::perform_always(device_, OperationKind::destroy_graph, "Graph", [this](auto& w) { w->graph = this; }, [] {});
}

GraphExec::~GraphExec() {
  detail::perform_always(device_, OperationKind::destroy_graph, "GraphExec", [this](auto& w) { w->exec = this; }, [] {});
}

// --- Topology ---------------------------------------------------------------------------------------------------------

std::size_t Topology::count(NodeKind kind) const noexcept {
  return static_cast<std::size_t>(std::count(nodes.begin(), nodes.end(), kind));
}

bool Topology::reaches(std::uint32_t from, std::uint32_t to) const {
  if (from >= nodes.size()) return false;
  std::vector<std::vector<std::uint32_t>> successors(nodes.size());
  for (const auto& [node, next] : edges) successors[node].push_back(next);
  std::vector<std::uint32_t> open{from};
  while (!open.empty()) {
    const std::uint32_t node = open.back();
    open.pop_back();
    for (const std::uint32_t next : std::exchange(successors[node], {})) {
      if (next == to) return true;
      open.push_back(next);
    }
  }
  return false;
}

namespace {

std::vector<std::uint32_t> without_edge(const Topology& topology, bool incoming) {
  std::vector<bool> has(topology.nodes.size(), false);
  for (const auto& [from, to] : topology.edges) has[incoming ? to : from] = true;
  std::vector<std::uint32_t> result;
  for (std::uint32_t i = 0; i < has.size(); ++i) {
    if (!has[i]) result.push_back(i);
  }
  return result;
}

}  // namespace

std::vector<std::uint32_t> Topology::roots() const { return without_edge(*this, true); }
std::vector<std::uint32_t> Topology::leaves() const { return without_edge(*this, false); }

// --- Graph ------------------------------------------------------------------------------------------------------------

std::string Graph::describe() const { return fmt::format("{} graph {}", device_.describe(), native_handle()); }

std::size_t Graph::node_count() const {
  const Call call(*this, "Graph::node_count");
  return impl(*this).do_node_count();
}

Topology Graph::topology() const {
  const Call call(*this, "Graph::topology");
  return impl(*this).do_topology();
}

std::string Graph::debug_dot() const {
  const Call call(*this, "Graph::debug_dot");
  call.require(Feature::graph_debug_dot);
  return impl(*this).do_debug_dot();
}

GraphPtr Graph::clone() const {
  const Call call(*this, "Graph::clone");
  call.require(Feature::graph_clone);
  call.check_not_continued(*this);
  if (topology().count(NodeKind::allocate) != 0) support::throw_second_owner_of_memory(call.operation(), describe());
  return perform(device_, OperationKind::clone_graph, call.operation(), [this](ToolNotice& notice) { notice->graph = this; },
                 [this] {
                   GraphPtr clone = impl(*this).do_clone();
                   clone->captured_work_ = captured_work_;
                   return clone;
                 });
}

GraphExecPtr Graph::instantiate(const InstantiateOptions& options) const {
  const Call call(*this, "Graph::instantiate");
  call.check_not_continued(*this);
  return perform(device_, OperationKind::instantiate, call.operation(), [this](ToolNotice& notice) { notice->graph = this; },
                 [&] {
                   GraphExecPtr exec = impl(*this).do_instantiate(options);
                   exec->captured_work_ = captured_work_;
                   return exec;
                 });
}

void support::throw_second_owner_of_memory(const char* operation, const std::string& object) {
  throw Error(Errc::unsupported, operation, object,
              "the graph allocates memory, and its nodes contain the addresses, so a copy would use the same memory; "
              "allocate outside the capture, or capture the work again");
}

// --- The record of a portable capture ---------------------------------------------------------------------------------

namespace {

// Guards `GraphExec::captured_work_`, because an update may run concurrently with a launch on a capturing stream.
std::mutex exec_mutex;

}  // namespace

std::shared_ptr<const detail::CapturedWork> detail::CapturedWork::of(const GraphExec& exec) {
  const std::lock_guard lock(exec_mutex);
  return exec.captured_work_;
}

void detail::CapturedWork::set(GraphExec& exec, const std::shared_ptr<const CapturedWork>& work) {
  std::shared_ptr<const CapturedWork> former = work;  // declared before the lock, so the old value is destroyed after the
                                                      // lock is released
  const std::lock_guard lock(exec_mutex);
  exec.captured_work_.swap(former);
}

// --- Executable graph -------------------------------------------------------------------------------------------------

std::string GraphExec::describe() const {
  return fmt::format("{} executable graph {}", device_.describe(), native_handle());
}

namespace {

Stream& not_null(const GraphExec& exec, const char* operation, StreamRef stream) {
  if (!stream) [[unlikely]]
    throw Error(Errc::invalid_argument, operation, exec.describe(), "the stream is null");
  return *stream;
}

[[gnu::always_inline]] inline void check_stream(const GraphExec& exec, const StreamCall& call) {
  if (&call.device() != &exec.device()) [[unlikely]] {
    throw Error(Errc::wrong_device, call.operation(), exec.describe(),
                "the stream is of " + call.device().describe() + "; a graph runs on the device on which it was captured");
  }
}

struct LaunchGraph {
  static constexpr OperationKind kind = OperationKind::launch_graph;
  static constexpr Capturing capturing = Capturing::node;
  GraphExec& exec;
  const std::atomic<bool>& changed;
  bool validate(const StreamCall& call) const {
    check_stream(exec, call);
    return true;
  }
  void check_capture(const StreamCall& call) const {
    call.require(Feature::graph_child_nodes);
    if (changed.load(std::memory_order_relaxed)) {
      throw Error(Errc::unsupported, call.operation(), exec.describe(),
                  "GraphExec::apply has changed it, but as a node of another graph it would be unchanged; launch it outside "
                  "captures, or capture the work again");
    }
  }
  void describe(ToolNotice& notice) const { notice->exec = &exec; }
  void enqueue(StreamImpl& stream, const CaptureState& capture) const { impl(exec).do_launch(stream, capture); }
};

struct UploadGraph {
  static constexpr OperationKind kind = OperationKind::upload_graph;
  static constexpr Capturing capturing = Capturing::refused;
  GraphExec& exec;
  bool validate(const StreamCall& call) const {
    check_stream(exec, call);
    call.require(Feature::graph_upload);
    return true;
  }
  void describe(ToolNotice& notice) const { notice->exec = &exec; }
  void enqueue(StreamImpl& stream, const CaptureState&) const { impl(exec).do_upload(stream); }
};

}  // namespace

void GraphExec::launch(StreamRef stream) {
  submit(not_null(*this, "GraphExec::launch", stream), "GraphExec::launch", LaunchGraph{*this, changed_});
}

void GraphExec::upload(StreamRef stream) {
  submit(not_null(*this, "GraphExec::upload", stream), "GraphExec::upload", UploadGraph{*this});
}

void GraphExec::update(GraphRef with) {
  const Call call(*this, "GraphExec::update");
  const Graph& graph = call.not_null(with, "the graph");
  call.require(Feature::graph_update);
  call.check_device(graph.device(), "the graph");
  call.check_not_continued(graph);
  const auto describe = [&](ToolNotice& notice) {
    notice->graph = &graph;
    notice->exec = this;
  };
  perform(device_, OperationKind::update_graph, call.operation(), describe, [&] { impl(*this).do_update(graph); });
  changed_.store(false, std::memory_order_relaxed);
  detail::CapturedWork::set(*this, graph.captured_work_);
}

void GraphExec::apply(const GraphChanges& changes) {
  const Call call(*this, "GraphExec::apply");
  call.require(Feature::graph_node_changes);
  for (const NodeChange& change : changes.changes()) {
    if (change.kind == NodeChange::Kind::kernel) {
      if (change.config.has_attributes()) {
        call.throw_error(
            Errc::invalid_argument,
            "node " + std::to_string(change.node.index) +
                ": a kernel keeps the attributes with which it was captured (cooperative, cluster, …); leave them out");
      }
      if (!is_possible_launch(device_, *change.kernel, change.config, change.parameters)) [[unlikely]]
        throw_impossible_launch(device_, call.operation(), describe(), *change.kernel, change.config, change.parameters);
    } else if (change.kind == NodeChange::Kind::copy || change.kind == NodeChange::Kind::fill) {
      if (change.count == 0 || change.destination == nullptr ||
          (change.kind == NodeChange::Kind::copy && change.source == nullptr)) {
        call.throw_error(
            Errc::invalid_argument,
            "node " + std::to_string(change.node.index) +
                ": a copy or fill of no elements, or at a null address, is not possible; disable the node instead");
      }
    }
  }
  if (changes.empty()) return;
  const auto describe = [&](ToolNotice& notice) {
    notice->exec = this;
    notice->changes = &changes;
  };
  perform(device_, OperationKind::change_nodes, call.operation(), describe, [&] {
    try {
      impl(*this).do_apply(changes);
    } catch (const Error& error) {
      if (error.errc() != Errc::graph_update_failed)
        changed_.store(true, std::memory_order_relaxed);  // the driver may have made some of the changes
      throw;
    }
    changed_.store(true, std::memory_order_relaxed);
  });
}

}  // namespace weir
