// SPDX-License-Identifier: Apache-2.0
#include "core/captures.hpp"
#include "core/enumerator.hpp"
#include "core/thread_state.hpp"
#include "weir/backend.hpp"
#include "weir/backend_support.hpp"
#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/stream.hpp"

namespace weir {

void Stream::check_can_begin(const char* operation) const {
  if (kind_ == StreamKind::legacy_default) {
    throw Error(Errc::capture_unsupported, operation, describe(),
                "the legacy default stream cannot capture, since it is ordered against other streams; use a stream made by "
                "create_stream");
  }
  if (!captures_matter()) return;
  const CaptureStatus status = do_capture_info(false).status;
  if (status == CaptureStatus::active) {
    throw Error(Errc::already_capturing, operation, describe(), "the stream is capturing already; that capture goes on");
  }
  if (status == CaptureStatus::invalidated) (void)usable_capture(operation);
}

detail::Origin Stream::origin() const noexcept { return {.device = device_, .handle = handle_, .thread_stream = thread_}; }

void Stream::capture_began(const char* operation, CaptureMode mode, std::uint64_t id, bool blocking) {
  try {
    const auto forgotten = detail::Captures::instance().opened(
        {.origin = origin(), .id = id, .thread = detail::this_thread(), .mode = mode}, blocking);
    began_.store(id, std::memory_order_relaxed);
    if (forgotten) do_forget_capture(*forgotten);
  } catch (const std::exception& e) {
    support::log(support::LogLevel::error, std::string(operation) + ": the capture is dropped: " + e.what());
    try {
      (void)do_end_capture(id);
    } catch (const std::exception&) {
      // The error that matters is the one that is being thrown.
    }
    throw;
  }
}

void Stream::begin_capture(const CaptureOptions& options) {
  const char* const operation = "Stream::begin_capture";
  enter(operation);
  require(operation, Feature::graph_capture);
  detail::check_enumerator(operation, *this, "CaptureMode", options.mode, CaptureMode::relaxed);
  if (options.external) {
    if (active_capture(operation).status == CaptureStatus::active) {
      flags_.fetch_or(flag_joined | flag_foreign, std::memory_order_relaxed);
    }
    return;
  }
  check_can_begin(operation);
  flags_.fetch_and(~flag_joined, std::memory_order_relaxed);
  const bool blocking = !do_is_non_blocking();  // which the driver does not tell of a stream that captures
  const detail::CaptureOpening opening(origin());
  capture_began(operation, options.mode, do_begin_capture(options.mode), blocking);
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
  flags_.fetch_and(~flag_joined, std::memory_order_relaxed);
  const bool blocking = !do_is_non_blocking();
  const detail::CaptureOpening opening(origin());
  capture_began(operation, mode, do_resume_capture(graph, mode), blocking);
}

namespace {

/// A claimed capture, which counts as open until this has gone, unless that is put off.
struct Ending {
  const Device& device;
  std::uint64_t id;
  bool put_off = false;
  ~Ending() {
    if (!put_off) detail::Captures::instance().closed(device, id);
  }
};

}  // namespace

GraphPtr Stream::end_capture() {
  const char* const operation = "Stream::end_capture";
  enter(operation);
  if ((flags_.load(std::memory_order_relaxed) & flag_joined) != 0) {
    flags_.fetch_and(~flag_joined, std::memory_order_relaxed);
    return nullptr;
  }
  auto& captures = detail::Captures::instance();
  const std::uint32_t flags = flags_.load(std::memory_order_relaxed);
  auto capture = captures.find_origin(origin());
  if (!capture) {
    const CaptureInfo seen = do_capture_info(false);
    if (seen.status == CaptureStatus::none) {
      throw Error(Errc::not_capturing, operation, describe(), "the stream is not capturing");
    }
    capture = captures.wait_for_origin(origin());
    if (!capture) {
      // It may have been begun, ended and noted as both since.
      const CaptureInfo info = do_capture_info(false);
      const bool is_another = info.status == CaptureStatus::active && info.id != seen.id;  // an invalidated one has no id
      if (info.status == CaptureStatus::none || is_another) {
        throw Error(Errc::not_capturing, operation, describe(), "another thread ended the capture");
      }
      if ((flags & flag_foreign) == 0 || captures.is_open(device_->backend(), info.id)) {
        throw Error(Errc::capture_unmatched, operation, describe(),
                    info.status == CaptureStatus::active
                        ? "the stream was drawn into a capture that another stream began; end it there, after that stream has "
                          "waited for this one; the capture goes on"
                        : "the stream was drawn into a capture that another stream began, and that was invalidated; end it "
                          "there");
      }
      return do_end_capture(info.id);
    }
  }
  const bool mine = capture->mode == CaptureMode::relaxed || capture->thread == detail::this_thread();
  // Where foreign code does not know the stream, only Weir's own calls can have ended the capture: no need to ask.
  const bool is_there = (mine && (flags & (flag_foreign | flag_per_thread)) == 0) || is_in(*capture);
  if (is_there && !mine && !capture->ending) {
    throw Error(Errc::capture_wrong_thread, operation, describe(),
                "another thread began the capture, in mode '" + std::string(to_string(capture->mode)) +
                    "'; end it there, or begin it in mode 'relaxed'; the capture goes on");
  }
  if (!captures.claim(*capture)) {
    throw Error(Errc::not_capturing, operation, describe(), "another thread ended the capture, or is about to");
  }
  const Ending ending{.device = *device_, .id = capture->id};
  if (!is_there) {
    do_forget_capture(capture->id);
    throw Error(Errc::not_capturing, operation, describe(), "the capture was ended by other code");
  }
  return do_end_capture(capture->id);
}

/// Whether the stream is still in the capture that it began.
bool Stream::is_in(const detail::OpenCapture& capture) const {
  const CaptureInfo info = do_capture_info(false);
  return info.status == CaptureStatus::invalidated || (info.status == CaptureStatus::active && info.id == capture.id);
}

GraphPtr Stream::end_begun_capture() {
  flags_.fetch_and(~flag_joined, std::memory_order_relaxed);
  return end_capture();
}

/// Ends the capture that this object began, or whoever began it by Weir. `handle_ends`: the driver destroys the stream then.
void Stream::drop_capture(bool whoever_began, bool handle_ends) noexcept {
  try {
    flags_.fetch_and(~flag_joined, std::memory_order_relaxed);
    auto& captures = detail::Captures::instance();
    const auto capture = captures.find_origin(origin());
    if (!capture || (!whoever_began && capture->id != began_.load(std::memory_order_relaxed)) || !captures.claim(*capture)) {
      return;
    }
    Ending ending{.device = *device_, .id = capture->id};
    // Another thread's per-thread default stream has no name here: the driver would take it for this thread's. What foreign
    // code began after it ended the capture goes on, unless the handle does not.
    if (is_of_another_thread() || !(handle_ends ? do_capture_info(false).status != CaptureStatus::none : is_in(*capture))) {
      do_forget_capture(capture->id);
      return;
    }
    try {
      (void)do_end_capture(capture->id);
    } catch (const std::exception& e) {
      support::log(support::LogLevel::debug, std::string("while a capture was dropped: ") + e.what());
      // What counts captures that are open waits for the handle's end then; memory that in turn waits for them needs the
      // handle.
      if (handle_ends && !has_memory() && do_capture_info(false).status != CaptureStatus::none) {
        ending.put_off = true;
        unended_.store(capture->id, std::memory_order_release);
      }
    }
  } catch (const std::exception& e) {
    support::log(support::LogLevel::debug, std::string("while a capture was dropped: ") + e.what());
  }
}

CaptureStatus Stream::capture_status() const {
  enter_to_look("Stream::capture_status");
  return captures_matter() ? do_capture_info(false).status : CaptureStatus::none;
}

CaptureInfo Stream::capture_info() const {
  enter_to_look("Stream::capture_info");
  return captures_matter() ? do_capture_info(true) : CaptureInfo{};
}

void Stream::add_child_graph(const Graph& graph) {
  const char* const operation = "Stream::add_child_graph";
  enter(operation);
  require(operation, Feature::graph_child_nodes);
  if (&graph.device() != device_) {
    throw Error(Errc::wrong_device, operation, describe(), "the graph is of " + graph.device().describe());
  }
  (void)active_capture(operation);
  if (graph.topology().count(NodeKind::allocate) != 0) support::refuse_second_owner_of_memory(operation, graph.describe());
  do_add_child_graph(graph);
}

void Stream::capture_if(const std::uint32_t* condition, UniqueFunction<void(Stream&)> body) {
  conditional("Stream::capture_if", condition, false, std::move(body));
}

void Stream::capture_while(const std::uint32_t* condition, UniqueFunction<void(Stream&)> body) {
  conditional("Stream::capture_while", condition, true, std::move(body));
}

void Stream::conditional(const char* operation, const std::uint32_t* condition, bool loop,
                         UniqueFunction<void(Stream&)>&& body) {
  enter(operation);
  require(operation, Feature::graph_conditional_nodes);
  if (condition == nullptr) throw Error(Errc::invalid_argument, operation, describe(), "the condition's address is null");
  if (!body) throw Error(Errc::invalid_argument, operation, describe(), "the body is empty");
  (void)active_capture(operation);
  do_capture_conditional(condition, loop, std::move(body));
}

}  // namespace weir
