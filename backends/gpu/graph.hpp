// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/gpu/capture.hpp"
#include "backends/gpu/device.hpp"
#include "backends/gpu/graph_errors.hpp"
#include "weir/plugin/graph.hpp"

namespace weir::gpu {

enum class GraphOwnership : std::uint8_t {
  own,         ///< the object destroys its graph
  of_capture,  ///< the capture that builds the graph owns it
};

/// Held while an executable is created or destroyed, a graph is copied or destroyed, a capture ends (a failed one destroys
/// its graph), or a template is used. CUDA's driver (580) counts references between executables, graphs, copies and parent
/// graphs without a lock, and crashes if two threads do so at once. Recursive, because destroying a graph may destroy
/// objects that its host functions own.
template <class Api>
std::recursive_mutex& copy_mutex() {
  static auto& mutex = *new std::recursive_mutex;  // never destroyed, because graphs may be destroyed after main
  return mutex;
}

template <class Api>
typename Api::Result destroy_graph(const Api& api, typename Api::GraphHandle graph) {
  const std::lock_guard lock(copy_mutex<Api>());
  return api.GraphDestroy(graph);
}

/// Checks a call that copies a graph, such as a clone or a child graph. Drivers refuse to copy some kinds of nodes without
/// reporting which.
template <class Api, class Object>
void check_copy(const Api& api, typename Api::Result result, const char* operation, const Object& object) {
  const bool refused = result != Api::success && Api::meaning(result).errc == Errc::unsupported;
  if (refused) [[unlikely]]
    fail(api, result, operation, object.describe(),
         "this driver cannot copy a graph with conditional nodes or allocations, neither as a clone nor as a child graph; "
         "capture its work again instead");
  check(api, result, operation, object);
}

/// The nodes, in the order of their creation.
template <class Api, class Object>
std::vector<typename Api::NodeHandle> nodes_of(const Api& api, typename Api::GraphHandle graph, const char* operation,
                                               const Object& object) {
  std::size_t count = 0;
  check(api, api.GraphGetNodes(graph, nullptr, &count), operation, object);
  std::vector<typename Api::NodeHandle> nodes(count);
  if (count != 0) check(api, api.GraphGetNodes(graph, nodes.data(), &count), operation, object);
  return nodes;
}

template <class Api, class Object>
auto edges_of(const Api& api, typename Api::GraphHandle graph, const char* operation, const Object& object) {
  using Node = typename Api::NodeHandle;
  std::size_t count = 0;
  check(api, api.graph_edges(graph, nullptr, nullptr, count), operation, object);
  std::vector<Node> from(count), to(count);
  if (count != 0) check(api, api.graph_edges(graph, from.data(), to.data(), count), operation, object);
  std::vector<std::pair<Node, Node>> edges(count);
  for (std::size_t i = 0; i < count; ++i) edges[i] = {from[i], to[i]};
  return edges;
}

/// The nodes without successors.
template <class Api, class Object>
std::vector<typename Api::NodeHandle> leaves_of(const Api& api, typename Api::GraphHandle graph, const char* operation,
                                                const Object& object) {
  std::set<typename Api::NodeHandle> inner;
  for (const auto& edge : edges_of(api, graph, operation, object)) inner.insert(edge.first);
  auto leaves = nodes_of(api, graph, operation, object);
  std::erase_if(leaves, [&](auto node) { return inner.contains(node); });
  return leaves;
}

/// The content of a graph at the time when executables were instantiated from it. If such an executable is launched in a
/// capture, the template becomes a child node.
template <class Api>
class GraphTemplate {
 public:
  using Handle = typename Api::GraphHandle;

  GraphTemplate(const Api& api, GraphPtr graph, Handle handle, KeptModules modules)
      : api_(api), graph_(std::move(graph)), handle_(handle), modules_(std::move(modules)) {}
  ~GraphTemplate() {
    if (copied_) log_failure(api_, destroy_graph(api_, handle_), "while a graph was destroyed", "weir");
  }
  GraphTemplate(const GraphTemplate&) = delete;
  GraphTemplate& operator=(const GraphTemplate&) = delete;

  /// Calls `function(handle)` under the lock that calls which copy the graph need.
  template <class F>
  void with_handle(F&& function) const {
    const std::lock_guard lock(copy_mutex<Api>());
    function(handle_);
  }
  const KeptModules& modules() const noexcept { return modules_; }

