// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <unordered_map>

#include "backends/gpu/graph.hpp"
#include "backends/gpu/stream.hpp"

namespace weir::gpu {

// --- Inspection -------------------------------------------------------------------------------------------------------

template <class Api>
Topology GpuGraph<Api>::do_topology() const {
  const std::lock_guard lock(mutex_);
  check_there("Graph::topology");
  Topology topology;
  std::unordered_map<NodeHandle, std::uint32_t> numbers;
  for (const NodeHandle node : nodes_of(device_.api(), native(), "Graph::topology", *this)) {
    numbers.emplace(node, static_cast<std::uint32_t>(topology.nodes.size()));
    NodeKind kind{};
    check(device_.api().node_kind(node, kind), "Graph::topology");
    topology.nodes.push_back(kind);
  }
  for (const auto& [from, to] : edges_of(device_.api(), native(), "Graph::topology", *this)) {
    topology.edges.emplace_back(numbers.at(from), numbers.at(to));
  }
  return topology;
}

template <class Api>
std::string GpuGraph<Api>::do_debug_dot() const {
  const char* const operation = "Graph::debug_dot";
  // Drivers can write the description only to a file.
  const char* const folder = ::secure_getenv("TMPDIR");
  std::string path = std::string(folder != nullptr && *folder == '/' ? folder : "/tmp") + "/weir-graph-XXXXXX";
  const int file = ::mkstemp(path.data());
  if (file < 0) {
    throw Error(Errc::backend_failure, operation, describe(),
                "cannot create a temporary file " + path + ": " + std::generic_category().message(errno) +
                    "; set TMPDIR to a writable folder");
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
  {
    const std::lock_guard copying(copy_mutex<Api>());
    check_copy(device_.api(), device_.api().GraphClone(&copy, native()), "Graph::clone", *this);
  }
  return own(device_, copy, [&] { return modules_; });
}

// --- Continued captures -----------------------------------------------------------------------------------------------

template <class Api>
std::shared_ptr<GraphTemplate<Api>> GpuGraph<Api>::as_template() const {
  const std::lock_guard lock(mutex_);
  check_there("Graph::instantiate");
  if (auto existing = template_.lock()) return existing;
  auto made = std::make_shared<GraphTemplate<Api>>(device_.api(), GraphPtr(const_cast<GpuGraph*>(this)), native(), modules_);
  template_ = made;
  return made;
}

template <class Api>
std::vector<typename Api::NodeHandle> GpuGraph<Api>::prepare_resume() {
  const char* const operation = "Stream::resume_capture";
  // Declared before the lock: it may be the last owner of this graph and of its mutex.
  std::shared_ptr<GraphTemplate<Api>> shared;
  const std::lock_guard lock(mutex_);
  check_there(operation);
  shared = template_.lock();
  if (shared) check(shared->become_copy(), operation);
  template_.reset();
  before_resume_ = list_nodes(operation);
  return leaves_of(device_.api(), native(), operation, *this);
}

// --- Instantiation ----------------------------------------------------------------------------------------------------

template <class Api>
std::size_t GpuGraph<Api>::look_through(Handle graph, Contents& contents) const {
  const char* const operation = "Graph::instantiate";
  const Api& api = device_.api();
  const std::vector<NodeHandle> nodes = nodes_of(api, graph, operation, *this);
  for (const NodeHandle node : nodes) {
    NodeKind kind{};
    check(api.node_kind(node, kind), operation);
    if (kind == NodeKind::allocate) contents.allocates = true;
    if (kind == NodeKind::conditional) contents.has_conditions = true;
    if (kind == NodeKind::kernel && !contents.has_priorities) contents.has_priorities = api.has_priority(node);
    if constexpr (!Api::executables_free_memory()) {
      void* memory = nullptr;
      if (kind == NodeKind::allocate) {
        check(api.memory_of_allocation(node, memory), operation);
        contents.left.push_back(memory);
      } else if (kind == NodeKind::free) {
        check(api.memory_of_free(node, memory), operation);
        contents.freed.push_back(memory);
      }
    }
    if (kind == NodeKind::child_graph) {
      Handle child = nullptr;
      check(api.GraphChildGraphNodeGetGraph(node, &child), operation);
      look_through(child, contents);
    }
    if (kind == NodeKind::host_function) {
      typename Api::HostNodeParameters parameters{};
      check(api.GraphHostNodeGetParams(node, &parameters), operation);
      if (parameters.fn == &CapturedHostFunction::call_captured) {
        contents.host_functions.push_back(static_cast<CapturedHostFunction*>(parameters.userData)->errors);
      }
    }
  }
  return nodes.size();
}

template <class Api>
template <class F>
void GpuGraph<Api>::with_contents(const char* operation, F&& use) const {
  const std::lock_guard lock(mutex_);
  check_there(operation);
  Contents contents;
  contents.node_count = look_through(native(), contents);
  // A driver may assign one address to several allocations of a graph if each is freed before the next.
  auto &allocated = contents.left, &freed = contents.freed;
  std::sort(allocated.begin(), allocated.end());
  std::sort(freed.begin(), freed.end());
  std::vector<void*> left;
  std::set_difference(allocated.begin(), allocated.end(), freed.begin(), freed.end(), std::back_inserter(left));
  allocated = std::move(left);
  Ptr<GraphErrors> errors;
  if (!contents.host_functions.empty()) errors = make_ptr<GraphErrors>(std::move(contents.host_functions));
  use(native(), std::move(errors), contents);
}

template <class Api>
GraphExecPtr GpuGraph<Api>::do_instantiate(const InstantiateOptions& options) const {
  const char* const operation = "Graph::instantiate";
  auto made_of = as_template();
  GraphExecPtr made;
  with_contents(operation, [&](Handle graph, Ptr<GraphErrors> errors, Contents& contents) {
    const auto current = device_.make_current();
    const bool auto_free = options.auto_free_on_launch && contents.allocates;
    auto executable = std::make_unique<Executable<Api>>(device_, std::move(made_of), std::move(errors), auto_free);
    if (auto_free) executable->left = std::move(contents.left);
    const auto result = executable->instantiate(graph, contents.has_priorities);
    if (result != Api::success && contents.has_conditions && Api::meaning(result).errc == Errc::unsupported) {
      fail(device_.api(), result, operation, describe(),
           "this driver supports only one executable at a time of a graph with conditional nodes; release the other one, or "
           "capture the work once for each");
    }
    check(result, operation);
    executable->node_count = contents.node_count;
    made = make_ptr<GpuGraphExec<Api>>(device_, std::move(executable),
                                       Api::changes_nodes ? GraphPtr(const_cast<GpuGraph*>(this)) : nullptr);
  });
  return made;
}

// --- Executables ------------------------------------------------------------------------------------------------------

template <class Api>
void GpuGraphExec<Api>::do_launch(Stream& stream, const CaptureState& capture) {
  auto& on = static_cast<GpuStream<Api>&>(stream);
  const std::lock_guard lock(mutex_);
  if (capture) {
    on.keep_modules(executable_->made_of->modules(), capture);
    executable_->made_of->with_handle([&](auto graph) { on.add_child(graph, "GraphExec::launch"); });
    return;
  }
  const typename GpuStream<Api>::Submission submission(on);
  if (executable_->errors) on.launched_graphs().add(executable_->errors);
  if (executable_->left.empty() && device_.api().unloading_waits() && device_.api().orders_launches()) {
    check(device_.api(), device_.api().GraphLaunch(executable_->handle, on.native()), "GraphExec::launch", stream);
  } else {
    launch_in_order(on);
  }
}

/// Makes the launch wait for the previous launch of this executable, and records an event after it.
template <class Api>
void GpuGraphExec<Api>::launch_in_order(GpuStream<Api>& stream) {
  const Api& api = device_.api();
  const char* const operation = "GraphExec::launch";
  const bool by_thread = stream.kind() == StreamKind::per_thread_default;
  if (last_launch_.over != nullptr && (last_launch_.on != stream.native() || by_thread) && !api.orders_launches()) {
    stream.wait_for(*last_launch_.over, operation);
  }
  // The executable before an update is destroyed after its own last launch. It may still need the event of that launch, so
  // the event must not be recorded again.
  Ptr<GpuEvent<Api>> over = last_launch_.over;
  if (over == nullptr || over->use_count() > 2)
    over = Ptr<GpuEvent<Api>>::attach(static_cast<GpuEvent<Api>*>(device_.events().take({}).detach()));
  check(api, api.GraphLaunch(executable_->handle, stream.native()), operation, stream);
  try {
    stream.record_plainly(*over, operation);
  } catch (const std::exception& e) {
    // Without an event nothing reports when the launch is over, so wait for it here.
    support::log(support::LogLevel::error, "while the end of a launch was recorded: ", e.what());
    log_failure(api, api.StreamSynchronize(stream.native()), "while a launch was waited for", stream.describe());
  }
  last_launch_ = {std::move(over), stream.native(), by_thread};
}

/// Describes how the shapes of two graphs differ; empty if they are equal. Compares nodes in the order of their capture, as
/// drivers do.
template <class Api>
std::string difference_of(const GpuDevice<Api>& device, typename Api::GraphHandle now, typename Api::GraphHandle then) {
  using Node = typename Api::NodeHandle;
  const char* const operation = "GraphExec::update";
  const Api& api = device.api();
  struct Shape {
    std::vector<Node> nodes;
    std::vector<NodeKind> kinds;
    std::vector<std::pair<std::size_t, std::size_t>> edges;
  };
  const auto shape_of = [&](typename Api::GraphHandle graph) {
    Shape shape{nodes_of(api, graph, operation, device), {}, {}};
    std::unordered_map<Node, std::size_t> numbers;
    for (const Node node : shape.nodes) {
      numbers.emplace(node, numbers.size());
      check(api, api.node_kind(node, shape.kinds.emplace_back()), operation, device);
    }
    for (const auto& [from, to] : edges_of(api, graph, operation, device)) {
      shape.edges.emplace_back(numbers.at(from), numbers.at(to));
    }
    std::sort(shape.edges.begin(), shape.edges.end());
    return shape;
  };
  const Shape a = shape_of(now), b = shape_of(then);
  if (a.nodes.size() != b.nodes.size()) {
    return "the new graph has " + std::to_string(b.nodes.size()) + " nodes, but this graph has " +
           std::to_string(a.nodes.size());
  }
  for (std::size_t i = 0; i < a.nodes.size(); ++i) {
    if (a.kinds[i] == NodeKind::allocate || a.kinds[i] == NodeKind::free)
      return "a graph that allocates memory cannot be updated, because it keeps its memory";
    if (a.kinds[i] != b.kinds[i]) {
      return "node " + std::to_string(i) + " is a " + std::string(to_string(b.kinds[i])) + " in the new graph, but a " +
             std::string(to_string(a.kinds[i])) + " in this";
    }
    if (a.kinds[i] != NodeKind::child_graph) continue;
    typename Api::GraphHandle inner_a = nullptr, inner_b = nullptr;
    check(api, api.GraphChildGraphNodeGetGraph(a.nodes[i], &inner_a), operation, device);
    check(api, api.GraphChildGraphNodeGetGraph(b.nodes[i], &inner_b), operation, device);
    if (const std::string inner = difference_of<Api>(device, inner_a, inner_b); !inner.empty()) {
      return "in the graph of node " + std::to_string(i) + ": " + inner;
    }
  }
  return a.edges == b.edges ? "" : "the nodes depend on other nodes in the new graph than in this one";
}

/// Updates by instantiating a new executable, for drivers whose own update would change running launches.
template <class Api>
std::unique_ptr<Executable<Api>> GpuGraphExec<Api>::instantiate_anew(typename Api::GraphHandle graph,
                                                                     Ptr<GraphErrors> errors,
                                                                     std::shared_ptr<GraphTemplate<Api>> made_of) {
  const Api& api = device_.api();
  std::string difference;
  executable_->made_of->with_handle([&](auto now) { difference = difference_of<Api>(device_, now, graph); });
  if (!difference.empty()) throw_update_failed(difference, Api::success);
  auto made = std::make_unique<Executable<Api>>(device_, std::move(made_of), std::move(errors), executable_->auto_free);
  // No priorities: drivers that need this have none in graphs.
  check(api, made->instantiate(graph, false), "GraphExec::update", *this);
  return made;
}

template <class Api>
void GpuGraphExec<Api>::do_update(const Graph& graph) {
  const auto& source = static_cast<const GpuGraph<Api>&>(graph);
  auto made_of = source.as_template();
  // Their destructors run outside the locks, because they may run user code.
  std::unique_ptr<Executable<Api>> former;
  Ptr<GraphErrors> former_errors;
  LastLaunch<Api> last_of_former;
  const auto update = [&](auto handle, Ptr<GraphErrors> errors, const auto&) {
    const auto current = device_.make_current();
    if constexpr (Api::updates_executables()) {
      std::string difference;
      const auto result = device_.api().update_exec(executable_->handle, handle, difference);
      if (result != Api::success) {
        if (difference.empty()) fail(device_.api(), result, "GraphExec::update", describe());
        throw_update_failed(difference, result);
      }
      if constexpr (Api::changes_nodes) enable_all();
      executable_->made_of.swap(made_of);
      former_errors = std::exchange(executable_->errors, std::move(errors));
    } else {
      former = std::exchange(executable_, instantiate_anew(handle, std::move(errors), std::move(made_of)));
      set_native_handle(executable_->handle);
      if (device_.api().keeps_what_is_replaced()) last_of_former = last_launch_;
    }
  };
  {
    const std::lock_guard lock(mutex_);
    source.with_contents("GraphExec::update", update);
  }
  if (former != nullptr) end(std::move(former), std::move(last_of_former));
}

template <class Api>
void GpuGraphExec<Api>::do_apply(const GraphChanges& changes) {
  if constexpr (Api::changes_nodes) {
    const char* const operation = "GraphExec::apply";
    std::vector<KernelPtr> former;  // destroyed outside the locks, because its destructor may unload modules
    const std::lock_guard lock(mutex_);
    const auto current = device_.make_current();
    Executable<Api>& exec = *executable_;
    const std::size_t count = exec.node_count;
    former.reserve(changes.size());
    const auto& source = static_cast<const GpuGraph<Api>&>(*graph_);
    if (exec.nodes.empty()) {
      auto nodes = source.first_nodes(count, operation);
      exec.kernels.resize(count);
      exec.kinds = std::move(nodes.kinds);
      exec.nodes = std::move(nodes.handles);
    }
    const auto change_all = [&](auto) {
      for (const NodeChange& change : changes.changes()) {
        const std::uint32_t index = change.node.index;
        if (index >= count) [[unlikely]] support::throw_impossible_change(describe(), change, std::nullopt, count);
        if (!support::fits(change.kind, exec.kinds[index])) [[unlikely]]
          support::throw_impossible_change(describe(), change, exec.kinds[index], count);
        if (change.kind == NodeChange::Kind::kernel)
          static_cast<const GpuKernel<Api>&>(*change.kernel).allow_shared_memory(change.config.shared_memory_bytes);
      }
      std::size_t done = 0;
      for (const NodeChange& change : changes.changes()) {
        const std::uint32_t index = change.node.index;
        const bool is_kernel = change.kind == NodeChange::Kind::kernel;
        const auto result = device_.api().change_node(device_.context(), exec.handle, exec.nodes[index], change,
                                                      is_kernel ? changes.arguments_of(change) : nullptr);
        if (result != Api::success) [[unlikely]] {
          fail(device_.api(), result, operation, describe(),
               "the driver refused change " + std::to_string(done + 1) + " of " + std::to_string(changes.size()) +
                   ", of node " + std::to_string(index) + "; the earlier changes are in effect");
        }
        ++done;
        if (is_kernel && exec.kernels[index].get() != change.kernel) {
          former.push_back(std::move(exec.kernels[index]));
          exec.kernels[index] = KernelPtr(const_cast<Kernel*>(change.kernel));
        }
        if (change.kind == NodeChange::Kind::disable) exec.disabled.insert(index);
        if (change.kind == NodeChange::Kind::enable) exec.disabled.erase(index);
      }
    };
    // Throws if the graph from which the executable was instantiated is destroyed: the handles of its nodes are needed.
    source.with_handle(change_all);
  } else {
    GraphExecImpl::do_apply(changes);
  }
}

}  // namespace weir::gpu
