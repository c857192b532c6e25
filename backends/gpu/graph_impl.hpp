// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "backends/gpu/graph.hpp"
#include "backends/gpu/stream.hpp"

namespace weir::gpu {

// --- Looking at it ----------------------------------------------------------------------------------------------------

template <class Api>
std::vector<typename Api::NodeHandle> GpuGraph<Api>::nodes_of(Handle graph) const {
  const char* const operation = "Graph::topology";
  std::size_t count = 0;
  check(device_.api().GraphGetNodes(graph, nullptr, &count), operation);
  std::vector<NodeHandle> nodes(count);
  if (count != 0) check(device_.api().GraphGetNodes(graph, nodes.data(), &count), operation);
  return nodes;
}

template <class Api>
std::vector<std::pair<typename Api::NodeHandle, typename Api::NodeHandle>> GpuGraph<Api>::edges() const {
  const char* const operation = "Graph::topology";
  std::size_t count = 0;
  check(device_.api().graph_edges(native(), nullptr, nullptr, count), operation);
  std::vector<NodeHandle> from(count), to(count);
  if (count != 0) check(device_.api().graph_edges(native(), from.data(), to.data(), count), operation);
  std::vector<std::pair<NodeHandle, NodeHandle>> pairs(count);
  for (std::size_t i = 0; i < count; ++i) pairs[i] = {from[i], to[i]};
  return pairs;
}

template <class Api>
std::size_t GpuGraph<Api>::do_node_count() const {
  const std::lock_guard lock(mutex_);
  check_there("Graph::node_count");
  std::size_t count = 0;
  check(device_.api().GraphGetNodes(native(), nullptr, &count), "Graph::node_count");
  return count;
}

template <class Api>
Topology GpuGraph<Api>::do_topology() const {
  const std::lock_guard lock(mutex_);
  check_there("Graph::topology");
  Topology topology;
  std::unordered_map<NodeHandle, std::uint32_t> numbers;
  for (const NodeHandle node : nodes_of(native())) {
    numbers.emplace(node, static_cast<std::uint32_t>(topology.nodes.size()));
    NodeKind kind{};
    check(device_.api().node_kind(node, kind), "Graph::topology");
    topology.nodes.push_back(kind);
  }
  for (const auto& [from, to] : edges()) topology.edges.emplace_back(numbers.at(from), numbers.at(to));
  return topology;
}

template <class Api>
std::string GpuGraph<Api>::do_debug_dot() const {
  const char* const operation = "Graph::debug_dot";
  // Drivers write to a file only.
  const char* const folder = ::secure_getenv("TMPDIR");
  std::string path = std::string(folder != nullptr && *folder == '/' ? folder : "/tmp") + "/weir-graph-XXXXXX";
  const int file = ::mkstemp(path.data());
  if (file < 0) {
    throw Error(Errc::backend_failure, operation, describe(),
                "no temporary file " + path + ": " + std::generic_category().message(errno) + "; set TMPDIR to a writable folder");
  }
  ::close(file);
  struct Remove {
    const std::string& path;
    ~Remove() { ::unlink(path.c_str()); }
  } remove{path};
  {
    const std::lock_guard lock(mutex_);
    check_there(operation);
    check(device_.api().GraphDebugDotPrint(native(), path.c_str(), 0), operation);
  }
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <class Api>
GraphPtr GpuGraph<Api>::do_clone() const {
  const std::lock_guard lock(mutex_);
  check_there("Graph::clone");
  Handle copy = nullptr;
  check(device_.api().GraphClone(&copy, native()), "Graph::clone");
  return make<GpuGraph>(device_, copy, GraphOwnership::own, modules_);
}

// --- Being captured into again ----------------------------------------------------------------------------------------

template <class Api>
std::shared_ptr<GraphTemplate<Api>> GpuGraph<Api>::as_template() const {
  const std::lock_guard lock(mutex_);
  check_there("Graph::instantiate");
  if (auto existing = template_.lock()) return existing;
  auto made = std::make_shared<GraphTemplate<Api>>(device_.api(), GraphPtr(const_cast<GpuGraph*>(this)), native(),
                                                   modules_);
  template_ = made;
  return made;
}

template <class Api>
std::vector<typename Api::NodeHandle> GpuGraph<Api>::prepare_resume() {
  std::shared_ptr<GraphTemplate<Api>> shared;  // outlives the lock: it may be the last to hold this graph
  const std::lock_guard lock(mutex_);
  check_there("Stream::resume_capture");
  shared = template_.lock();
  if (shared) check(shared->become_copy(), "Stream::resume_capture");
  template_.reset();
  std::unordered_set<NodeHandle> inner;
  for (const auto& [from, to] : edges()) inner.insert(from);
  std::vector<NodeHandle> leaves = nodes_of(native());
  std::erase_if(leaves, [&](NodeHandle node) { return inner.contains(node); });
  return leaves;
}

// --- Instantiation ----------------------------------------------------------------------------------------------------

template <class Api>
void GpuGraph<Api>::look_through(Handle graph, Contents& contents) const {
  const char* const operation = "Graph::instantiate";
  const Api& api = device_.api();
  for (const NodeHandle node : nodes_of(graph)) {
    NodeKind kind{};
    check(api.node_kind(node, kind), operation);
    if (kind == NodeKind::allocate) contents.allocates = true;
    if (kind == NodeKind::child_graph) {
      Handle child = nullptr;
      check(api.GraphChildGraphNodeGetGraph(node, &child), operation);
      look_through(child, contents);
    }
    if (kind == NodeKind::host_function) {
      typename Api::HostNodeParameters parameters{};
      check(api.GraphHostNodeGetParams(node, &parameters), operation);
      if (parameters.fn == &CapturedHostFunction::run) {
        contents.host_functions.push_back(static_cast<CapturedHostFunction*>(parameters.userData)->errors);
      }
    }
  }
}

template <class Api>
template <class F>
void GpuGraph<Api>::with_contents(const char* operation, F&& use) const {
  const std::lock_guard lock(mutex_);
  check_there(operation);
  Contents contents;
  look_through(native(), contents);
  Ptr<GraphErrors> errors;
  if (!contents.host_functions.empty()) errors = make<GraphErrors>(std::move(contents.host_functions));
  use(native(), std::move(errors), contents.allocates);
}

template <class Api>
GraphExecPtr GpuGraph<Api>::do_instantiate(const InstantiateOptions& options) const {
  const char* const operation = "Graph::instantiate";
  auto made_of = as_template();
  GraphExecPtr made;
  with_contents(operation, [&](Handle graph, Ptr<GraphErrors> errors, bool allocates) {
    const Api& api = device_.api();
    const auto current = device_.make_current();
    const CaptureModeScope<Api> relaxed(api);
    typename Api::GraphExecHandle exec = nullptr;
    const auto flags = options.auto_free_on_launch && allocates ? Api::instantiate_auto_free : 0;
    check(api.GraphInstantiateWithFlags(&exec, graph, flags), operation);
    made = make<GpuGraphExec<Api>>(device_, exec, std::move(made_of), std::move(errors));
  });
  return made;
}

// --- Executables ------------------------------------------------------------------------------------------------------

template <class Api>
void GpuGraphExec<Api>::do_launch(Stream& stream, const CaptureState& capture) {
  auto& on = static_cast<GpuStream<Api>&>(stream);
  if (capture) {
    const std::lock_guard lock(mutex_);
    on.keep_modules(made_of_->modules(), capture);
    made_of_->with_handle([&](auto graph) { on.add_child(graph); });
    return;
  }
  const std::lock_guard lock(mutex_);
  const typename GpuStream<Api>::Submission submission(on);
  if (errors_) on.launched_graphs().add(errors_);
  const auto result = device_.api().GraphLaunch(native(), on.native());
  if (result != Api::success) [[unlikely]] fail(device_.api(), result, "GraphExec::launch", stream.describe());
}

template <class Api>
void GpuGraphExec<Api>::do_upload(Stream& stream) {
  auto& on = static_cast<GpuStream<Api>&>(stream);
  const std::lock_guard lock(mutex_);
  const typename GpuStream<Api>::Submission submission(on);
  const auto result = device_.api().GraphUpload(native(), on.native());
  if (result != Api::success) fail(device_.api(), result, "GraphExec::upload", stream.describe());
}

template <class Api>
void GpuGraphExec<Api>::do_update(const Graph& graph) {
  const char* const operation = "GraphExec::update";
  const auto& source = static_cast<const GpuGraph<Api>&>(graph);
  auto made_of = source.as_template();
  source.with_contents(operation, [&](auto handle, Ptr<GraphErrors> errors, bool) {
    const std::lock_guard lock(mutex_);
    const auto current = device_.make_current();
    std::string difference;
    const auto result = device_.api().update_exec(native(), handle, difference);
    if (result != Api::success) {
      if (difference.empty()) fail(device_.api(), result, operation, describe());
      throw Error(Errc::graph_update_failed, operation, describe(),
                  difference + "; the executable is unchanged; instantiate the new graph instead",
                  native_error(device_.api(), result));
    }
    made_of_ = std::move(made_of);
    errors_ = std::move(errors);
  });
}

}  // namespace weir::gpu