  /// Called when the original graph is about to change: replaces the reference to it by a copy of its own.
  typename Api::Result become_copy() {
    const std::lock_guard lock(copy_mutex<Api>());
    Handle copy = nullptr;
    const auto result = api_.GraphClone(&copy, handle_);
    if (result != Api::success) return result;
    handle_ = copy;
    copied_ = true;
    graph_.reset();  // cannot release the last reference, because the graph itself is the caller
    return result;
  }

 private:
  const Api& api_;
  GraphPtr graph_;  // owner of `handle_`; null once this object has its own copy
  Handle handle_;
  const KeptModules modules_;
  bool copied_ = false;
};

/// A captured graph. It has a lock, because a driver's graph may not be used by two threads at once.
template <class Api>
class GpuGraph final : public GraphImpl {
 public:
  using Handle = typename Api::GraphHandle;
  using NodeHandle = typename Api::NodeHandle;

  GpuGraph(GpuDevice<Api>& device, Handle handle, GraphOwnership ownership, KeptModules modules = nullptr)
      : GraphImpl(device, handle), device_(device), ownership_(ownership), modules_(std::move(modules)) {}

  /// Creates the owner of a graph that the driver has just created, with the modules that `modules()` returns.
  template <class Modules>
  static GraphPtr own(GpuDevice<Api>& device, Handle handle, Modules&& modules) {
    return make_owner([&]() -> GraphPtr { return make_ptr<GpuGraph>(device, handle, GraphOwnership::own, modules()); },
                      [&] { destroy(device, handle); });
  }

  Handle native() const noexcept { return static_cast<Handle>(native_handle()); }
  /// Calls `function(handle)` under the locks that calls which copy the graph need.
  template <class F>
  void with_handle(F&& function) const {
    const std::scoped_lock lock(mutex_, copy_mutex<Api>());
    check_there("Graph");
    function(native());
  }
  KeptModules modules() const {
    const std::lock_guard lock(mutex_);
    return modules_;
  }
  /// Adds the modules of kernels that a continued capture has added. If there is no memory for the list, the modules are
  /// never unloaded.
  void keep(std::vector<ModulePtr>&& modules) {
    const std::lock_guard lock(mutex_);
    modules_ = make_owner(
        [&] {
          auto all = std::make_shared<std::vector<ModulePtr>>(modules);
          if (modules_) all->insert(all->end(), modules_->begin(), modules_->end());
          return all;
        },
        [&] {
          for (ModulePtr& module : modules) (void)module.detach();
        });
  }
  /// Called when the driver has destroyed the native graph.
  void lose() noexcept {
    const std::lock_guard lock(mutex_);
    lost_ = true;
  }

  /// Returns the template that executables of the present graph share.
  std::shared_ptr<GraphTemplate<Api>> as_template() const;
  /// Prepares a capture that continues this graph, and returns the leaves, which its first node depends on. Existing
  /// executables keep a copy of the present graph.
  std::vector<NodeHandle> prepare_resume();
  /// The first `count` nodes of the graph: those that existed when a continuing capture began. They are cached, because the
  /// driver's graph must not be read during such a capture.
  struct Nodes {
    std::vector<NodeHandle> handles;
    std::vector<NodeKind> kinds;
  };
  Nodes first_nodes(std::size_t count, const char* operation) const {
    const std::lock_guard lock(mutex_);
    check_there(operation);
    Nodes nodes = before_resume_.handles.size() < count ? list_nodes(operation) : before_resume_;
    nodes.handles.resize(count);
    nodes.kinds.resize(count);
    return nodes;
  }

  struct Contents {
    // The error lists of host functions captured by Weir, including those in child graphs.
    std::vector<Ptr<HostErrors>> host_functions;
    bool allocates = false;                       // whether any node allocates memory
    bool has_priorities = false;                  // whether any kernel node has a priority other than the default
    bool has_conditions = false;
    std::size_t node_count = 0;                   // does not include nodes of child graphs
    // Addresses that nodes allocate, and addresses that nodes free; empty if `Api::executables_free_memory()`.
    std::vector<void*> left, freed;
  };
  /// Calls `use(handle, errors, contents)`. `errors`: exceptions of the host functions that Weir captured; null if there are
  /// none.
  template <class F>
  void with_contents(const char* operation, F&& use) const;

 protected:
  ~GpuGraph() override {
    if (ownership_ == GraphOwnership::of_capture || lost_) return;
    destroy(device_, native());
  }

