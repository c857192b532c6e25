// SPDX-License-Identifier: Apache-2.0
#include "backends/host/graph/capture.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <new>
#include <utility>

#include "core/base/no_destructor.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/plugin/support.hpp"

namespace weir::host {
namespace {

std::uint64_t new_capture_id() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void merge(std::vector<std::uint32_t>& into, const std::vector<std::uint32_t>& nodes) {
  std::vector<std::uint32_t> result;
  std::set_union(into.begin(), into.end(), nodes.begin(), nodes.end(), std::back_inserter(result));
  into = std::move(result);
}

/// Needed only if several threads end or join one capture at the same time: the core has checked everything else.
[[noreturn]] void throw_capture_refusal(Errc code, const char* operation, const Queue& queue) {
  throw Error(code, operation, queue.device().describe(), support::capture_refusal(code));
}

}  // namespace

std::mutex& Capture::mutex() {
  static detail::NoDestructor<std::mutex> mutex;
  return *mutex;
}

Capture::Capture(Queue& origin, Ptr<HostGraph> graph) : id_(new_capture_id()), origin_(origin), graph_(std::move(graph)) {
  queues_.push_back(Ptr<Queue>(&origin));
}

// --- Beginning and ending ---------------------------------------------------------------------------------------------

std::uint64_t Capture::begin(Queue& origin, Ptr<HostGraph> graph) {
  std::lock_guard lock(mutex());
  if (origin.capture().capture) throw_capture_refusal(Errc::already_capturing, "Stream::begin_capture", origin);
  origin.capture().nodes = graph->data()->topology().leaves();
  auto capture = Ptr<Capture>(new Capture(origin, std::move(graph)));
  origin.capture().capture = capture;
  origin.capture().is_open.store(true, std::memory_order_release);
  return capture->id_;
}

std::vector<Ptr<Queue>> Capture::dissolve() noexcept {
  std::vector<Ptr<Queue>> queues = std::exchange(queues_, {});
  for (const Ptr<Queue>& queue : queues) {
    queue->capture().is_open.store(false, std::memory_order_release);
    queue->capture().nodes.clear();
    queue->capture().capture.reset();
  }
  return queues;
}

bool Capture::all_joined() const {
  // Checks that the capture's origin depends on the last nodes of all its queues.
  std::vector<bool> before(data().nodes.size(), false);
  std::vector<std::uint32_t> open = origin_.capture().nodes;
  while (!open.empty()) {
    const std::uint32_t node = open.back();
    open.pop_back();
    if (before[node]) continue;
    before[node] = true;
    open.insert(open.end(), data().nodes[node].after.begin(), data().nodes[node].after.end());
  }
  return std::all_of(queues_.begin(), queues_.end(), [&](const Ptr<Queue>& queue) {
    return std::all_of(queue->capture().nodes.begin(), queue->capture().nodes.end(),
                       [&](std::uint32_t n) { return before[n]; });
  });
}

Ptr<HostGraph> Capture::end(Queue& origin) {
  // These are destroyed outside the lock, because the graph owns host functions, and the destructors of their captured
  // objects may call Weir.
  Ptr<Capture> capture;
  Ptr<HostGraph> graph;
  std::vector<Ptr<Queue>> queues;
  std::lock_guard lock(mutex());
  capture = Ptr<Capture>(of(origin));
  if (!capture) throw_capture_refusal(Errc::not_capturing, "Stream::end_capture", origin);
  if (&capture->origin_ != &origin) throw_capture_refusal(Errc::capture_unmatched, "Stream::end_capture", origin);
  // From here on the capture has ended, even if the code below throws.
  std::exception_ptr failure;
  bool joined = false;
  try {
    joined = capture->all_joined();
  } catch (const std::bad_alloc&) {
    failure = std::current_exception();
  }
  queues = capture->dissolve();
  graph = std::move(capture->graph_);
  if (failure) std::rethrow_exception(failure);
  if (!joined) throw_capture_refusal(Errc::capture_unjoined, "Stream::end_capture", origin);
  return graph;
}

void Capture::abandon(Queue& queue) noexcept {
  Ptr<Capture> capture;
  Ptr<HostGraph> graph;
  std::vector<Ptr<Queue>> queues;
  std::lock_guard lock(mutex());
  capture = Ptr<Capture>(of(queue));
  // The nodes of the other queues stay in the graph; `end` checks whether they were joined.
  if (!capture || &capture->origin_ != &queue) return;
  queues = capture->dissolve();
  graph = std::move(capture->graph_);
}

CaptureState Capture::state_of(const Queue& queue) {
  if (!queue.is_capturing()) return {};
  std::lock_guard lock(mutex());
  const Capture* const capture = of(queue);
  return capture != nullptr ? CaptureState{capture->id_, CaptureStatus::active} : CaptureState{};
}

Ptr<HostGraph> Capture::graph_of(const Queue& queue) {
  std::lock_guard lock(mutex());
  const Capture* const capture = of(queue);
  return capture != nullptr ? make_ptr<HostGraph>(queue.device(), capture->data().copy()) : nullptr;
}

// --- Recording -------------------------------------------------------------------------------------------------------

bool Capture::add(Queue& queue, NodeKind kind, Work&& work) {
  if (!queue.is_capturing()) return false;
  std::lock_guard lock(mutex());
  Capture* const capture = of(queue);
  if (capture == nullptr) return false;
  queue.capture().nodes.reserve(1);  // reserved first, so that nothing can fail after the node was added
  const std::uint32_t node = capture->data().add(kind, std::move(work), queue.capture().nodes);
  queue.capture().nodes.assign(1, node);
  return true;
}

bool Capture::add_memory(Queue& queue, std::shared_ptr<void> memory) {
  if (!queue.is_capturing()) return false;
  std::lock_guard lock(mutex());
  Capture* const capture = of(queue);
  if (capture == nullptr) return false;
  queue.capture().nodes.reserve(1);
  capture->data().memory.push_back(std::move(memory));
  const std::uint32_t node = capture->data().add(NodeKind::allocate, Nothing{}, queue.capture().nodes);
  queue.capture().nodes.assign(1, node);
  return true;
}

bool Capture::record(Queue& queue, RecordedEvent& event) {
  if (!queue.is_capturing()) return false;
  std::lock_guard lock(mutex());
  Capture* const capture = of(queue);
  if (capture == nullptr) return false;
  event.record_in(Ptr<RefCounted>(capture), queue.capture().nodes);
  return true;
}

void Capture::join(Queue& queue, const std::vector<std::uint32_t>& nodes, const char* operation) {
  Capture* const other = of(queue);
  if (other == nullptr) {
    if (queues_.empty()) throw_capture_refusal(Errc::captured_event, operation, queue);
    queue.capture().nodes = nodes;
    queues_.push_back(Ptr<Queue>(&queue));
    queue.capture().capture = Ptr<Capture>(this);
    queue.capture().is_open.store(true, std::memory_order_release);
  } else if (other == this) {
    merge(queue.capture().nodes, nodes);
  } else {
    throw_capture_refusal(Errc::capture_merge, operation, queue);
  }
}

void Capture::wait(Queue& queue, const RecordPoint& point) {
  std::lock_guard lock(mutex());
  static_cast<Capture&>(*point.capture).join(queue, point.nodes, "Stream::wait");
}

bool Capture::wait(Queue& queue, Queue& other) {
  if (!queue.is_capturing() && !other.is_capturing()) return false;
  std::lock_guard lock(mutex());
  Capture* const theirs = of(other);
  if (theirs != nullptr) {
    theirs->join(queue, other.capture().nodes, "Stream::wait");
    return true;
  }
  if (of(queue) != nullptr) throw_capture_refusal(Errc::capture_isolation, "Stream::wait", queue);
  return false;
}

std::vector<std::uint32_t> Capture::position_of(const Queue& queue) {
  std::lock_guard lock(mutex());
  return queue.capture().nodes;
}

void Capture::set_position(Queue& queue, std::vector<std::uint32_t> nodes) {
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  std::lock_guard lock(mutex());
  const char* const operation = "Stream::set_capture_dependencies";
  const Capture* const capture = of(queue);
  if (capture == nullptr) throw_capture_refusal(Errc::not_capturing, operation, queue);
  const std::size_t count = capture->data().nodes.size();
  if (!nodes.empty() && nodes.back() >= count)
    support::throw_no_such_node(operation, queue.device().describe(), {nodes.back()}, count);
  queue.capture().nodes = std::move(nodes);
}

}  // namespace weir::host
