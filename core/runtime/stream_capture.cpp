// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "core/runtime/captured_work.hpp"
#include "core/runtime/submit.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/plugin/support.hpp"
#include "weir/stream.hpp"

// The functions of `Stream` for captures. docs/internals.md explains how captures work.
namespace weir {

// --- The stored capture of a stream -----------------------------------------------------------------------------------

// `leave_capture` clears the id last: the destruction of a stream locks the mutex of `Captures` only if the id is not 0.
void StreamCore::enter_capture(Stream& stream, std::uint64_t id, bool body, bool written_down) noexcept {
  impl(stream).capture_.store(id, std::memory_order_release);
  stream.flags_.fetch_or(flag_capturing | (body ? flag_body : 0) | (written_down ? flag_watched : 0),
                         std::memory_order_release);
}

void StreamCore::leave_capture(Stream& stream, std::uint64_t id) noexcept {
  if (impl(stream).capture_.load(std::memory_order_relaxed) != id) return;
  stream.flags_.fetch_and(~(flag_capturing | flag_body | flag_held | (detail::is_watched() ? 0 : flag_watched)),
                          std::memory_order_release);
  impl(stream).capture_.store(0, std::memory_order_release);
}

CaptureState StreamCore::asked_capture(const Stream& stream, std::uint32_t flags) {
  // A driver has one handle for the per-thread default streams of all threads, so a query would report this thread's stream.
  if ((flags & flag_per_thread) != 0 && impl(stream).is_of_another_thread()) [[unlikely]] return {};
  CaptureState capture = impl(stream).do_capture_state();
  if (capture) [[unlikely]] {
    const CaptureState stored = stored_capture(stream, flags);
    capture.conditional_body = stored.id == capture.id && stored.conditional_body;
  }
  return capture;
}

bool StreamCore::is_in(const Stream& stream, std::uint64_t capture) {
  if ((flags(stream) & flag_external) == 0) return true;
  const CaptureState state = impl(stream).do_capture_state();
  return state.status == CaptureStatus::invalidated || state.id == capture;
}

void StreamImpl::keep_module(const ModulePtr& module, const CaptureState& capture) {
  if (StreamCore::has_just_kept(*this, *module, capture)) return;
  if (!Captures::instance().keep(device_->backend(), capture.id, module)) {
    do_keep_in_graph(module, capture);
    return;
  }
  kept_module_.store(module.get(), std::memory_order_relaxed);
  kept_for_.store(capture.id, std::memory_order_release);
}

// --- Begin ------------------------------------------------------------------------------------------------------------

namespace {

void check_can_begin(StreamCall call, StreamKind kind) {
  if (kind == StreamKind::legacy_default) {
    call.throw_error(Errc::capture_unsupported,
                     "the legacy default stream cannot capture, because it is ordered against other streams; use a stream "
                     "of create_stream");
  }
  if (call.usable_capture()) {
    call.throw_capture_error(Errc::already_capturing);
  }
}

}  // namespace

namespace {

template <class Begin>
struct BeginCapture {
  static constexpr OperationKind kind = OperationKind::begin_capture;
  static constexpr Capturing capturing = Capturing::refused;
  const GraphPtr& resumed;
  const Begin& begin;
  void describe(ToolNotice& notice) const { notice->graph = resumed.get(); }
  std::uint64_t enqueue(StreamImpl&, const CaptureState&) const { return begin(); }
};

}  // namespace

void StreamCore::begin(Stream& stream, CaptureMode mode, const GraphPtr& resumed,
                       std::shared_ptr<detail::CapturedWork>&& work, const std::function<std::uint64_t()>& native_begin) {
  // Query this before the capture begins: drivers do not report it for a capturing stream.
  const bool blocking = !impl(stream).do_is_non_blocking();
  const auto open = [&] {
    Captures::instance().open(stream, {.origin = StreamCore::key(stream), .thread = this_thread(), .mode = mode}, blocking,
                              resumed, std::move(work), native_begin);
    const std::uint64_t id = impl(stream).capture_.load(std::memory_order_relaxed);
    impl(stream).began_.store(id, std::memory_order_relaxed);
    return id;
  };
  perform(stream, "Stream::begin_capture", {}, BeginCapture<decltype(open)>{resumed, open});
}

void Stream::begin_capture(const CaptureOptions& options) {
  const StreamCall call(*this, "Stream::begin_capture");
  call.require(Feature::graph_capture);
  call.check_enumerator("CaptureMode", options.mode, CaptureMode::relaxed);
  check_can_begin(call, kind_);
  std::shared_ptr<detail::CapturedWork> work;
  if (options.portable) work = detail::CapturedWork::make();
  StreamCore::begin(*this, options.mode, nullptr, std::move(work),
                    [&] { return impl(*this).do_begin_capture(options.mode); });
}

void Stream::resume_capture(Ref<Graph> continued, CaptureMode mode) {
  const StreamCall call(*this, "Stream::resume_capture");
  call.require(Feature::capture_into_graph);
  call.check_enumerator("CaptureMode", mode, CaptureMode::relaxed);
  const GraphPtr graph(&call.not_null(continued, "the graph"));
  call.check_device(graph->device(), "the graph");
  check_can_begin(call, kind_);
  // A copy, because clones and executables of the graph share the present object.
  std::shared_ptr<detail::CapturedWork> work;
  if (graph->captured_work_ != nullptr) work = graph->captured_work_->copy();
  StreamCore::begin(*this, mode, graph, std::move(work), [&] { return impl(*this).do_resume_capture(graph, mode); });
}

// --- End --------------------------------------------------------------------------------------------------------------

namespace {

struct EndCapture {
  static constexpr OperationKind kind = OperationKind::end_capture;
  static constexpr Capturing capturing = Capturing::only;
  CaptureResources& kept;
  bool& asked;  // set when the driver has been called to end the capture
  void describe(ToolNotice&) const {}
  GraphPtr enqueue(StreamImpl& stream, const CaptureState&) const {
    asked = true;
    return stream.do_end_capture(std::move(kept));
  }
};

/// Ends the capture in the driver, even if a tool throws: otherwise the stream would continue to capture, and its later work
/// would never run.
GraphPtr end_drivers_capture(Stream& stream, const char* operation, const CaptureState& capture, CaptureResources&& kept) {
  bool asked = false;
  try {
    return perform(stream, operation, capture, EndCapture{kept, asked});
  } catch (...) {
    if (!asked) StreamCore::end_capture_for_nothing(stream, std::move(kept));
    throw;
  }
}

}  // namespace

GraphPtr Stream::end_capture() {
  const StreamCall call(*this, "Stream::end_capture");
  Captures& captures = Captures::instance();
  const Backend& backend = device_->backend();
  auto capture = captures.find(StreamCore::key(*this));
  if (!capture) {
    const CaptureState state = StreamCore::known_capture(*this);
    if (state.status == CaptureStatus::none) {
      call.throw_capture_error(Errc::not_capturing);
    }
    capture = captures.find(StreamCore::key(*this));  // again, because another thread may have begun it meanwhile
    if (!capture) {
      const bool external = (StreamCore::flags(*this) & StreamCore::flag_external) != 0;
      if (external && !captures.is_open(backend, state.id)) return end_drivers_capture(*this, call.operation(), state, {});
      call.throw_capture_error(Errc::capture_unmatched);
    }
  }
  if (capture->bodies != 0) StreamCall::throw_held(*this, call.operation());
  if (capture->outer != 0) {
    call.throw_error(
        Errc::capture_unmatched,
        "this stream captures the body of a conditional node, which ends when the function that captures it returns");
  }
  const bool is_there = StreamCore::is_in(*this, capture->id);
  const bool mine = capture->mode == CaptureMode::relaxed || capture->thread == detail::this_thread();
  if (is_there && !mine && !capture->ending) {
    call.throw_error(Errc::capture_wrong_thread,
                     "another thread began the capture, in mode '" + std::string(to_string(capture->mode)) +
                         "'; end it on that thread, or begin it in mode 'relaxed'; the capture continues");
  }
  auto kept = captures.claim(backend, capture->id);
  if (!kept) {
    call.throw_error(Errc::not_capturing, "another thread has ended the capture, or is ending it");
  }
  GraphPtr graph;
  {
    struct Close {
      const Backend& backend;
      std::uint64_t id;
      ~Close() { Captures::instance().close(backend, id); }
    } const close{backend, capture->id};
    if (!is_there) call.throw_error(Errc::not_capturing, "the capture was ended by other code");
    std::shared_ptr<detail::CapturedWork> work = std::move(kept->work);
    graph = end_drivers_capture(*this, call.operation(), {capture->id}, std::move(*kept));
    if (work != nullptr) [[unlikely]] {
      work->settle(impl(*graph).do_topology());
      graph->captured_work_ = std::move(work);
    }
  }
  StreamCore::free_deferred(*this, false);
  return graph;
}

void StreamCore::end_capture_for_nothing(Stream& stream, CaptureResources&& kept) noexcept {
  try {
    (void)impl(stream).do_end_capture(std::move(kept));
  } catch (const std::exception& e) {
    // The driver may not have ended the capture, so query it at each call from now on.
    set_shared(stream);
    support::log(support::LogLevel::debug, "while a capture was dropped: ", e.what());
  }
}

void Stream::discard_capture() {
  const StreamCall call(*this, "Stream::discard_capture");
  const auto capture = Captures::instance().find(StreamCore::key(*this));
  if (!capture || capture->outer != 0) {
    if (StreamCore::known_capture(*this).status == CaptureStatus::none)
      call.throw_capture_error(Errc::not_capturing);
    call.throw_error(Errc::capture_unmatched, "this stream did not begin the capture that it is in; the capture continues");
  }
  if (!StreamCore::drop_capture(*this, capture->id))
    call.throw_error(Errc::not_capturing, "another thread has ended the capture, or is ending it");
  if (StreamCore::known_capture(*this).id == capture->id) {
    call.throw_error(Errc::capture_wrong_thread,
                     "the driver allows only the thread that began the capture to end it; close the stream, or begin "
                     "captures in mode 'relaxed'");
  }
  StreamCore::free_deferred(*this, false);
}

GraphPtr Stream::capture_call(const CaptureOptions& options, UniqueFunction<void(Stream&)>&& function) {
  if (!function) StreamCall(*this, "Stream::capture").throw_error(Errc::invalid_argument, "the function is empty");
  begin_capture(options);
  const StreamPtr self(this);  // an owner, because the function may release all other owners
  struct End {
    Stream& stream;
    bool ended = false;
    ~End() {
      if (!ended) StreamCore::drop_own_capture(stream);
    }
  } end{*this};
  function(*this);
  end.ended = true;
  return end_capture();
}

bool StreamCore::drop_capture(Stream& stream, std::uint64_t id) noexcept {
  const Backend& backend = stream.device_->backend();
  auto kept = Captures::instance().claim(backend, id);
  if (!kept) return false;
  try {
    if (is_watched(stream)) ToolNotice(stream, OperationKind::end_capture, "Stream::end_capture", {id}).run_always([] {});
    if (impl(stream).is_of_another_thread()) {
      // A driver has one handle for the per-thread default streams of all threads, so the call would end a capture of this
      // thread's stream.
      support::log(support::LogLevel::warn,
                   stream.describe() + ": a capture on another thread's default stream remains open; end it on that thread");
    } else if (is_in(stream, id)) {
      end_capture_for_nothing(stream, std::move(*kept));
    }
  } catch (const std::exception& e) {
    support::log(support::LogLevel::debug, "while a capture was dropped: ", e.what());
  }
  Captures::instance().close(backend, id);
  return true;
}

// --- The bodies of conditional nodes ----------------------------------------------------------------------------------

StreamImpl::BodyCapture::BodyCapture(StreamImpl& body, const CaptureState& outer,
                                     const std::function<std::uint64_t()>& begin)
    : body_(body) {
  Captures::instance().open(
      // `open` copies the mode of the outer capture.
      body, {.origin = StreamCore::key(body), .thread = detail::this_thread(), .outer = outer.id},
      false, nullptr, {}, begin);
  id_ = body.capture_.load(std::memory_order_relaxed);
}

void StreamImpl::BodyCapture::run(const char* operation, const Stream& outer, UniqueFunction<void(Stream&)>& function) {
  function(body_);
  if (body_.is_closed())
    throw Error(Errc::stream_closed, operation, outer.describe(),
                "the function that captures the body has closed its stream");
}

bool StreamImpl::BodyCapture::leave_open(std::shared_ptr<const void> native_stream) noexcept {
  return Captures::instance().leave_open(body_.device().backend(), id_, std::move(native_stream));
}

void StreamImpl::BodyCapture::leave_open_for_ever(std::shared_ptr<const void> native_stream) noexcept {
  Captures::instance().leave_open_for_ever(std::move(native_stream));
}

void StreamImpl::BodyCapture::refuse_unjoined(const char* operation, const Stream& outer) {
  throw Error(Errc::capture_unjoined, operation, outer.describe(),
              "a stream that joined the body's capture has work that the body's stream did not wait for; call Stream::wait "
              "on the body's stream before the function returns; the capture continues");
}

StreamImpl::BodyCapture::~BodyCapture() { Captures::instance().close(body_.device().backend(), id_); }

// --- Status -----------------------------------------------------------------------------------------------------------

CaptureInfo StreamCore::capture_info(const Stream& stream, bool with_graph) {
  const StreamCall call(stream, "Stream::capture_info", StreamCall::ReadOnly());
  CaptureState state = known_capture(stream);
  if (state.status == CaptureStatus::none) return {};
  state = impl(stream).do_capture_state();  // only the driver can report that an error has invalidated the capture
  return {state.status, state.id, state && with_graph ? impl(stream).do_captured_graph() : nullptr};
}

CaptureStatus Stream::capture_status() const { return StreamCore::capture_info(*this, false).status; }

std::uint64_t Stream::capture_id() const { return StreamCore::capture_info(*this, false).id; }

CaptureInfo Stream::capture_info() const { return StreamCore::capture_info(*this, true); }

// --- Nodes ------------------------------------------------------------------------------------------------------------

namespace {

struct ChildGraph {
  static constexpr OperationKind kind = OperationKind::child_graph;
  static constexpr Capturing capturing = Capturing::only;
  const Graph& graph;
  bool validate(const StreamCall& call) const {
    call.require(Feature::graph_child_nodes);
    call.check_device(graph.device(), "the graph");
    return true;
  }
  void check_capture(const StreamCall& call) const {
    call.check_not_continued(graph);
    if (graph.topology().count(NodeKind::allocate) != 0)
      support::throw_second_owner_of_memory(call.operation(), graph.describe());
  }
  void describe(ToolNotice& notice) const { notice->graph = &graph; }
  void enqueue(StreamImpl& stream, const CaptureState& capture) const { stream.do_add_child_graph(graph, capture); }
};

struct Conditional {
  static constexpr OperationKind kind = OperationKind::conditional;
  static constexpr Capturing capturing = Capturing::only;
  ConditionalKind what;
  const std::uint32_t* condition;
  std::span<UniqueFunction<void(Stream&)>> bodies;
  bool validate(const StreamCall& call) const {
    const bool chooses = what == ConditionalKind::switch_case || bodies.size() > 1;
    call.require(chooses ? Feature::graph_switch_nodes : Feature::graph_conditional_nodes);
    if (condition == nullptr) call.throw_error(Errc::invalid_argument, "the condition's address is null");
    if (reinterpret_cast<std::uintptr_t>(condition) % sizeof *condition != 0)
      call.throw_error(Errc::invalid_argument, "the condition's address is not a multiple of 4");
    if (bodies.empty()) call.throw_error(Errc::invalid_argument, "the list of bodies is empty");
    for (const auto& body : bodies) {
      if (!body) call.throw_error(Errc::invalid_argument, "the function of a body is empty");
    }
    return true;
  }
  void describe(ToolNotice& notice) const {
    notice->conditional = what;
    notice.reads(condition, sizeof *condition).captures(bodies);
  }
  void enqueue(StreamImpl& stream, const CaptureState& capture) const {
    const detail::CaptureHeld held(stream, capture.id);
    stream.do_capture_conditional(what, condition, bodies, capture);
  }
};

void submit_conditional(Stream& stream, const char* operation, const Conditional& node) {
  const StreamPtr self(&stream);  // an owner, because a function that captures a body may release all other owners
  submit(stream, operation, node);
}

}  // namespace

void Stream::add_child_graph(GraphRef child) {
  const Graph& graph = StreamCall(*this, "Stream::add_child_graph").not_null(child, "the graph");
  submit(*this, "Stream::add_child_graph", ChildGraph{graph});
}

void Stream::capture_if(const std::uint32_t* condition, UniqueFunction<void(Stream&)> body) {
  submit_conditional(*this, "Stream::capture_if", Conditional{ConditionalKind::if_nonzero, condition, {&body, 1}});
}

void Stream::capture_if(const std::uint32_t* condition, UniqueFunction<void(Stream&)> body,
                        UniqueFunction<void(Stream&)> otherwise) {
  UniqueFunction<void(Stream&)> bodies[] = {std::move(body), std::move(otherwise)};
  submit_conditional(*this, "Stream::capture_if", Conditional{ConditionalKind::if_nonzero, condition, bodies});
}

void Stream::capture_while(const std::uint32_t* condition, UniqueFunction<void(Stream&)> body) {
  submit_conditional(*this, "Stream::capture_while", Conditional{ConditionalKind::while_nonzero, condition, {&body, 1}});
}

void Stream::capture_switch(const std::uint32_t* condition, std::span<UniqueFunction<void(Stream&)>> bodies) {
  submit_conditional(*this, "Stream::capture_switch", Conditional{ConditionalKind::switch_case, condition, bodies});
}

// --- Dependencies -----------------------------------------------------------------------------------------------------

namespace {

struct SetCaptureDependencies {
  static constexpr OperationKind kind = OperationKind::capture_dependencies;
  static constexpr Capturing capturing = Capturing::only;
  std::span<const GraphNode> nodes;
  bool validate(const StreamCall&) const { return true; }
  void describe(ToolNotice& notice) const { notice->dependencies = nodes; }
  void enqueue(StreamImpl& stream, const CaptureState& capture) const { stream.do_set_capture_dependencies(nodes, capture); }
};

}  // namespace

GraphNode Stream::last_captured_node() const {
  const StreamCall call(*this, "Stream::last_captured_node");
  const std::vector<GraphNode> nodes = impl(*this).do_capture_dependencies(call.active_capture());
  if (nodes.size() != 1) {
    call.throw_error(Errc::invalid_argument,
                     nodes.empty() ? "the stream has captured no operation yet"
                                   : "the stream's next operation depends on " + std::to_string(nodes.size()) +
                                         " nodes, because the stream has waited for others; call this before the wait");
  }
  return nodes.front();
}

void Stream::set_capture_dependencies(std::span<const GraphNode> nodes) {
  submit(*this, "Stream::set_capture_dependencies", SetCaptureDependencies{nodes});
}

}  // namespace weir