  std::size_t do_node_count() const override {
    const std::lock_guard lock(mutex_);
    check_there("Graph::node_count");
    std::size_t count = 0;
    check(device_.api().GraphGetNodes(native(), nullptr, &count), "Graph::node_count");
    return count;
  }
  Topology do_topology() const override;
  std::string do_debug_dot() const override;
  GraphPtr do_clone() const override;
  GraphExecPtr do_instantiate(const InstantiateOptions& options) const override;

 private:
  void check_there(const char* operation) const {
    if (lost_) {
      throw Error(Errc::capture_invalidated, operation, describe(),
                  "the graph was destroyed: a capture that continued it failed, and the driver destroyed both; capture the "
                  "graph again");
    }
  }
  static void destroy(const GpuDevice<Api>& device, Handle handle) noexcept {
    const CaptureModeScope<Api> relaxed(device.api());
    log_failure(device.api(), destroy_graph(device.api(), handle), "while a graph was destroyed", device.describe());
  }
  Nodes list_nodes(const char* operation) const {
    Nodes nodes{nodes_of(device_.api(), native(), operation, *this), {}};
    for (const NodeHandle node : nodes.handles) check(device_.api().node_kind(node, nodes.kinds.emplace_back()), operation);
    return nodes;
  }
  /// Fills `contents`, also from child graphs. Returns the number of nodes of `graph` itself.
  std::size_t look_through(Handle graph, Contents& contents) const;
  void check(typename Api::Result result, const char* operation) const {
    if (result != Api::success) [[unlikely]]
      fail(device_.api(), result, operation, describe());
  }

  GpuDevice<Api>& device_;
  GraphOwnership ownership_;
  mutable std::mutex mutex_;  // guards the members below and all uses of the native graph
  bool lost_ = false;
  Nodes before_resume_;  // set by the latest `prepare_resume`
  KeptModules modules_;
  mutable std::weak_ptr<GraphTemplate<Api>> template_;
};

/// The driver's executable graph, and the objects that its launches use: modules and host functions (which the graph owns).
/// If `Api::unloading_waits()`, the driver keeps the objects of running launches alive, so this object can be destroyed at
/// once. Otherwise it is destroyed after its last launch.
template <class Api>
struct Executable {
  using Handle = typename Api::GraphExecHandle;

  Executable(const GpuDevice<Api>& d, std::shared_ptr<GraphTemplate<Api>> g, Ptr<GraphErrors> e, bool frees) noexcept
      : device(d), made_of(std::move(g)), errors(std::move(e)), auto_free(frees) {}
  ~Executable() {
    if (handle == nullptr) return;
    device.end(
        [this] {
          const std::lock_guard lock(copy_mutex<Api>());
          return device.api().GraphExecDestroy(handle);
        },
        "while an executable graph was destroyed", device.api().objects_need_current());
  }
  /// `priorities`: each node runs with its own priority. If false, all run with the priority of the launching stream.
  typename Api::Result instantiate(typename Api::GraphHandle graph, bool priorities) {
    const CaptureModeScope<Api> relaxed(device.api());
    const std::lock_guard lock(copy_mutex<Api>());
    return device.api().GraphInstantiateWithFlags(
        &handle, graph, (auto_free ? Api::instantiate_auto_free : 0) | (priorities ? Api::instantiate_priorities : 0));
  }
  /// Frees the memory that the last launch has left allocated. The frees are enqueued behind `launch`, the event recorded
  /// after that launch.
  void free_left(typename Api::EventHandle launch) const noexcept {
    const Api& api = device.api();
    device.end(
        [&] {
          typename Api::StreamHandle stream = nullptr;
          auto result = api.StreamCreateWithPriority(&stream, Api::stream_non_blocking, api.usual_priority());
          if (result != Api::success) return result;
          result = api.StreamWaitEvent(stream, launch, 0);
          const bool is_behind = result == Api::success;
          for (void* const memory : left) {
            const auto freed = result == Api::success || is_behind ? api.free_async(memory, stream) : result;
            if (freed != Api::success) result = freed;
          }
          const auto destroyed = api.StreamDestroy(stream);  // the driver destroys the stream once its work is done
          return result != Api::success ? result : destroyed;
        },
        "while the memory of a graph was freed");
  }
  Executable(const Executable&) = delete;
  Executable& operator=(const Executable&) = delete;

