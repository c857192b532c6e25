// SPDX-License-Identifier: Apache-2.0
#include "backends/host/runtime/stream.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "backends/host/graph/capture.hpp"
#include "backends/host/graph/graph.hpp"
#include "backends/host/runtime/device.hpp"
#include "backends/host/runtime/event.hpp"
#include "backends/host/runtime/memory.hpp"
#include "backends/host/schedule/scheduled_memory.hpp"
#include "weir/error.hpp"

namespace weir::host {
namespace {

HostEvent& host_event(Event& event) { return static_cast<HostEvent&>(event); }
HostDevice& host_device(const Stream& stream) { return static_cast<HostDevice&>(stream.device()); }

}  // namespace

HostStream::HostStream(HostDevice& device, Ptr<Queue> queue, StreamKind kind, std::shared_ptr<const void> keep_alive)
    : StreamImpl(device, queue.get(), kind, std::move(keep_alive)), queue_(std::move(queue)) {}

void HostStream::do_close(bool destroy) {
  if (destroy) {
    Capture::abandon(*queue_);
  } else if (kind() == StreamKind::owned || kind() == StreamKind::adopted) {
    queue_->release_to_caller();
  }
}

void HostStream::submit(NodeKind kind, Work&& work) {
  if (queue_->is_capturing() && Capture::add(*queue_, kind, std::move(work))) return;
  queue_->enqueue(std::move(work));  // NOLINT(bugprone-use-after-move): Capture::add moves only what it takes
}

void HostStream::capture_only(const char* operation, NodeKind kind, Work&& work) {
  if (!Capture::add(*queue_, kind, std::move(work))) {
    throw Error(Errc::not_capturing, operation, describe(), "the capture has ended in the meantime");
  }
}

// --- Identity ---------------------------------------------------------------------------------------------------------

std::uint64_t HostStream::do_id() const { return queue_->id(); }
std::uint64_t HostStream::do_given_operations() const noexcept { return queue_->given(); }
bool HostStream::do_is_non_blocking() const { return queue_->is_non_blocking(); }
int HostStream::do_priority() const { return queue_->priority(); }
SynchronizationPolicy HostStream::do_synchronization_policy() const { return queue_->policy(); }
void HostStream::do_set_synchronization_policy(SynchronizationPolicy policy) { queue_->set_policy(policy); }
void HostStream::do_copy_attributes(const Stream& other) { queue_->set_policy(queue_of(other).policy()); }

// --- Ordering ---------------------------------------------------------------------------------------------------------

void HostStream::do_synchronize() { queue_->wait_on_host(queue_->point(), queue_->policy()); }
bool HostStream::do_is_complete() const { return queue_->is_done(queue_->point()); }
bool HostStream::do_synchronize_until(std::chrono::steady_clock::time_point deadline) {
  return queue_->wait_on_host_until(queue_->point(), deadline);
}
std::exception_ptr HostStream::do_take_host_error() noexcept { return queue_->take_error(); }

void HostStream::do_record_external(Event& event, const CaptureState&) {
  capture_only("Stream::record_external", NodeKind::event_record, ExternalRecord{Ptr<RecordedEvent>(&host_event(event))});
}

void HostStream::do_record(Event& event, const CaptureState&) {
  HostEvent& target = host_event(event);
  if (Capture::record(*queue_, target)) return;
  // A record only stores a number. An event with timing also needs an operation that reads the clock.
  if (event.options().timing) queue_->enqueue(TimedRecord{Ptr<RecordedEvent>(&target)});
  target.record_at(*queue_, queue_->point());
}

void HostStream::do_wait_external(const Event& event, const CaptureState&) {
  const auto& source = static_cast<const HostEvent&>(event);
  capture_only("Stream::wait_external", NodeKind::event_wait, ExternalWait{Ptr<const RecordedEvent>(&source)});
}

void HostStream::do_wait(const Event& event, const CaptureState&) {
  RecordPoint point = static_cast<const HostEvent&>(event).point();
  if (point.capture) {
    Capture::wait(*queue_, point);
  } else if (point.signal && point.signal.get() != queue_.get() && !point.signal->has_reached(point.number)) {
    queue_->enqueue(SignalWait{std::move(point.signal), point.number});
  }
}

void HostStream::do_wait_stream(Stream& other, const CaptureState&, const CaptureState&) {
  Queue& theirs = queue_of(other);
  if (Capture::wait(*queue_, theirs)) return;
  const std::uint64_t point = theirs.point();
  if (!theirs.has_reached(point)) queue_->enqueue(SignalWait{Ptr<Signal>(&theirs), point});
}

// --- Host work --------------------------------------------------------------------------------------------------------

void HostStream::do_launch_host_function(HostFunction&& function, const CaptureState& capture) {
  queue_->engine().host_thread().ensure_started();
  if (capture) {
    auto shared = make_ptr<SharedFunction>(std::move(function));
    if (Capture::add(*queue_, NodeKind::host_function, HostCall{shared})) return;
    function = std::move(shared->function);
  }
  queue_->enqueue(std::move(function));
}

void HostStream::do_add_callback(StreamCallback&& callback) {
  queue_->engine().host_thread().ensure_started();
  queue_->enqueue(HostFunction([self = StreamPtr(this), queue = queue_.get(), callback = std::move(callback)]() mutable {
    callback(*self, queue->status());
  }));
}

// --- Capture ----------------------------------------------------------------------------------------------------------

std::uint64_t HostStream::do_begin_capture(CaptureMode) {
  return Capture::begin(*queue_, make_ptr<HostGraph>(host_device(*this), make_ptr<GraphData>()));
}

std::uint64_t HostStream::do_resume_capture(const GraphPtr& graph, CaptureMode) {
  return Capture::begin(*queue_, Ptr<HostGraph>(static_cast<HostGraph*>(graph.get())));
}

GraphPtr HostStream::do_end_capture(CaptureResources&&) { return Capture::end(*queue_); }

CaptureState HostStream::do_capture_state() const { return Capture::state_of(*queue_); }

GraphPtr HostStream::do_captured_graph() const { return Capture::graph_of(*queue_); }

void HostStream::do_add_child_graph(const Graph& graph, const CaptureState&) {
  const GraphData& data = *static_cast<const HostGraph&>(graph).data();
  check_nesting("Stream::add_child_graph", describe(), data);
  capture_only("Stream::add_child_graph", NodeKind::child_graph, SubGraph{data.copy(), nullptr});
}

/// Checks the limits that drivers have as well.
void HostStream::check_conditional_body(const char* operation, const GraphData& body) const {
  for (const NodeData& node : body.nodes) {
    switch (node.kind) {
      case NodeKind::kernel:
      case NodeKind::copy:
      case NodeKind::fill:
      case NodeKind::empty:
      case NodeKind::conditional: continue;
      case NodeKind::child_graph:
        check_conditional_body(operation, *std::get<SubGraph>(node.work).graph);
        continue;
      default: break;
    }
    throw Error(Errc::capture_unsupported, operation, describe(),
                "the body of a conditional node contains a node of kind " + std::string(to_string(node.kind)) +
                    ", which drivers do not support in bodies; bodies can contain kernels, copies, fills, child graphs and "
                    "conditional nodes; the capture continues");
  }
}

void HostStream::do_capture_conditional(ConditionalKind kind, const std::uint32_t* condition,
                                        std::span<UniqueFunction<void(Stream&)>> bodies, const CaptureState& outer) {
  const char* const operation = kind == ConditionalKind::if_nonzero      ? "Stream::capture_if"
                                : kind == ConditionalKind::while_nonzero ? "Stream::capture_while"
                                                                         : "Stream::capture_switch";
  Conditional node{condition, kind, {}};
  for (auto& body : bodies) {
    const Ptr<GraphData> data = capture_body(operation, body, outer);
    check_conditional_body(operation, *data);
    check_nesting(operation, describe(), *data);
    node.bodies.push_back(data);
  }
  capture_only(operation, NodeKind::conditional, std::move(node));
}

Ptr<GraphData> HostStream::capture_body(const char* operation, UniqueFunction<void(Stream&)>& body,
                                        const CaptureState& outer) {
  // The body's function gets a stream that no other code can use. That stream does not own the queue's capture, so the
  // function cannot end the capture.
  const auto queue = make_ptr<Queue>(queue_->engine(), Queue::Role::non_blocking, 0);
  const auto stream = make_ptr<HostStream>(host_device(*this), queue, StreamKind::borrowed);
  stream->mark_private();
  const auto data = make_ptr<GraphData>();
  struct End {
    Queue& queue;
    ~End() { Capture::abandon(queue); }  // no effect if the capture has already ended
  } const end{*queue};
  {
    BodyCapture capture(*stream, outer,
                        [&] { return Capture::begin(*queue, make_ptr<HostGraph>(host_device(*this), data)); });
    capture.run(operation, *this, body);
    try {
      (void)Capture::end(*queue);
    } catch (const Error& e) {
      if (e.errc() == Errc::capture_unjoined) BodyCapture::refuse_unjoined(operation, *this);
      throw;
    }
  }
  stream->close();
  return data;
}

std::vector<GraphNode> HostStream::do_capture_dependencies(const CaptureState&) const {
  std::vector<GraphNode> nodes;
  for (const std::uint32_t node : Capture::position_of(*queue_)) nodes.push_back({node});
  return nodes;
}

void HostStream::do_set_capture_dependencies(std::span<const GraphNode> nodes, const CaptureState&) {
  std::vector<std::uint32_t> position;
  for (const GraphNode node : nodes) position.push_back(node.index);
  Capture::set_position(*queue_, std::move(position));
}

// --- Copies and fills -------------------------------------------------------------------------------------------------

void HostStream::do_copy(void* destination, const void* source, std::size_t bytes) {
  constexpr std::size_t small_copy = std::size_t{64} << 10U;
  Work copy = contiguous_copy(destination, source, bytes);
  if (bytes <= small_copy && !queue_->is_capturing() && queue_->run_here(copy)) return;
  submit(NodeKind::copy, std::move(copy));
}

void HostStream::do_copy_pitched(const PitchedCopy& copy) { submit(NodeKind::copy, Copy{copy}); }

void HostStream::do_fill(void* destination, std::uint32_t value, std::size_t element_size, std::size_t count) {
  submit(NodeKind::fill,
         Fill{destination, element_size * count, value, static_cast<std::uint32_t>(element_size), count, 1});
}

void HostStream::do_fill_2d(void* destination, std::size_t pitch, std::uint32_t value, std::size_t element_size,
                            std::size_t width, std::size_t height) {
  submit(NodeKind::fill, Fill{destination, pitch, value, static_cast<std::uint32_t>(element_size), width, height});
}

// --- Memory -----------------------------------------------------------------------------------------------------------

void* HostStream::do_allocate_async(std::size_t bytes, MemoryPool* pool, const CaptureState& capture) {
  HostDevice& device = host_device(*this);
  if (capture) {
    void* const memory = allocate_aligned(device, "Stream::allocate_async", bytes);
    watch_memory(memory, bytes, Watch::owned);
    if (Capture::add_memory(*queue_, std::shared_ptr<void>(memory, free_aligned))) return memory;
  }
  return (pool != nullptr ? static_cast<HostMemoryPool&>(*pool) : device.memory_pool()).take(bytes, *queue_);
}

bool HostStream::do_deallocate_async(void* memory, const CaptureState& capture) {
  if (capture && Capture::add(*queue_, NodeKind::free, Nothing{})) return true;
  // Even if this queue is idle, work of the default stream may still use the memory if the two are ordered. Under a schedule
  // each free is an operation, so that the names of other operations do not depend on the queue's progress.
  if (queue_->is_non_blocking() && queue_->is_idle() && !Scheduler::instance().has_policy()) {
    HostMemoryPool::give_back(memory);
  } else {
    HostMemoryPool::offer_to(*queue_, memory);
    queue_->enqueue(PoolFree{memory, &HostMemoryPool::free_behind});
  }
  return true;
}

void HostStream::do_attach_memory(const Allocation&, AttachMode) {
  // Nothing to do, because every processor can access all memory at any time.
}

void HostStream::do_prefetch(const void*, std::size_t, PrefetchTarget) {
  // Nothing to do, because there is no other place to which the memory could move.
}

void HostStream::do_memory_operation(const MemoryOperation& operation, const CaptureState&) {
  if (operation.is_wait()) ValueWaits::instance().ensure_started();
  submit(NodeKind::memory_operations, MemoryOperations{operation, {}});
}

void HostStream::do_batch_memory_operations(std::span<const MemoryOperation> operations, const CaptureState&) {
  ValueWaits::instance().ensure_started();
  submit(NodeKind::memory_operations,
         MemoryOperations{operations.front(), {operations.begin() + 1, operations.end()}});
}

// --- Kernels ----------------------------------------------------------------------------------------------------------

void HostStream::do_launch(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                           const std::span<const Parameter>& parameters, const CaptureState&) {
  Launch launch(static_cast<const HostKernel&>(kernel), config, {arguments, parameters.size()}, parameters);
  launch.most_workers = queue_->most_workers();
  submit(NodeKind::kernel, std::move(launch));
}

void HostStream::do_launch_with_attributes(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                                           const std::span<const Parameter>& parameters, const CaptureState& capture) {
  check_cooperative("Stream::launch", describe(), kernel, config);
  HostStream::do_launch(kernel, config, arguments, parameters, capture);
}

}  // namespace weir::host
