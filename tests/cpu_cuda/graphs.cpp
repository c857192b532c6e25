// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

#include "functions.hpp"

/// Captures and graphs.
namespace cpu_cuda {
namespace {

thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
std::uint64_t last_capture = 0;
auto& open_captures = *new std::vector<std::shared_ptr<Capture>>;  // never destroyed, as nothing here is

Graph* graph_of(CUgraph graph) { return reinterpret_cast<Graph*>(graph); }
Node* node_of(CUgraphNode node) { return reinterpret_cast<Node*>(node); }
CUgraphNode handle(Node* node) { return reinterpret_cast<CUgraphNode>(node); }
std::vector<Node*> list_of(const CUgraphNode* nodes, std::size_t count) {
  std::vector<Node*> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(node_of(nodes[i]));
  return list;
}

void release(UserObject* object, unsigned count) {
  {
    const Lock lock(machine());
    object->references -= count;
    if (object->references != 0) return;
  }
  call_host_function(object->destroy, object->pointer);
  delete object;
}

struct Exec {
  std::shared_ptr<Graph> graph;
  Point last;  // launches of one executable follow one another
};
Exec* exec_of(CUgraphExec exec) { return reinterpret_cast<Exec*>(exec); }

void run(const Node& node) {
  if (node.type == CU_GRAPH_NODE_TYPE_HOST) {
    call_host_function(node.host.fn, node.host.userData);
  } else if (node.child != nullptr) {
    node.child->run();
  } else if (node.run) {
    node.run();
  }
}

bool reaches(const Node* from, const Node* to, std::set<const Node*>& seen) {  // `to` comes before `from`, or is it
  if (from == to) return true;
  if (!seen.insert(from).second) return false;
  return std::any_of(from->before.begin(), from->before.end(),
                     [&](const Node* before) { return reaches(before, to, seen); });
}

bool is_joined(const Capture& capture, const Stream& origin) {
  for (int device = 0; device < device_count(); ++device) {
    for (const auto& stream : streams_of(device)) {
      if (stream->capture.get() != &capture) continue;
      for (const Node* node : stream->dependencies) {
        if (!std::any_of(origin.dependencies.begin(), origin.dependencies.end(), [&](const Node* last) {
              std::set<const Node*> seen;
              return reaches(last, node, seen);
            }))
          return false;
      }
    }
  }
  return true;
}

void leave(const std::shared_ptr<Capture>& capture) {
  for (int device = 0; device < device_count(); ++device) {
    for (const auto& stream : streams_of(device)) {
      if (stream->capture != capture) continue;
      stream->capture = nullptr;
      stream->dependencies.clear();
    }
  }
  std::erase(open_captures, capture);
}

CUresult begin(CUstream handle_of_stream, Graph* graph, const CUgraphNode* dependencies, std::size_t count,
               CUstreamCaptureMode mode) {
  const Lock lock(machine());
  const auto stream = find(handle_of_stream);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->is_legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->id = ++last_capture;
  capture->owns_graph = graph == nullptr;
  capture->graph = graph != nullptr ? graph : new Graph;
  capture->origin = stream.get();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  stream->capture = capture;
  stream->dependencies = list_of(dependencies, count);
  open_captures.push_back(std::move(capture));
  return CUDA_SUCCESS;
}

}  // namespace

Graph::~Graph() {
  for (UserObject* object : owned) release(object, 1);
}

Node* Graph::add(std::unique_ptr<Node> node, const std::vector<Node*>& before) {
  node->graph = this;
  node->before = before;
  return nodes.emplace_back(std::move(node)).get();
}

void Graph::copy_to(Graph& made) const {
  std::unordered_map<const Node*, Node*> copies;
  for (const auto& node : nodes) {
    auto copied = std::make_unique<Node>(*node);
    copied->graph = &made;
    if (node->child != nullptr) copied->child = node->child->copy();
    copies[node.get()] = made.nodes.emplace_back(std::move(copied)).get();
  }
  for (const auto& node : made.nodes) {
    for (Node*& before : node->before) before = copies.at(before);
  }
  made.owned = owned;
  for (UserObject* object : owned) ++object->references;
  made.memory = memory;
}

std::shared_ptr<Graph> Graph::copy() const {
  auto made = std::make_shared<Graph>();
  copy_to(*made);
  return made;
}

void Graph::run() const {
  const bool is_a_chain = std::all_of(nodes.begin(), nodes.end(), [&](const auto& node) {
    return node->before.size() == (node == nodes.front() ? 0 : 1) &&
           (node->before.empty() || node->before.front() == (&node - 1)->get());
  });
  if (is_a_chain) {
    for (const auto& node : nodes) cpu_cuda::run(*node);
    return;
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::set<const Node*> done;
  std::vector<std::thread> threads;
  for (const auto& node : nodes) {
    threads.emplace_back([&, node = node.get()] {
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] {
          return std::all_of(node->before.begin(), node->before.end(), [&](Node* n) { return done.contains(n); });
        });
      }
      cpu_cuda::run(*node);
      const std::lock_guard lock(mutex);
      done.insert(node);
      changed.notify_all();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void leave_capture(const std::shared_ptr<Capture>& capture) {
  leave(capture);
  capture->graph = nullptr;  // its graph is forgotten
}

void invalidate_capture(Stream& stream) {
  if (stream.capture != nullptr) stream.capture->status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

CUresult forbidden_by_capture(Lock&) {
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  bool forbidden = false;
  for (const auto& capture : open_captures) {
    const bool mine = capture->thread == std::this_thread::get_id() && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
    const bool another = thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!mine && !another) continue;
    forbidden = true;
    capture->status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  }
  return forbidden ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult submit(CUstream to, std::unique_ptr<Node> node) {
  Lock lock(machine());
  if (in_host_function()) return CUDA_ERROR_NOT_PERMITTED;
  const auto stream = find(to);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) {
    if (stream->capture->status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    stream->dependencies = {stream->capture->graph->add(std::move(node), stream->dependencies)};
    return CUDA_SUCCESS;
  }
  if (stream->is_legacy) {
    for (const auto& other : streams_of(stream->device)) {
      if (!other->is_blocking || other->capture == nullptr) continue;
      invalidate_capture(*other);
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
  }
  enqueue(lock, stream, [node = std::shared_ptr<Node>(std::move(node))] { cpu_cuda::run(*node); });
  return CUDA_SUCCESS;
}

CUresult submit(CUstream stream, CUgraphNodeType type, std::function<void()> work) {
  return submit(stream, make_node(type, std::move(work)));
}

// --- Captures ---------------------------------------------------------------------------------------------------------

CUresult StreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) { return begin(stream, nullptr, nullptr, 0, mode); }
CUresult StreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData*,
                                   std::size_t count, CUstreamCaptureMode mode) {
  return begin(stream, graph_of(graph), dependencies, count, mode);
}
CUresult StreamEndCapture(CUstream handle_of_stream, CUgraph* graph) {
  std::unique_ptr<Graph> gone;
  const Lock lock(machine());
  *graph = nullptr;
  const auto stream = find(handle_of_stream);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const auto capture = stream->capture;
  if (capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != stream.get()) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  CUresult result = CUDA_SUCCESS;
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != std::this_thread::get_id()) {
    result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;  // and it ends all the same
  } else if (capture->status != CU_STREAM_CAPTURE_STATUS_ACTIVE) {
    result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  } else if (!is_joined(*capture, *stream)) {
    result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  leave(capture);
  if (result == CUDA_SUCCESS) {
    *graph = reinterpret_cast<CUgraph>(capture->graph);
  } else {
    gone.reset(capture->graph);  // also one that was continued
  }
  capture->graph = nullptr;
  return result;
}
CUresult StreamIsCapturing(CUstream handle_of_stream, CUstreamCaptureStatus* status) {
  const Lock lock(machine());
  const auto stream = find(handle_of_stream);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->is_legacy) {
    for (const auto& other : streams_of(stream->device)) {
      if (other->is_blocking && other->capture != nullptr) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
  }
  return give(status, stream->capture != nullptr ? stream->capture->status : CU_STREAM_CAPTURE_STATUS_NONE);
}
CUresult StreamGetCaptureInfo(CUstream handle_of_stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                              const CUgraphNode** dependencies, std::size_t* count) {
  const CUresult result = StreamIsCapturing(handle_of_stream, status);
  if (result != CUDA_SUCCESS || *status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return result;
  const Lock lock(machine());
  const auto stream = find(handle_of_stream);
  if (id != nullptr) *id = stream->capture->id;
  if (graph != nullptr) *graph = reinterpret_cast<CUgraph>(stream->capture->graph);
  if (dependencies != nullptr) *dependencies = reinterpret_cast<const CUgraphNode*>(stream->dependencies.data());
  if (count != nullptr) *count = stream->dependencies.size();
  return CUDA_SUCCESS;
}
CUresult StreamUpdateCaptureDependencies(CUstream handle_of_stream, CUgraphNode* nodes, std::size_t count, unsigned flags) {
  const Lock lock(machine());
  const auto stream = find(handle_of_stream);
  if (stream == nullptr || stream->capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  std::vector<Node*> all = list_of(nodes, count);
  if (flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES)
    all.insert(all.begin(), stream->dependencies.begin(), stream->dependencies.end());
  stream->dependencies = std::move(all);
  return CUDA_SUCCESS;
}
CUresult ThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  std::swap(*mode, thread_mode);
  return CUDA_SUCCESS;
}

// --- Graphs -----------------------------------------------------------------------------------------------------------

CUresult GraphCreate(CUgraph* graph, unsigned) { return give(graph, reinterpret_cast<CUgraph>(new Graph)); }
CUresult GraphDestroy(CUgraph graph) {
  delete graph_of(graph);
  return CUDA_SUCCESS;
}
CUresult GraphClone(CUgraph* clone, CUgraph graph) {
  const Lock lock(machine());
  auto* const made = new Graph;
  graph_of(graph)->copy_to(*made);
  return give(clone, reinterpret_cast<CUgraph>(made));
}
CUresult GraphGetNodes(CUgraph graph, CUgraphNode* list, std::size_t* count) {
  const Lock lock(machine());
  const auto& nodes = graph_of(graph)->nodes;
  for (std::size_t i = 0; list != nullptr && i < std::min(*count, nodes.size()); ++i) list[i] = handle(nodes[i].get());
  return give(count, nodes.size());
}
CUresult GraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, std::size_t* count) {
  const Lock lock(machine());
  std::size_t number = 0;
  for (const auto& node : graph_of(graph)->nodes) {
    for (Node* before : node->before) {
      if (from != nullptr && number < *count) {
        from[number] = handle(before);
        to[number] = handle(node.get());
      }
      ++number;
    }
  }
  return give(count, number);
}
CUresult GraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) { return give(type, node_of(node)->type); }
CUresult GraphDebugDotPrint(CUgraph graph, const char* path, unsigned) {
  std::FILE* const file = std::fopen(path, "w");
  if (file == nullptr) return CUDA_ERROR_OPERATING_SYSTEM;
  std::fprintf(file, "digraph graph_%p {\n", static_cast<void*>(graph));
  for (const auto& node : graph_of(graph)->nodes) {
    std::fprintf(file, "  \"%p\";\n", static_cast<void*>(node.get()));
    for (const Node* before : node->before) {
      std::fprintf(file, "  \"%p\" -> \"%p\";\n", static_cast<const void*>(before), static_cast<void*>(node.get()));
    }
  }
  std::fprintf(file, "}\n");
  std::fclose(file);
  return CUDA_SUCCESS;
}
CUresult GraphAddChildGraphNode(CUgraphNode* made, CUgraph graph, const CUgraphNode* before, std::size_t count,
                                CUgraph child) {
  auto node = make_node(CU_GRAPH_NODE_TYPE_GRAPH);
  const Lock lock(machine());
  node->child = graph_of(child)->copy();
  return give(made, handle(graph_of(graph)->add(std::move(node), list_of(before, count))));
}
CUresult GraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* child) {
  return give(child, reinterpret_cast<CUgraph>(node_of(node)->child.get()));
}
CUresult GraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* parameters) {
  return give(parameters, node_of(node)->host);
}
CUresult GraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* parameters) {
  return give(parameters, node_of(node)->kernel);
}