  const GpuDevice<Api>& device;
  Handle handle = nullptr;                      // null until `instantiate` succeeds
  std::shared_ptr<GraphTemplate<Api>> made_of;  // the template from which this was instantiated or last updated
  Ptr<GraphErrors> errors;                      // null if there are no host functions
  const bool auto_free;                         // InstantiateOptions::auto_free_on_launch, for graphs that allocate
  // Memory that a launch left allocated; freed by the next launch or at the end.
  std::vector<void*> left;

  std::size_t node_count = 0;                   // number of nodes in the graph when this was instantiated
  // The handles of the original graph's nodes, by which the driver identifies the executable's nodes. Set by the first
  // `apply`.
  std::vector<typename Api::NodeHandle> nodes;
  std::vector<NodeKind> kinds;
  std::vector<KernelPtr> kernels;  // kernels that `apply` has set, kept loaded
  std::set<std::uint32_t> disabled;
};

/// The last launch of an executable. It is recorded if the driver neither orders launches nor waits for them before it
/// destroys an executable, or if launches leave memory allocated.
template <class Api>
struct LastLaunch {
  Ptr<GpuEvent<Api>> over;  // an event recorded after the launch; null before the first launch
  typename Api::StreamHandle on = nullptr;
  // Whether `on` is a per-thread default stream, whose handle refers to a different stream in each thread.
  bool of_this_thread = false;
};

/// An executable graph.
template <class Api>
class GpuGraphExec final : public GraphExecImpl {
 public:
  using Handle = typename Api::GraphExecHandle;

  GpuGraphExec(GpuDevice<Api>& device, std::unique_ptr<Executable<Api>> executable, GraphPtr graph)
      : GraphExecImpl(device, executable->handle),
        device_(device),
        executable_(std::move(executable)),
        graph_(std::move(graph)) {}

 protected:
  ~GpuGraphExec() override { end(std::move(executable_), std::move(last_launch_)); }

  void do_launch(Stream& stream, const CaptureState& capture) override;
  void do_upload(Stream& stream) override {
    auto& on = static_cast<GpuStream<Api>&>(stream);
    const std::lock_guard lock(mutex_);
    const typename GpuStream<Api>::Submission submission(on);
    check(device_.api(), device_.api().GraphUpload(executable_->handle, on.native()), "GraphExec::upload", stream);
  }
  void do_update(const Graph& graph) override;
  void do_apply(const GraphChanges& changes) override;

 private:
  void end(std::unique_ptr<Executable<Api>> executable, LastLaunch<Api>&& last) noexcept {
    if (last.over != nullptr && !executable->left.empty()) executable->free_left(last.over->native());
    if (device_.api().unloading_waits() || last.over == nullptr) return;  // `executable` is destroyed here, at once
    const auto event = last.over->native();
    device_.api().end_behind(
        device_.context(), event,
        [executable = std::move(executable), over = std::move(last.over)]() mutable { executable.reset(); });
  }
  void launch_in_order(GpuStream<Api>& stream);
  /// Enables all nodes again, because the driver's update leaves disabled nodes disabled.
  void enable_all() {
    for (const std::uint32_t index : std::exchange(executable_->disabled, {})) {
      const NodeChange change{.kind = NodeChange::Kind::enable, .node = {index}, .config = {}};
      check(device_.api(),
            device_.api().change_node(device_.context(), executable_->handle, executable_->nodes[index], change, nullptr),
            "GraphExec::update", *this);
    }
  }
  std::unique_ptr<Executable<Api>> instantiate_anew(typename Api::GraphHandle graph, Ptr<GraphErrors> errors,
                                                    std::shared_ptr<GraphTemplate<Api>> made_of);
  [[noreturn]] void throw_update_failed(const std::string& difference, typename Api::Result result) const {
    throw Error(Errc::graph_update_failed, "GraphExec::update", describe(),
                difference + "; the executable is unchanged; instantiate the new graph instead",
                result != Api::success ? native_error(device_.api(), result) : NativeError{});
  }

  GpuDevice<Api>& device_;
  std::mutex mutex_;  // held during driver calls, because an executable may not be used by two threads at once
  std::unique_ptr<Executable<Api>> executable_;
  LastLaunch<Api> last_launch_;
  const GraphPtr graph_;  // the graph that this was instantiated from; null unless `apply` needs its nodes
};

}  // namespace weir::gpu
