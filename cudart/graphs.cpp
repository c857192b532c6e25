// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>
#include <memory>
#include <variant>
#include <vector>

#include "cudart/state.hpp"

/// Captures and graphs. A captured graph is Weir's. A graph that a program builds node by node is a list, because Weir's
/// graphs do not change: each instantiation gives the list to a `GraphBuilder`.
namespace weir::cudart {

namespace {

struct KernelNode {
  const void* stub;
  std::shared_ptr<LoadedKernel> loaded;
  LaunchConfig config;
  cudaKernelNodeParams given;                     // with the addresses below
  std::shared_ptr<std::vector<void*>> arguments;  // addresses of copies
  std::shared_ptr<std::vector<std::max_align_t>> values;
};

struct GraphList;
using Work = std::variant<std::monostate, KernelNode, cudaMemcpy3DParms, cudaMemsetParams, cudaHostNodeParams,
                          std::shared_ptr<GraphList>, EventPtr>;

struct Node {
  cudaGraphNodeType type{};
  Work work;
  std::vector<std::uint32_t> after;
  cudaGraphNode_t handle = nullptr;
  bool is_removed = false;
};

struct GraphList {
  DeviceState* device = nullptr;
  GraphPtr captured;        // null: the list is the graph
  std::vector<Node> nodes;  // of a captured graph: without their work
  std::mutex mutex;
};

struct NodeHandle {
  std::weak_ptr<GraphList> graph;
  std::uint32_t index;
};

struct Executable {
  GraphExecPtr exec;
  std::shared_ptr<GraphList> graph;               // keeps the handles of its nodes
  std::vector<std::optional<GraphNode>> numbers;  // of the list's nodes
  std::vector<std::shared_ptr<cudaHostNodeParams>> host_functions;
  std::vector<bool> is_disabled;
  unsigned long long flags = 0;
};

struct Tables {
  Handles<std::shared_ptr<GraphList>, 7> graphs;
  Handles<NodeHandle, 8> nodes;
  Handles<Executable, 9> executables;
};

Tables& tables() {
  static auto* const all = new Tables;
  return *all;
}

std::shared_ptr<GraphList> graph_of(cudaGraph_t handle) {
  std::shared_ptr<GraphList>* const found = tables().graphs.find(handle);
  check(found != nullptr);
  return *found;
}

Executable& executable_of(cudaGraphExec_t handle) {
  Executable* const found = tables().executables.find(handle);
  check(found != nullptr);
  return *found;
}

std::pair<std::shared_ptr<GraphList>, std::uint32_t> node_of(cudaGraphNode_t handle) {
  NodeHandle* const found = tables().nodes.find(handle);
  check(found != nullptr);
  std::shared_ptr<GraphList> graph = found->graph.lock();
  check(graph != nullptr);
  return {std::move(graph), found->index};
}

// The node's index, if it belongs to the graph.
std::uint32_t index_in(const std::shared_ptr<GraphList>& graph, cudaGraphNode_t handle) {
  const auto [owner, index] = node_of(handle);
  check(owner == graph && !graph->nodes[index].is_removed);
  return index;
}

cudaGraphNode_t new_handle(const std::shared_ptr<GraphList>& graph, std::uint32_t index) {
  return static_cast<cudaGraphNode_t>(tables().nodes.add({graph, index}));
}

// The list of a new graph's end.
void forget(const std::shared_ptr<GraphList>& graph) {
  for (const Node& node : graph->nodes) {
    if (node.handle != nullptr && tables().nodes.find(node.handle) != nullptr)
      static_cast<void>(tables().nodes.take(node.handle));
  }
}

cudaGraphNodeType type_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::kernel: return cudaGraphNodeTypeKernel;
    case NodeKind::copy: return cudaGraphNodeTypeMemcpy;
    case NodeKind::fill: return cudaGraphNodeTypeMemset;
    case NodeKind::host_function: return cudaGraphNodeTypeHost;
    case NodeKind::child_graph: return cudaGraphNodeTypeGraph;
    case NodeKind::event_record: return cudaGraphNodeTypeEventRecord;
    case NodeKind::event_wait: return cudaGraphNodeTypeWaitEvent;
    case NodeKind::allocate: return cudaGraphNodeTypeMemAlloc;
    case NodeKind::free: return cudaGraphNodeTypeMemFree;
    case NodeKind::conditional: return cudaGraphNodeTypeConditional;
    default: return cudaGraphNodeTypeEmpty;
  }
}

