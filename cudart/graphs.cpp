// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "cudart/state.hpp"

/// Captures and graphs. A captured graph is Weir's. A graph that a program builds node by node is a list, because Weir's
/// graphs do not change: each instantiation gives the list to a `GraphBuilder`.
namespace weir::cudart {

namespace {

struct Node {
  NodeKind kind{};
  std::function<void(Stream&)> submit;  // none in a captured graph
  std::vector<std::uint32_t> after;     // earlier nodes
  cudaGraphNode_t handle = nullptr;
};

struct GraphList {
  DeviceState* device = nullptr;
  GraphPtr captured;  // null: the list is the graph
  std::vector<Node> nodes;
  std::mutex mutex;
};

struct NodeHandle {
  std::weak_ptr<GraphList> graph;
  std::uint32_t index;
};

struct Executable {
  GraphExecPtr exec;
  std::shared_ptr<GraphList> graph;  // keeps the handles of its nodes
  std::vector<GraphNode> numbers;    // of the list's nodes
};

struct Tables {
  Handles<std::shared_ptr<GraphList>, 7, cudaErrorInvalidValue> graphs;
  Handles<NodeHandle, 8, cudaErrorInvalidValue> nodes;
  Handles<Executable, 9, cudaErrorInvalidValue> executables;
};

Tables& tables() {
  static auto* const all = new Tables;
  return *all;
}

// The node's index, if it belongs to the graph.
std::uint32_t index_in(const std::shared_ptr<GraphList>& graph, cudaGraphNode_t handle) {
  const NodeHandle& node = tables().nodes.get(handle);
  check(node.graph.lock() == graph);
  return node.index;
}

cudaGraphNode_t new_handle(const std::shared_ptr<GraphList>& graph, std::uint32_t index) {
  return static_cast<cudaGraphNode_t>(tables().nodes.add({graph, index}));
}

cudaGraph_t new_handle(std::shared_ptr<GraphList> graph) {
  return static_cast<cudaGraph_t>(tables().graphs.add(std::move(graph)));
}

// Removes the handles of the nodes, if this is the last owner of their graph.
void release(const std::shared_ptr<GraphList>& graph) {
  if (graph.use_count() != 1) return;
  for (const Node& node : graph->nodes) {
    if (node.handle != nullptr) static_cast<void>(tables().nodes.take(node.handle));
  }
}

// --- Building

// A kernel with copies of its arguments.
struct KernelNode {
  std::shared_ptr<LoadedKernel> loaded;
  LaunchConfig config;
  std::vector<std::max_align_t> values;
  std::vector<void*> arguments;  // their addresses
};

std::shared_ptr<const KernelNode> kernel_node(DeviceState& device, const cudaKernelNodeParams* given) {
  check(given != nullptr);
  check(given->extra == nullptr, cudaErrorNotSupported);
  const auto node = std::make_shared<KernelNode>();
  node->loaded = kernel_of(given->func, device);
  node->config = launch_config(*node->loaded, device, given->gridDim, given->blockDim, given->sharedMemBytes);
  const std::span<const Parameter> parameters = node->loaded->kernel->parameters();
  check(parameters.empty() || given->kernelParams != nullptr);
  const auto units = [](const Parameter& p) { return (p.size + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t); };
  std::size_t count = 0;
  for (const Parameter& parameter : parameters) count += units(parameter);
  node->values.resize(count);
  std::max_align_t* at = node->values.data();
  for (std::size_t i = 0; i < parameters.size(); at += units(parameters[i++])) {
    check(given->kernelParams[i] != nullptr);
    std::memcpy(at, given->kernelParams[i], parameters[i].size);
    node->arguments.push_back(at);
  }
  return node;
}

void add(cudaGraphNode_t* handle, cudaGraph_t graph_handle, const cudaGraphNode_t* after, std::size_t count, NodeKind kind,
         std::function<void(Stream&)> submit) {
  const std::shared_ptr<GraphList> graph = tables().graphs.get(graph_handle);
  check(handle != nullptr && (after != nullptr || count == 0));
  check(!graph->captured, cudaErrorNotSupported);
  Node node{kind, std::move(submit), {}};
  for (const cudaGraphNode_t before : std::span(after, count)) node.after.push_back(index_in(graph, before));
  const std::lock_guard lock(graph->mutex);
  *handle = node.handle = new_handle(graph, static_cast<std::uint32_t>(graph->nodes.size()));
  graph->nodes.push_back(std::move(node));
}

// Copies handles of nodes to an array, or only counts them. A root has no earlier node.
void list_nodes(cudaGraph_t handle, cudaGraphNode_t* nodes, std::size_t* count, bool roots) {
  const std::shared_ptr<GraphList> graph = tables().graphs.get(handle);
  check(count != nullptr);
  const std::lock_guard lock(graph->mutex);
  std::size_t found = 0;
  for (std::uint32_t i = 0; i < graph->nodes.size() && (nodes == nullptr || found < *count); ++i) {
    Node& node = graph->nodes[i];
    if (roots && !node.after.empty()) continue;
    if (nodes != nullptr && node.handle == nullptr) node.handle = new_handle(graph, i);
    if (nodes != nullptr) nodes[found] = node.handle;
    ++found;
  }
  for (std::size_t i = found; nodes != nullptr && i < *count; ++i) nodes[i] = nullptr;
  *count = found;
}

struct Built {
  GraphPtr graph;
  std::vector<GraphNode> numbers;  // of the list's nodes
};

Built build(GraphList& graph) {
  const std::lock_guard lock(graph.mutex);
  Built built{graph.captured, {}};
  if (graph.captured) {
    for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) built.numbers.push_back({i});
    return built;
  }
  GraphBuilder builder(*graph.device->device);
  for (const Node& node : graph.nodes) {
    std::vector<GraphNode> after;
    for (const std::uint32_t before : node.after) after.push_back(built.numbers[before]);
    built.numbers.push_back(builder.add(after, node.submit));
  }
  built.graph = builder.finish();
  return built;
}

}  // namespace
namespace calls {

// --- Captures

void cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  check(mode >= cudaStreamCaptureModeGlobal && mode <= cudaStreamCaptureModeRelaxed);
  stream_of(stream)->begin_capture(static_cast<CaptureMode>(mode));  // the same numbers
  this_thread().capture_failed = false;
}

void cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  give(graph, nullptr);
  auto made = std::make_shared<GraphList>();
  made->captured = stream_of(stream)->end_capture();
  check(!std::exchange(this_thread().capture_failed, false), cudaErrorStreamCaptureInvalidated);
  made->device = &device_at(made->captured->device().ordinal());
  const Topology topology = made->captured->topology();
  for (const NodeKind kind : topology.nodes) made->nodes.push_back({kind, {}, {}});
  for (const auto& [from, to] : topology.edges) made->nodes[to].after.push_back(from);
  *graph = new_handle(std::move(made));
}

void cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  give(status, static_cast<cudaStreamCaptureStatus>(stream_of(stream)->capture_status()));  // the same numbers
  if (*status != cudaStreamCaptureStatusNone && this_thread().capture_failed) *status = cudaStreamCaptureStatusInvalidated;
}

void cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id) {
  calls::cudaStreamIsCapturing(stream, status);
  if (id != nullptr) *id = stream_of(stream)->capture_id();
}

// --- Graphs and nodes

void cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
  check(graph != nullptr && flags == 0);
  auto made = std::make_shared<GraphList>();
  made->device = &current();
  *graph = new_handle(std::move(made));
}

void cudaGraphDestroy(cudaGraph_t graph) { release(tables().graphs.take(graph)); }

void cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  const std::shared_ptr<GraphList> original = tables().graphs.get(graph);
  check(clone != nullptr);
  auto copy = std::make_shared<GraphList>();
  const std::lock_guard lock(original->mutex);
  copy->device = original->device;
  copy->nodes = original->nodes;
  for (Node& node : copy->nodes) node.handle = nullptr;
  if (original->captured) copy->captured = original->captured->clone();
  *clone = new_handle(std::move(copy));
}

void cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                            const cudaKernelNodeParams* parameters) {
  const auto kernel = kernel_node(*tables().graphs.get(graph)->device, parameters);
  add(node, graph, after, count, NodeKind::kernel, [kernel](Stream& stream) {
    stream.launch_raw(kernel->loaded->kernel, kernel->config, kernel->arguments, kernel->loaded->kernel->parameters());
  });
}

void cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                            const cudaMemcpy3DParms* copy) {
  check(copy != nullptr);
  const BoxCopy box = box_copy(*copy);
  check(!box.to.extent.empty());
  add(node, graph, after, count, NodeKind::copy, [box](Stream& stream) { enqueue(stream, box); });
}

void cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count, void* to,
                              const void* from, size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy3DParms copy{};
  copy.dstPtr = {to, bytes, bytes, 1};
  copy.srcPtr = {const_cast<void*>(from), bytes, bytes, 1};
  copy.extent = {bytes, 1, 1};
  copy.kind = kind;
  calls::cudaGraphAddMemcpyNode(node, graph, after, count, &copy);
}

void cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                            const cudaMemsetParams* fill) {
  check(fill != nullptr && fill->width != 0 && fill->height != 0);
  check_fill(*fill);
  add(node, graph, after, count, NodeKind::fill, [given = *fill](Stream& stream) { enqueue(stream, given); });
}

void cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                          const cudaHostNodeParams* parameters) {
  check(parameters != nullptr && parameters->fn != nullptr);
  add(node, graph, after, count, NodeKind::host_function,
      [given = *parameters](Stream& stream) { stream.launch_host_function([given] { given.fn(given.userData); }); });
}

void cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                cudaGraph_t child) {
  check(child != graph);
  const GraphPtr copy = build(*tables().graphs.get(child)).graph;  // CUDA copies the child now
  add(node, graph, after, count, NodeKind::child_graph, [copy](Stream& stream) { stream.add_child_graph(copy); });
}

void cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count) {
  add(node, graph, after, count, NodeKind::empty, [](Stream& stream) { stream.launch_host_function([] {}); });
}

void cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) { list_nodes(graph, nodes, count, false); }
void cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  list_nodes(graph, nodes, count, true);
}

void cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  const NodeHandle& found = tables().nodes.get(node);
  const std::shared_ptr<GraphList> graph = found.graph.lock();
  check(graph != nullptr);
  // The numbers of kinds differ.
  constexpr int types[] = {0, 1, 2, 3, 4, 5, 7, 6, -1, 10, 11, 13, -1};
  const int number = types[static_cast<std::size_t>(graph->nodes[found.index].kind)];
  check(number >= 0, cudaErrorNotSupported);
  give(type, static_cast<cudaGraphNodeType>(number));
}

// --- Executables

void cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  const std::shared_ptr<GraphList> list = tables().graphs.get(graph);
  check(executable != nullptr && (flags & ~15ULL) == 0);
  check((flags & cudaGraphInstantiateFlagDeviceLaunch) == 0, cudaErrorNotSupported);
  Built built = build(*list);
  Executable made{built.graph->instantiate(), list, std::move(built.numbers)};
  *executable = static_cast<cudaGraphExec_t>(tables().executables.add(std::move(made)));
}

void cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  calls::cudaGraphInstantiate(executable, graph, flags);
}

void cudaGraphExecDestroy(cudaGraphExec_t executable) { release(tables().executables.take(executable).graph); }

void cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  const Executable& found = tables().executables.get(executable);
  const StreamPtr on = stream_of(stream);
  if (on->device().supports(Feature::graph_upload)) found.exec->upload(on);
}

void cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  tables().executables.get(executable).exec->launch(stream_of(stream));
}

void cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result) {
  give(result, cudaGraphExecUpdateResultInfo{cudaGraphExecUpdateError, nullptr, nullptr});
  const Executable& found = tables().executables.get(executable);
  const std::shared_ptr<GraphList> other = tables().graphs.get(graph);
  // Tells a changed shape from other differences.
  const auto& before = found.graph->nodes;
  const bool same_size = before.size() == other->nodes.size();
  if (!same_size) result->result = cudaGraphExecUpdateErrorTopologyChanged;
  for (std::size_t i = 0; same_size && i < before.size(); ++i) {
    if (before[i].kind != other->nodes[i].kind)
      result->result = cudaGraphExecUpdateErrorNodeTypeChanged;
    else if (before[i].after != other->nodes[i].after)
      result->result = cudaGraphExecUpdateErrorTopologyChanged;
  }
  found.exec->update(build(*other).graph);
  result->result = cudaGraphExecUpdateSuccess;
}

void cudaGraphExecKernelNodeSetParams(cudaGraphExec_t executable, cudaGraphNode_t node,
                                      const cudaKernelNodeParams* parameters) {
  const Executable& found = tables().executables.get(executable);
  const std::uint32_t index = index_in(found.graph, node);
  check(index < found.numbers.size() && found.graph->nodes[index].kind == NodeKind::kernel);
  const auto kernel = kernel_node(*found.graph->device, parameters);
  GraphChanges changes;
  changes.launch_raw(found.numbers[index], kernel->loaded->kernel, kernel->config, kernel->arguments,
                     kernel->loaded->kernel->parameters());
  found.exec->apply(changes);
}

}  // namespace calls
}  // namespace weir::cudart