// --- Executables ------------------------------------------------------------------------------------------------------

CUresult GraphInstantiateWithFlags(CUgraphExec* made, CUgraph graph, unsigned long long) {
  const Lock lock(machine());
  auto* const exec = new Exec;
  exec->graph = graph_of(graph)->copy();
  return give(made, reinterpret_cast<CUgraphExec>(exec));
}
CUresult GraphLaunch(CUgraphExec handle_of_exec, CUstream to) {
  Lock lock(machine());
  Exec* const exec = exec_of(handle_of_exec);
  const auto stream = find(to);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture != nullptr) {
    auto node = make_node(CU_GRAPH_NODE_TYPE_GRAPH);
    node->child = exec->graph->copy();
    lock.unlock();
    return submit(to, std::move(node));
  }
  enqueue(lock, stream, [graph = exec->graph] { graph->run(); }, {exec->last});
  exec->last = stream->last();
  return CUDA_SUCCESS;
}
CUresult GraphExecDestroy(CUgraphExec exec) {
  delete exec_of(exec);
  return CUDA_SUCCESS;
}

// --- User objects -----------------------------------------------------------------------------------------------------

CUresult UserObjectCreate(CUuserObject* object, void* pointer, CUhostFn destroy, unsigned references, unsigned) {
  return give(object, reinterpret_cast<CUuserObject>(new UserObject{pointer, destroy, references}));
}
CUresult UserObjectRelease(CUuserObject object, unsigned count) {
  release(reinterpret_cast<UserObject*>(object), count);
  return CUDA_SUCCESS;
}
CUresult GraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count, unsigned flags) {
  const Lock lock(machine());
  auto* const owned = reinterpret_cast<UserObject*>(object);
  if ((flags & CU_GRAPH_USER_OBJECT_MOVE) == 0) owned->references += count;
  graph_of(graph)->owned.insert(graph_of(graph)->owned.end(), count, owned);
  return CUDA_SUCCESS;
}

}  // namespace cpu_cuda