std::shared_ptr<GraphList> adopt(GraphPtr captured) {
  auto graph = std::make_shared<GraphList>();
  graph->device = &device_at(captured->device().ordinal());
  const Topology topology = captured->topology();
  for (const NodeKind kind : topology.nodes) graph->nodes.push_back({type_of(kind), {}, {}});
  for (const auto& [from, to] : topology.edges) graph->nodes[to].after.push_back(from);
  graph->captured = std::move(captured);
  return graph;
}

cudaGraph_t handle_of(std::shared_ptr<GraphList> graph) {
  return static_cast<cudaGraph_t>(tables().graphs.add(std::move(graph)));
}

// --- Building

// Copies the arguments of a kernel.
KernelNode kernel_node(DeviceState& device, const cudaKernelNodeParams& given) {
  check(given.extra == nullptr, cudaErrorNotSupported);
  KernelNode node{given.func, kernel_of(given.func, device),          {},
                  given,      std::make_shared<std::vector<void*>>(), std::make_shared<std::vector<std::max_align_t>>()};
  node.config = launch_config(*node.loaded, device, given.gridDim, given.blockDim, given.sharedMemBytes);
  const std::span<const Parameter> parameters = node.loaded->kernel->parameters();
  check(parameters.empty() || given.kernelParams != nullptr);
  constexpr std::size_t unit = sizeof(std::max_align_t);
  std::size_t units = 0;
  for (const Parameter& parameter : parameters) units += (parameter.size + unit - 1) / unit;
  node.values->resize(units);
  std::max_align_t* at = node.values->data();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    check(given.kernelParams[i] != nullptr);
    __builtin_memcpy(at, given.kernelParams[i], parameters[i].size);
    node.arguments->push_back(at);
    at += (parameters[i].size + unit - 1) / unit;
  }
  node.given.kernelParams = node.arguments->data();
  return node;
}

cudaMemcpy3DParms checked(const cudaMemcpy3DParms* copy) {
  check(copy != nullptr);
  const BoxCopy box = box_copy(*copy);
  check(!box.to.extent.empty());
  return *copy;
}

cudaMemsetParams checked(const cudaMemsetParams* fill) {
  check(fill != nullptr && fill->width != 0 && fill->height != 0);
  check_fill(*fill);
  return *fill;
}

cudaHostNodeParams checked(const cudaHostNodeParams* parameters) {
  check(parameters != nullptr && parameters->fn != nullptr);
  return *parameters;
}

cudaMemcpy3DParms row_copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy3DParms copy{};
  copy.dstPtr = {to, bytes, bytes, 1};
  copy.srcPtr = {const_cast<void*>(from), bytes, bytes, 1};
  copy.extent = {bytes, 1, 1};
  copy.kind = kind;
  return copy;
}

void add(cudaGraphNode_t* handle, cudaGraph_t graph_handle, const cudaGraphNode_t* after, std::size_t count,
         cudaGraphNodeType type, auto&& work) {
  const std::shared_ptr<GraphList> graph = graph_of(graph_handle);
  check(handle != nullptr && (after != nullptr || count == 0));
  check(!graph->captured, cudaErrorNotSupported);
  Node node{type, work(*graph), {}};
  for (const cudaGraphNode_t before : std::span(after, count)) node.after.push_back(index_in(graph, before));
  const std::lock_guard lock(graph->mutex);
  const auto index = static_cast<std::uint32_t>(graph->nodes.size());
  *handle = node.handle = new_handle(graph, index);
  graph->nodes.push_back(std::move(node));
}

