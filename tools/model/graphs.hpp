// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "weir/device.hpp"
#include "weir/plugin/operation.hpp"

/// A model of a program's captures and graphs, which tools keep up to date from the reported operations.
namespace weir::model {

/// Identifies a capture. Each backend numbers its own captures, so the backend is part of the key.
using CaptureId = std::pair<const Backend*, std::uint64_t>;
inline CaptureId capture_id(const Operation& operation) { return {&operation.device->backend(), operation.capture}; }

/// Follows a program's captures, the graphs that they make, and the executables made from the graphs. `Node`: a tool's data
/// for a node. `OpenCapture`: a tool's data for a capture until it ends.
template <class Node, class OpenCapture>
class Graphs {
 public:
  using Nodes = std::vector<Node>;
  struct Capture : OpenCapture {
    Nodes nodes;
    std::uint64_t conditional = 0;  ///< if this captures a body of a conditional node: the node's operation; else 0
  };

  Capture& capture_of(const Operation& operation) {
    const auto [there, is_new] = captures_.try_emplace(capture_id(operation));
    if (is_new) {
      const auto open = conditionals_.find(operation.thread);
      if (open != conditionals_.end()) there->second.conditional = open->second.back();
    }
    return there->second;
  }
  Capture* find(const CaptureId& id) {
    const auto found = captures_.find(id);
    return found != captures_.end() ? &found->second : nullptr;
  }
  std::map<CaptureId, Capture>& captures() { return captures_; }

  /// Returns the nodes of the graph that the operation launches or adds as a child graph; null if the graph is not known.
  const Nodes* nodes_of(const Operation& operation) const {
    return operation.exec != nullptr ? find_nodes(executables_, operation.exec) : find_nodes(graphs_, operation.graph);
  }

  /// Begins a conditional node. Captures that the same thread begins before `end_conditional` are the node's bodies.
  void begin_conditional(const Operation& operation) { conditionals_[operation.thread].push_back(operation.id); }
  /// Ends a conditional node and returns the nodes of its bodies. Calls `finish(capture)` for each body whose capture did
  /// not report its end.
  template <class Finish>
  Nodes end_conditional(const Operation& operation, Finish&& finish) {
    if (auto& open = conditionals_[operation.thread]; std::erase(open, operation.id) == 0 || open.empty())
      conditionals_.erase(operation.thread);
    for (auto next = captures_.begin(); next != captures_.end();) {
      const auto capture = next++;
      if (capture->second.conditional != operation.id) continue;
      add_body(capture->second, finish);
      captures_.erase(capture);
    }
    const auto nodes = bodies_.extract(operation.id);
    return nodes.empty() ? Nodes() : std::move(nodes.mapped());
  }

  /// Calls `function(nodes)` to change the nodes of an executable. Does nothing if the executable is not known.
  template <class F>
  void change(const GraphExec* exec, F&& function) {
    const auto found = executables_.find(exec);
    if (found == executables_.end() || found->second == nullptr) return;
    auto nodes = std::make_shared<Nodes>(*found->second);
    function(*nodes);
    found->second = std::move(nodes);
  }

  /// Updates the model after an operation that begins or ends a capture, or clones, instantiates, updates or destroys a
  /// graph. Calls `finish(capture)` before a capture becomes a graph. Call this in a tool's `after`.
  template <class Finish>
  void follow(const Operation& operation, Finish&& finish) {
    switch (operation.kind) {
      case OperationKind::begin_capture:
        if (operation.has_failed) break;
        if (const Nodes* const continued = find_nodes(graphs_, operation.graph)) capture_of(operation).nodes = *continued;
        break;
      case OperationKind::end_capture: {
        auto capture = captures_.extract(capture_id(operation));
        if (operation.new_graph == nullptr || operation.has_failed) break;
        if (capture.empty()) {
          graphs_.erase(operation.new_graph);  // an earlier graph may have had this address
        } else if (capture.mapped().conditional != 0) {
          add_body(capture.mapped(), finish);
        } else {
          finish(capture.mapped());
          graphs_[operation.new_graph] = std::make_shared<const Nodes>(std::move(capture.mapped().nodes));
        }
        break;
      }
      case OperationKind::clone_graph:
        if (operation.new_graph != nullptr) graphs_[operation.new_graph] = shared(operation.graph);
        break;
      case OperationKind::instantiate:
      case OperationKind::update_graph:
        if (operation.exec != nullptr && !operation.has_failed) executables_[operation.exec] = shared(operation.graph);
        break;
      case OperationKind::destroy_graph:
        graphs_.erase(operation.graph);
        executables_.erase(operation.exec);
        break;
      default: break;
    }
  }

 private:
  using NodesPtr = std::shared_ptr<const Nodes>;

  template <class Map, class Key>
  static const Nodes* find_nodes(const Map& map, const Key* key) {
    const auto found = map.find(key);
    return found != map.end() ? found->second.get() : nullptr;
  }
  NodesPtr shared(const Graph* graph) const {
    const auto found = graphs_.find(graph);
    return found != graphs_.end() ? found->second : nullptr;
  }
  template <class Finish>
  void add_body(Capture& body, Finish&& finish) {
    finish(body);
    Nodes& nodes = bodies_[body.conditional];
    std::move(body.nodes.begin(), body.nodes.end(), std::back_inserter(nodes));
  }

  std::map<CaptureId, Capture> captures_;
  std::map<std::uint64_t, std::vector<std::uint64_t>> conditionals_;  // open conditional nodes, by thread
  std::map<std::uint64_t, Nodes> bodies_;                             // nodes of bodies, by conditional node
  std::map<const Graph*, NodesPtr> graphs_;
  std::map<const GraphExec*, NodesPtr> executables_;
};

}  // namespace weir::model
