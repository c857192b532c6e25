// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "core/captures.hpp"
#include "core/enumerator.hpp"
#include "core/thread_state.hpp"
#include "weir/backend.hpp"
#include "weir/backend_support.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/stream.hpp"

// Streams: the begin and the end of captures. docs/internals.md says what a capture is to Weir.
namespace weir {

using detail::Captures;

// --- What a stream knows of its capture -------------------------------------------------------------------------------

detail::Origin Stream::origin() const noexcept { return {.device = device_, .handle = handle_, .thread_stream = thread_}; }

// Called under the lock of `Captures`. The id is written last: a stream that goes looks at it, and needs no lock if it is 0.
void Stream::enter_capture(std::uint64_t id, bool body) noexcept {
  capture_.store(id, std::memory_order_release);
  flags_.fetch_or(flag_capturing | (body ? flag_body : 0), std::memory_order_release);
}

void Stream::leave_capture(std::uint64_t id) noexcept {
  if (capture_.load(std::memory_order_relaxed) != id) return;
  flags_.fetch_and(~(flag_capturing | flag_body), std::memory_order_release);
  capture_.store(0, std::memory_order_release);
}

/// Whether the driver has the stream in that capture. Without a question where only Weir's own calls can have ended it.
bool Stream::is_in(std::uint64_t capture) const {
  if (!asks_for_captures()) return true;
  const CaptureState state = do_capture_state();
  return state.status == CaptureStatus::invalidated || state.id == capture;
}

void Stream::keep_module(const ModulePtr& module, const CaptureState& capture) {
  if (is_last_kept(*module, capture)) return;
  if (!Captures::instance().keep(device_->backend(), capture.id, module)) {
    do_keep_in_graph(module, capture);
    return;
  }
  kept_module_.store(module.get(), std::memory_order_relaxed);
  kept_for_.store(capture.id, std::memory_order_release);
}

// --- Begin ------------------------------------------------------------------------------------------------------------

void Stream::check_can_begin(const char* operation) const {
  if (kind_ == StreamKind::legacy_default) {
    throw Error(Errc::capture_unsupported, operation, describe(),
                "the legacy default stream cannot capture, since it is ordered against other streams; use a stream made by "
                "create_stream");
  }
  if (usable_capture(operation)) {
    throw Error(Errc::already_capturing, operation, describe(), "the stream is capturing already; that capture goes on");
  }
}

template <class F>
void Stream::begin(CaptureMode mode, const GraphPtr& resumed, F&& native_begin) {
  const bool blocking = !do_is_non_blocking();  // which drivers do not tell of a stream that captures
  Captures::instance().open(*this, {.origin = origin(), .thread = detail::this_thread(), .mode = mode}, blocking, resumed,
                            std::forward<F>(native_begin));
  began_.store(capture_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void Stream::begin_capture(const CaptureOptions& options) {
  const char* const operation = "Stream::begin_capture";
  enter(operation);
  require(operation, Feature::graph_capture);
  detail::check_enumerator(operation, *this, "CaptureMode", options.mode, CaptureMode::relaxed);
  if (options.external) {
    const CaptureState capture = usable_capture(operation);
    if (!capture) {
      throw Error(Errc::not_capturing, operation, describe(),
                  "with 'external' a capture is joined that other code began, and the stream is not capturing");
    }
    if (joined_.exchange(capture.id, std::memory_order_relaxed) != capture.id) {
      joined_depth_.store(0, std::memory_order_relaxed);
    }
    joined_depth_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  check_can_begin(operation);
  begin(options.mode, nullptr, [&] { return do_begin_capture(options.mode); });
}

void Stream::resume_capture(const GraphPtr& graph, CaptureMode mode) {
  const char* const operation = "Stream::resume_capture";
  enter(operation);
  require(operation, Feature::capture_into_graph);
  detail::check_enumerator(operation, *this, "CaptureMode", mode, CaptureMode::relaxed);
  if (!graph) throw Error(Errc::invalid_argument, operation, describe(), "the graph is null");
  if (&graph->device() != device_) {
    throw Error(Errc::wrong_device, operation, describe(), "the graph is of " + graph->device().describe());
  }
  check_can_begin(operation);
  begin(mode, graph, [&] { return do_resume_capture(graph, mode); });
}

// --- End --------------------------------------------------------------------------------------------------------------

/// Undoes one `begin_capture({.external = true})`: false if there is none for the capture that the stream is in.
bool Stream::leave_joined() {
  if (joined_depth_.load(std::memory_order_relaxed) == 0) return false;
  if (is_in(joined_.load(std::memory_order_relaxed))) {
    joined_depth_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }
  joined_depth_.store(0, std::memory_order_relaxed);
  return false;
}

GraphPtr Stream::end_capture() {
  const char* const operation = "Stream::end_capture";
  enter(operation);
  if (leave_joined()) return nullptr;
  Captures& captures = Captures::instance();
  const Backend& backend = device_->backend();
  auto capture = captures.find(origin());
  if (!capture) {
    const CaptureState state = known_capture();
    if (state.status == CaptureStatus::none) {
      throw Error(Errc::not_capturing, operation, describe(), "the stream is not capturing");
    }
    capture = captures.find(origin());  // another thread may have begun it in between
    if (!capture) {
      const bool external = (flags_.load(std::memory_order_relaxed) & flag_external) != 0;
      if (external && !captures.is_open(backend, state.id)) return do_end_capture({});
      throw Error(Errc::capture_unmatched, operation, describe(),
                  "the stream was drawn into a capture that another stream began; end it there, after that stream has waited "
                  "for this one; the capture goes on");
    }
  }
  if (capture->outer != 0) {
    throw Error(Errc::capture_unmatched, operation, describe(),
                "this stream captures the body of a conditional node, which ends when the function that captures it returns");
  }
  const bool is_there = is_in(capture->id);
  const bool mine = capture->mode == CaptureMode::relaxed || capture->thread == detail::this_thread();
  if (is_there && !mine && !capture->ending) {
    throw Error(Errc::capture_wrong_thread, operation, describe(),
                "another thread began the capture, in mode '" + std::string(to_string(capture->mode)) +
                    "'; end it there, or begin it in mode 'relaxed'; the capture goes on");
  }
  auto kept = captures.claim(backend, capture->id);
  if (!kept) {
    throw Error(Errc::not_capturing, operation, describe(), "another thread ended the capture, or is about to");
  }
  GraphPtr graph;
  {
    struct Close {
      const Backend& backend;
      std::uint64_t id;
      ~Close() { Captures::instance().close(backend, id); }
    } const close{backend, capture->id};
    if (!is_there) throw Error(Errc::not_capturing, operation, describe(), "the capture was ended by other code");
    graph = do_end_capture(std::move(*kept));
  }
  free_deferred(false);
  return graph;
}

GraphPtr Stream::end_begun_capture() {
  joined_depth_.store(0, std::memory_order_relaxed);
  return end_capture();
}

/// Ends an open capture that this stream began, and drops it.
void Stream::drop_capture(std::uint64_t id) noexcept {
  joined_depth_.store(0, std::memory_order_relaxed);
  const Backend& backend = device_->backend();
  if (Captures::instance().is_conditional_body(backend, id)) return;  // whoever captures the body ends it
  auto kept = Captures::instance().claim(backend, id);
  if (!kept) return;
  try {
    // Another thread's per-thread default stream has no name here: the driver would take it for this thread's.
    if (!is_of_another_thread() && is_in(id)) (void)do_end_capture(std::move(*kept));
  } catch (const std::exception& e) {
    // The driver may not have ended it. Only the driver knows what the stream is in from here on.
    set_shared();
    support::log(support::LogLevel::debug, "while a capture was dropped: ", e.what());
  }
  Captures::instance().close(backend, id);
}

// --- The bodies of conditional nodes ----------------------------------------------------------------------------------

Stream::BodyCapture::BodyCapture(Stream& body, const CaptureState& outer, const std::function<std::uint64_t()>& begin)
    : body_(body) {
  Captures::instance().open(
      body, {.origin = body.origin(), .thread = detail::this_thread(), .mode = CaptureMode::thread_local_, .outer = outer.id},
      false, nullptr, begin);
  id_ = body.capture_.load(std::memory_order_relaxed);
}

Stream::BodyCapture::~BodyCapture() { Captures::instance().close(body_.device().backend(), id_); }

// --- Status -----------------------------------------------------------------------------------------------------------

CaptureStatus Stream::capture_status() const { return capture_info_of(*this, false).status; }

CaptureInfo Stream::capture_info() const { return capture_info_of(*this, true); }

CaptureInfo Stream::capture_info_of(const Stream& stream, bool with_graph) {
  stream.check_usable("Stream::capture_info");
  CaptureState state = stream.known_capture();
  if (state.status == CaptureStatus::none) return {};
  state = stream.do_capture_state();  // only the driver knows whether an error has invalidated it
  return {state.status, state.id, state && with_graph ? stream.do_captured_graph() : nullptr};
}

// --- Nodes ------------------------------------------------------------------------------------------------------------

void Stream::add_child_graph(const Graph& graph) {
  const char* const operation = "Stream::add_child_graph";
  enter(operation);
  require(operation, Feature::graph_child_nodes);
  if (&graph.device() != device_) {
    throw Error(Errc::wrong_device, operation, describe(), "the graph is of " + graph.device().describe());
  }
  const CaptureState capture = active_capture(operation);
  if (graph.topology().count(NodeKind::allocate) != 0) support::refuse_second_owner_of_memory(operation, graph.describe());
  do_add_child_graph(graph, capture);
}

void Stream::capture_if(const std::uint32_t* condition, UniqueFunction<void(Stream&)> body) {
  conditional("Stream::capture_if", ConditionalKind::if_nonzero, condition, std::move(body));
}

void Stream::capture_while(const std::uint32_t* condition, UniqueFunction<void(Stream&)> body) {
  conditional("Stream::capture_while", ConditionalKind::while_nonzero, condition, std::move(body));
}

void Stream::conditional(const char* operation, ConditionalKind kind, const std::uint32_t* condition,
                         UniqueFunction<void(Stream&)>&& body) {
  enter(operation);
  require(operation, Feature::graph_conditional_nodes);
  if (condition == nullptr) throw Error(Errc::invalid_argument, operation, describe(), "the condition's address is null");
  if (!body) throw Error(Errc::invalid_argument, operation, describe(), "the body is empty");
  do_capture_conditional(kind, condition, std::move(body), active_capture(operation));
}

}  // namespace weir