struct Built {
  GraphPtr graph;
  std::vector<std::optional<GraphNode>> numbers;
  std::vector<std::shared_ptr<cudaHostNodeParams>> host_functions;
};

Built build(const GraphList& graph);

GraphPtr weir_graph(const GraphList& graph) { return graph.captured ? graph.captured : build(graph).graph; }

// Submits a node's work to the stream of a builder.
void submit(Stream& stream, const Node& node, std::shared_ptr<cudaHostNodeParams>& host_function) {
  if (const auto* kernel = std::get_if<KernelNode>(&node.work)) {
    stream.launch_raw(kernel->loaded->kernel, kernel->config, *kernel->arguments, kernel->loaded->kernel->parameters());
  } else if (const auto* copy = std::get_if<cudaMemcpy3DParms>(&node.work)) {
    enqueue(stream, box_copy(*copy));
  } else if (const auto* fill = std::get_if<cudaMemsetParams>(&node.work)) {
    enqueue(stream, *fill);
  } else if (const auto* host = std::get_if<cudaHostNodeParams>(&node.work)) {
    host_function = std::make_shared<cudaHostNodeParams>(*host);
    stream.launch_host_function([called = host_function] { called->fn(called->userData); });
  } else if (const auto* child = std::get_if<std::shared_ptr<GraphList>>(&node.work)) {
    stream.add_child_graph(weir_graph(**child));
  } else if (node.type == cudaGraphNodeTypeEventRecord) {
    stream.record_external(std::get<EventPtr>(node.work));
  } else {
    stream.wait_external(std::get<EventPtr>(node.work));
  }
}

Built build(const GraphList& graph) {
  const std::size_t count = graph.nodes.size();
  Built built{nullptr, std::vector<std::optional<GraphNode>>(count), {}};
  built.host_functions.resize(count);
  // What later nodes wait for: the node itself, or the neighbours of an empty node.
  std::vector<std::vector<GraphNode>> ends(count);
  std::vector<bool> is_done(count);
  GraphBuilder builder(*graph.device->device);
  for (bool has_progress = true; has_progress;) {
    has_progress = false;
    for (std::size_t i = 0; i < count; ++i) {
      const Node& node = graph.nodes[i];
      const auto is_ready = [&](std::uint32_t before) { return is_done[before]; };
      if (is_done[i] || !std::all_of(node.after.begin(), node.after.end(), is_ready)) continue;
      is_done[i] = has_progress = true;
      if (node.is_removed) continue;
      std::vector<GraphNode> after;
      for (const std::uint32_t before : node.after) {
        for (const GraphNode end : ends[before]) {
          if (std::find(after.begin(), after.end(), end) == after.end()) after.push_back(end);
        }
      }
      if (node.type == cudaGraphNodeTypeEmpty) {
        ends[i] = std::move(after);
        continue;
      }
      built.numbers[i] = builder.add(after, [&](Stream& stream) { submit(stream, node, built.host_functions[i]); });
      ends[i] = {*built.numbers[i]};
    }
  }
  check(std::find(is_done.begin(), is_done.end(), false) == is_done.end());  // a cycle
  built.graph = builder.finish();
  return built;
}

void instantiate(cudaGraphExec_t* handle, cudaGraph_t graph_handle, unsigned long long flags) {
  const std::shared_ptr<GraphList> graph = graph_of(graph_handle);
  check(handle != nullptr && (flags & ~15ULL) == 0);
  check((flags & cudaGraphInstantiateFlagDeviceLaunch) == 0, cudaErrorNotSupported);
  Executable made;
  made.flags = flags;
  made.graph = graph;
  const std::lock_guard lock(graph->mutex);
  GraphPtr weir_graph = graph->captured;
  if (!weir_graph) {
    Built built = build(*graph);
    weir_graph = std::move(built.graph);
    made.numbers = std::move(built.numbers);
    made.host_functions = std::move(built.host_functions);
  } else {
    for (std::uint32_t i = 0; i < graph->nodes.size(); ++i) made.numbers.emplace_back(GraphNode{i});
  }
  made.is_disabled.resize(made.numbers.size());
  made.exec = weir_graph->instantiate();
  *handle = static_cast<cudaGraphExec_t>(tables().executables.add(std::move(made)));
}

