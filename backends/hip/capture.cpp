// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_set>

#include "backends/hip/api.hpp"

/// Captures and graphs, with workarounds for the runtime's faults.
namespace weir::hip {

Api::Result Api::capture_info(StreamHandle stream, CaptureStatus& status, std::uint64_t& id, GraphHandle& graph,
                              const NodeHandle** dependencies, std::size_t* count) const {
  // The runtime leaves some results unwritten, so initialize them.
  hipStreamCaptureStatus native = hipStreamCaptureStatusNone;
  unsigned long long number = 0;
  const Result result = StreamGetCaptureInfo(stream, &native, &number, &graph, dependencies, count);
  status = native == hipStreamCaptureStatusActive        ? CaptureStatus::active
           : native == hipStreamCaptureStatusInvalidated ? CaptureStatus::invalidated
                                                         : CaptureStatus::none;
  id = number;
  return result;
}

// The lock for creating and releasing user objects. Recursive, because destroying a graph calls the destructors of the
// objects that the graph owns, and these may release more. The runtime holds its own locks meanwhile.
std::unique_lock<std::recursive_mutex> Api::user_object_lock() const {
  static auto* const mutex = new std::recursive_mutex;  // never destroyed, because graphs may be destroyed after main
  return has(Workaround::lock_user_objects) ? std::unique_lock(*mutex) : std::unique_lock<std::recursive_mutex>();
}

// --- The end of a capture ---------------------------------------------------------------------------------------------

// Makes the stream depend on every captured node. `joined`: set to true if the stream did not depend on all of them before;
// the caller then reports an error.
Api::Result Api::join_everything(StreamHandle stream, bool& joined) const {
  CaptureStatus status{};
  std::uint64_t id = 0;
  GraphHandle graph = nullptr;
  const NodeHandle* dependencies = nullptr;
  std::size_t dependency_count = 0, node_count = 0, edge_count = 0;
  Result result = capture_info(stream, status, id, graph, &dependencies, &dependency_count);
  if (result != success || status != CaptureStatus::active || graph == nullptr) return result;

  if ((result = GraphGetNodes(graph, nullptr, &node_count)) != success || node_count == 0) return result;
  std::vector<NodeHandle> leaves(node_count);
  if ((result = GraphGetNodes(graph, leaves.data(), &node_count)) != success) return result;
  if ((result = GraphGetEdges(graph, nullptr, nullptr, &edge_count)) != success) return result;
  std::vector<NodeHandle> from(edge_count), to(edge_count);
  if (edge_count != 0 && (result = GraphGetEdges(graph, from.data(), to.data(), &edge_count)) != success) return result;

  std::unordered_set<NodeHandle> joined_already(from.begin(), from.end());
  joined_already.insert(dependencies, dependencies + dependency_count);
  std::erase_if(leaves, [&](NodeHandle node) { return joined_already.contains(node); });
  if (leaves.empty()) return success;
  joined = true;
  return StreamUpdateCaptureDependencies(stream, leaves.data(), leaves.size(), add_dependencies);
}

// Resets the capture state of the streams in an invalidated capture, which only a successful hipStreamEndCapture does. An
// invalidated stream can begin a new capture, so begin an empty one and end it.
void Api::end_invalidated_capture(StreamHandle stream) const {
  GraphHandle graph = nullptr;
  if (StreamBeginCapture(stream, hipStreamCaptureModeRelaxed) != success) return;
  // The stream's dependencies are still nodes of the invalidated capture, so clear them.
  (void)StreamUpdateCaptureDependencies(stream, nullptr, 0, set_dependencies);
  if (Symbols::StreamEndCapture(stream, &graph) == success) GraphDestroy(graph);
}

Api::Result Api::StreamEndCapture(StreamHandle stream, GraphHandle* graph) const {
  bool joined = false;
  hipStreamCaptureStatus status = hipStreamCaptureStatusActive;
  if (has(Workaround::check_capture_at_end)) (void)StreamIsCapturing(stream, &status);
  if (has(Workaround::join_before_end)) (void)join_everything(stream, joined);
  Result result = Symbols::StreamEndCapture(stream, graph);
  if (result != success) *graph = nullptr;  // otherwise possibly an uninitialized variable (6.2, 7.15)
  if (result == success && status == hipStreamCaptureStatusInvalidated) {  // not reported by hipStreamEndCapture
    GraphDestroy(*graph);
    *graph = nullptr;
    result = hipErrorStreamCaptureInvalidated;
  }
  if (result == hipErrorStreamCaptureInvalidated && has(Workaround::end_invalidated_twice)) end_invalidated_capture(stream);
  if (result != success || !joined) return result;
  // Destroys the graph of a failed capture, as CUDA's driver does.
  GraphDestroy(*graph);
  *graph = nullptr;
  return hipErrorStreamCaptureUnjoined;
}

// --- Graphs -----------------------------------------------------------------------------------------------------------

Api::Result Api::node_kind(NodeHandle node, NodeKind& kind) const {
  hipGraphNodeType type{};
  const Result result = GraphNodeGetType(node, &type);
  switch (static_cast<int>(type)) {
    case node_kernel: kind = NodeKind::kernel; break;
    case node_copy: kind = NodeKind::copy; break;
    case node_fill: kind = NodeKind::fill; break;
    case node_host: kind = NodeKind::host_function; break;
    case node_graph: kind = NodeKind::child_graph; break;
    case node_empty: kind = NodeKind::empty; break;
    case node_event_wait: kind = NodeKind::event_wait; break;
    case node_event_record: kind = NodeKind::event_record; break;
    case node_allocate: kind = NodeKind::allocate; break;
    case node_free: kind = NodeKind::free; break;
    case node_copy_from_symbol:
    case node_copy_to_symbol: kind = NodeKind::copy; break;
    case node_batch: kind = NodeKind::memory_operations; break;
    default: kind = NodeKind::other; break;
  }
  return result;
}

}  // namespace weir::hip