// Copies nodes to a program's array, or only counts them.
void give_nodes(const std::shared_ptr<GraphList>& graph, cudaGraphNode_t* nodes, std::size_t* count, auto&& is_wanted) {
  check(count != nullptr);
  const std::lock_guard lock(graph->mutex);
  std::size_t found = 0;
  for (std::uint32_t i = 0; i < graph->nodes.size(); ++i) {
    Node& node = graph->nodes[i];
    if (node.is_removed || !is_wanted(i, node)) continue;
    if (nodes != nullptr && found < *count) {
      if (node.handle == nullptr) node.handle = new_handle(graph, i);
      nodes[found] = node.handle;
    }
    ++found;
  }
  if (nodes != nullptr)
    for (std::size_t i = found; i < *count; ++i) nodes[i] = nullptr;
  *count = nodes != nullptr ? std::min(*count, found) : found;
}

// The work of a node of the list.
template <class T>
T& work_of(cudaGraphNode_t handle) {
  const auto [graph, index] = node_of(handle);
  check(!graph->captured, cudaErrorNotSupported);
  T* const work = std::get_if<T>(&graph->nodes[index].work);
  check(work != nullptr);
  return *work;
}

template <class T>
void get_parameters(cudaGraphNode_t node, T* parameters) {
  check(parameters != nullptr);
  *parameters = work_of<T>(node);
}

// --- Changes of executables

struct Target {
  Executable& executable;
  DeviceState& device;
  std::uint32_t index;
  GraphNode number;
};

Target target_of(cudaGraphExec_t executable_handle, cudaGraphNode_t node, std::optional<cudaGraphNodeType> type) {
  Executable& executable = executable_of(executable_handle);
  const auto [graph, index] = node_of(node);
  check(graph == executable.graph && index < executable.numbers.size() && executable.numbers[index]);
  check(!type || graph->nodes[index].type == *type);
  return {executable, *graph->device, index, *executable.numbers[index]};
}

void set_copy(cudaGraphExec_t executable, cudaGraphNode_t node, const cudaMemcpy3DParms& copy) {
  const Target target = target_of(executable, node, cudaGraphNodeTypeMemcpy);
  const BoxCopy box = box_copy(copy);
  const Extent& extent = box.to.extent;
  check(extent.height == 1 && extent.depth == 1, cudaErrorNotSupported);
  GraphChanges changes;
  changes.copy(target.number, Span(box.to.data, extent.width), Span(box.from.data, extent.width));
  target.executable.exec->apply(changes);
}

template <class E>
void set_fill(GraphChanges& changes, GraphNode node, const cudaMemsetParams& fill) {
  changes.fill(node, Span(static_cast<E*>(fill.dst), fill.width), static_cast<E>(fill.value));
}

void change_edges(cudaGraph_t graph_handle, const cudaGraphNode_t* from, const cudaGraphNode_t* to, std::size_t count,
                  bool adds) {
  const std::shared_ptr<GraphList> graph = graph_of(graph_handle);
  check((from != nullptr && to != nullptr) || count == 0);
  check(!graph->captured, cudaErrorNotSupported);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t before = index_in(graph, from[i]);
    std::vector<std::uint32_t>& after = graph->nodes[index_in(graph, to[i])].after;
    const auto found = std::find(after.begin(), after.end(), before);
    check(adds == (found == after.end()) && from[i] != to[i]);
    if (adds)
      after.push_back(before);
    else
      after.erase(found);
  }
}

}  // namespace
namespace calls {

// --- Captures

void cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  check(mode >= cudaStreamCaptureModeGlobal && mode <= cudaStreamCaptureModeRelaxed);
  stream_of(stream)->begin_capture(static_cast<CaptureMode>(mode));  // the same numbers
}

void cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  check(graph != nullptr);
  *graph = nullptr;
  *graph = handle_of(adopt(stream_of(stream)->end_capture()));
}

void cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  check(status != nullptr);
  *status = static_cast<cudaStreamCaptureStatus>(stream_of(stream)->capture_status());  // the same numbers
}

void cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id) {
  check(status != nullptr);
  const StreamPtr on = stream_of(stream);
  *status = static_cast<cudaStreamCaptureStatus>(on->capture_status());
  if (id != nullptr) *id = on->capture_id();
}

// --- Graphs and nodes

void cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
  check(graph != nullptr && flags == 0);
  auto made = std::make_shared<GraphList>();
  made->device = &current();
  *graph = handle_of(std::move(made));
}

void cudaGraphDestroy(cudaGraph_t graph) {
  const std::shared_ptr<GraphList> ended_graph = graph_of(graph);
  static_cast<void>(tables().graphs.take(graph));
  // The nodes of an executable's graph stay usable.
  if (ended_graph.use_count() == 1) forget(ended_graph);
}

void cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  const std::shared_ptr<GraphList> original = graph_of(graph);
  check(clone != nullptr);
  auto copy = std::make_shared<GraphList>();
  const std::lock_guard lock(original->mutex);
  copy->device = original->device;
  copy->nodes = original->nodes;
  for (Node& node : copy->nodes) node.handle = nullptr;
  if (original->captured) copy->captured = original->captured->clone();
  *clone = handle_of(std::move(copy));
}

void cudaGraphNodeFindInClone(cudaGraphNode_t* node, cudaGraphNode_t original, cudaGraph_t clone) {
  const std::shared_ptr<GraphList> graph = graph_of(clone);
  const std::uint32_t index = node_of(original).second;
  check(node != nullptr && index < graph->nodes.size());
  const std::lock_guard lock(graph->mutex);
  Node& found = graph->nodes[index];
  if (found.handle == nullptr) found.handle = new_handle(graph, index);
  *node = found.handle;
}

void cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                            const cudaKernelNodeParams* parameters) {
  check(parameters != nullptr);
  add(node, graph, after, count, cudaGraphNodeTypeKernel,
      [&](const GraphList& g) { return kernel_node(*g.device, *parameters); });
}

void cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                            const cudaMemcpy3DParms* copy) {
  add(node, graph, after, count, cudaGraphNodeTypeMemcpy, [&](const GraphList&) { return checked(copy); });
}

void cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, void* to,
                              const void* from, size_t bytes, cudaMemcpyKind kind) {
  const cudaMemcpy3DParms copy = row_copy(to, from, bytes, kind);
  add(node, graph, after, count, cudaGraphNodeTypeMemcpy, [&](const GraphList&) { return checked(&copy); });
}

void cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                            const cudaMemsetParams* fill) {
  add(node, graph, after, count, cudaGraphNodeTypeMemset, [&](const GraphList&) { return checked(fill); });
}

void cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                          const cudaHostNodeParams* parameters) {
  add(node, graph, after, count, cudaGraphNodeTypeHost, [&](const GraphList&) { return checked(parameters); });
}

void cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                cudaGraph_t child) {
  add(node, graph, after, count, cudaGraphNodeTypeGraph, [&](const GraphList& g) {
    const std::shared_ptr<GraphList> original = graph_of(child);
    check(original.get() != &g);
    // CUDA copies the child now.
    auto copy = std::make_shared<GraphList>();
    copy->device = original->device;
    copy->nodes = original->nodes;
    copy->captured = original->captured;
    return copy;
  });
}

void cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count) {
  add(node, graph, after, count, cudaGraphNodeTypeEmpty, [](const GraphList&) { return std::monostate(); });
}

void cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                 cudaEvent_t event) {
  add(node, graph, after, count, cudaGraphNodeTypeEventRecord,
      [&](const GraphList&) { return runtime().events.get(event); });
}

void cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                               cudaEvent_t event) {
  add(node, graph, after, count, cudaGraphNodeTypeWaitEvent, [&](const GraphList&) { return runtime().events.get(event); });
}

void cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count) {
  change_edges(graph, from, to, count, true);
}

void cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count) {
  change_edges(graph, from, to, count, false);
}

void cudaGraphDestroyNode(cudaGraphNode_t node) {
  const auto [graph, index] = node_of(node);
  check(!graph->captured, cudaErrorNotSupported);
  const std::lock_guard lock(graph->mutex);
  graph->nodes[index].is_removed = true;
  graph->nodes[index].after.clear();
  for (Node& other : graph->nodes) std::erase(other.after, index);
  static_cast<void>(tables().nodes.take(node));
}

void cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  give_nodes(graph_of(graph), nodes, count, [](std::uint32_t, const Node&) { return true; });
}

void cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  give_nodes(graph_of(graph), nodes, count, [](std::uint32_t, const Node& node) { return node.after.empty(); });
}

void cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* count) {
  const std::shared_ptr<GraphList> of = graph_of(graph);
  check(count != nullptr && (from == nullptr) == (to == nullptr));
  const std::lock_guard lock(of->mutex);
  const auto handle = [&](std::uint32_t index) {
    Node& node = of->nodes[index];
    if (node.handle == nullptr) node.handle = new_handle(of, index);
    return node.handle;
  };
  std::size_t found = 0;
  for (std::uint32_t i = 0; i < of->nodes.size(); ++i) {
    for (const std::uint32_t before : of->nodes[i].after) {
      if (from != nullptr && found < *count) {
        from[found] = handle(before);
        to[found] = handle(i);
      }
      ++found;
    }
  }
  *count = from != nullptr ? std::min(*count, found) : found;
}

void cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, size_t* count) {
  const auto [graph, index] = node_of(node);
  const std::vector<std::uint32_t> before = graph->nodes[index].after;
  give_nodes(graph, nodes, count,
             [&](std::uint32_t i, const Node&) { return std::find(before.begin(), before.end(), i) != before.end(); });
}

void cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes, size_t* count) {
  const auto of = node_of(node);
  give_nodes(of.first, nodes, count, [&](std::uint32_t, const Node& other) {
    return std::find(other.after.begin(), other.after.end(), of.second) != other.after.end();
  });
}

void cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  check(type != nullptr);
  const auto [graph, index] = node_of(node);
  *type = graph->nodes[index].type;
}

// --- Parameters of nodes

void cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* parameters) {
  check(parameters != nullptr);
  *parameters = work_of<KernelNode>(node).given;
}

void cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* parameters) {
  check(parameters != nullptr);
  KernelNode& work = work_of<KernelNode>(node);
  work = kernel_node(*node_of(node).first->device, *parameters);
}

void cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* copy) { get_parameters(node, copy); }
void cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* copy) {
  work_of<cudaMemcpy3DParms>(node) = checked(copy);
}
void cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* fill) { get_parameters(node, fill); }
void cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* fill) {
  work_of<cudaMemsetParams>(node) = checked(fill);
}
void cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* parameters) { get_parameters(node, parameters); }
void cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* parameters) {
  work_of<cudaHostNodeParams>(node) = checked(parameters);
}

// --- Executables

void cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  instantiate(executable, graph, flags);
}

void cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  instantiate(executable, graph, flags);
}

void cudaGraphExecGetFlags(cudaGraphExec_t executable, unsigned long long* flags) {
  check(flags != nullptr);
  *flags = executable_of(executable).flags;
}

void cudaGraphExecDestroy(cudaGraphExec_t executable) {
  executable_of(executable);
  const Executable ended_executable = tables().executables.take(executable);
  if (ended_executable.graph.use_count() == 1) forget(ended_executable.graph);
}

void cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  const Executable& found = executable_of(executable);
  const StreamPtr on = stream_of(stream);
  if (on->device().supports(Feature::graph_upload)) found.exec->upload(on);
}

void cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  executable_of(executable).exec->launch(stream_of(stream));
}

void cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result) {
  check(result != nullptr);
  *result = {cudaGraphExecUpdateError, nullptr, nullptr};
  Executable& found = executable_of(executable);
  const std::shared_ptr<GraphList> other = graph_of(graph);
  const std::lock_guard lock(other->mutex);
  // Tells a changed shape from other differences.
  const auto& before = found.graph->nodes;
  const bool same_size = before.size() == other->nodes.size();
  if (!same_size) result->result = cudaGraphExecUpdateErrorTopologyChanged;
  for (std::size_t i = 0; same_size && i < before.size(); ++i) {
    if (before[i].type != other->nodes[i].type)
      result->result = cudaGraphExecUpdateErrorNodeTypeChanged;
    else if (before[i].after != other->nodes[i].after)
      result->result = cudaGraphExecUpdateErrorTopologyChanged;
  }
  if (other->captured) {
    found.exec->update(other->captured);
  } else {
    Built built = build(*other);
    found.exec->update(built.graph);
    found.host_functions = std::move(built.host_functions);
  }
  found.is_disabled.assign(found.is_disabled.size(), false);
  result->result = cudaGraphExecUpdateSuccess;
}

void cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                      const cudaKernelNodeParams* parameters) {
  check(parameters != nullptr);
  const Target target = target_of(executable, node, cudaGraphNodeTypeKernel);
  const KernelNode kernel = kernel_node(target.device, *parameters);
  GraphChanges changes;
  changes.launch_raw(target.number, kernel.loaded->kernel, kernel.config, *kernel.arguments,
                     kernel.loaded->kernel->parameters());
  target.executable.exec->apply(changes);
}

void cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node, const cudaMemcpy3DParms* copy) {
  set_copy(executable, node, checked(copy));
}

void cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t executable, cudaGraphNode_t node, void* to, const void* from,
                                        size_t bytes, cudaMemcpyKind kind) {
  set_copy(executable, node, row_copy(to, from, bytes, kind));
}

void cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node, const cudaMemsetParams* fill) {
  const cudaMemsetParams given = checked(fill);
  check(given.height == 1, cudaErrorNotSupported);
  const Target target = target_of(executable, node, cudaGraphNodeTypeMemset);
  GraphChanges changes;
  if (given.elementSize == 1)
    set_fill<std::uint8_t>(changes, target.number, given);
  else if (given.elementSize == 2)
    set_fill<std::uint16_t>(changes, target.number, given);
  else
    set_fill<std::uint32_t>(changes, target.number, given);
  target.executable.exec->apply(changes);
}

void cudaGraphExecHostNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node, const cudaHostNodeParams* parameters) {
  const cudaHostNodeParams given = checked(parameters);
  const Target target = target_of(executable, node, cudaGraphNodeTypeHost);
  check(target.index < target.executable.host_functions.size(), cudaErrorNotSupported);
  *target.executable.host_functions[target.index] = given;
}

void cudaGraphNodeSetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned int enabled) {
  const Target target = target_of(executable, node, std::nullopt);
  GraphChanges changes;
  if (enabled != 0)
    changes.enable(target.number);
  else
    changes.disable(target.number);
  target.executable.exec->apply(changes);
  target.executable.is_disabled[target.index] = enabled == 0;
}

void cudaGraphNodeGetEnabled(cudaGraphExec_t executable, cudaGraphNode_t node, unsigned int* enabled) {
  check(enabled != nullptr);
  const Target target = target_of(executable, node, std::nullopt);
  *enabled = target.executable.is_disabled[target.index] ? 0 : 1;
}

void cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned int) {
  check(path != nullptr);
  std::ofstream file(path);
  file << weir_graph(*graph_of(graph))->debug_dot();
  file.close();
  check(!file.fail(), cudaErrorOperatingSystem);
}

}  // namespace calls
}  // namespace weir::cudart
