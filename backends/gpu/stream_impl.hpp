// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "backends/gpu/capture.hpp"
#include "backends/gpu/module.hpp"
#include "backends/gpu/stream.hpp"
#include "weir/plugin/support.hpp"

/// GpuStream: functions for identity, ordering, host functions and launches.
namespace weir::gpu {

template <class Api>
GpuStream<Api>::GpuStream(Device_& device, Handle handle, StreamKind kind, std::shared_ptr<const void> keep_alive,
                          std::optional<bool> non_blocking)
    : StreamImpl(device, handle, kind, std::move(keep_alive)),
      device_(device),
      api_(device.api()),
      plain_(!device.api().objects_need_current() && !device.api().orders_submissions() &&
             kind != StreamKind::legacy_default && kind != StreamKind::per_thread_default),
      is_reusable_(kind == StreamKind::borrowed),
      native_stream_(device.native_stream(handle, kind)),
      errors_(make_ptr<HostErrors>(device)) {
  if (non_blocking) non_blocking_.store(*non_blocking ? 1 : 0, std::memory_order_relaxed);
  learn_identity();
}

template <class Api>
GpuStream<Api>::~GpuStream() {
  if (HostCalls* const calls = host_calls_.load(std::memory_order_acquire)) calls->close();
  if (auto* const event = waited_for_.load(std::memory_order_acquire)) event->release();
}

template <class Api>
void GpuStream<Api>::do_dispose() noexcept {
  if (is_reusable_ && device_.keep_wrapper(*this)) return;
  delete this;
}

template <class Api>
bool GpuStream<Api>::wrap_again(std::shared_ptr<const void>& keep_alive) {
  {
    const Submission submission(*this, Submission::CallOrder::none);
    [[maybe_unused]] const typename Api::CaptureLock::Question question(Device_::capture_lock());
    bool captures = device_.streams_capture();
    if (captures && (api_.is_capturing(native(), captures) != Api::success || captures)) return false;
    if (device_.supports(Feature::stream_id)) {
      std::uint64_t id = 0;
      if (api_.stream_id(native(), id) != Api::success || id != id_.load(std::memory_order_relaxed)) return false;
    } else {
      unsigned flags = 0;
      if (api_.stream_flags(native(), flags) != Api::success) return false;
      const signed char non_blocking = (flags & Api::stream_non_blocking) != 0 ? 1 : 0;
      if (non_blocking != non_blocking_.load(std::memory_order_relaxed)) return false;
    }
  }
  renew(std::move(keep_alive));
  return true;
}

template <class Api>
void GpuStream<Api>::Submission::prepare(const GpuStream& stream, CallOrder order) {
  // The handles of the default streams refer to the current device, so make this stream's device current.
  guards_.emplace(stream);
  if (order == CallOrder::kept && stream.api_.orders_submissions()) guards_->order = std::unique_lock(stream.order_);
}

template <class Api>
void GpuStream<Api>::do_close(bool destroy) {
  if (!destroy) return;
  if (capture_is_anothers_) {
    throw Error(
        Errc::capture_wrong_thread, "Stream::close", describe_handle(),
        "a capture is open on the stream, and only the thread that began it can end it; the stream and the capture are "
        "leaked. End the capture on that thread before the stream is destroyed, or begin it with CaptureMode::relaxed");
  }
  device_.forget_number_of(native());
  if constexpr (Api::remembers_records()) {
    if (auto* const event = waited_for_.load(std::memory_order_acquire)) event->memory().set({});
  }
  if (native_stream_ != nullptr && native_stream_.use_count() > 1) {
    native_stream_->end_with_events();
    device_.drop_wrapper(native());  // a kept wrapper would keep the handle alive
    native_stream_.reset();
    return;
  }
  const auto result = device_.with_current([&] { return api_.StreamDestroy(native()); }, api_.objects_need_current());
  if (!Api::is_shut_down(result)) check(result, "Stream::close");
}

// --- Identity ---------------------------------------------------------------------------------------------------------

/// Queries the id and the flags, if they are unknown. Returns false if the stream captures: drivers do not return them then,
/// and the query would invalidate the capture.
template <class Api>
bool GpuStream<Api>::learn_identity() const {
  if (id_.load(std::memory_order_relaxed) == 0 && (!device_.supports(Feature::stream_id) || !api_.has_id(native()))) {
    number_ = device_.number_of(native(), kind());
    id_.store(*number_, std::memory_order_relaxed);
  }
  const bool wants_id = id_.load(std::memory_order_relaxed) == 0;
  const bool wants_flags = non_blocking_.load(std::memory_order_relaxed) < 0;
  if (!wants_id && !wants_flags) return true;

  const Submission submission(*this);
  const char* operation = "Stream::capture_info";
  Capture capture;
  Result result = Api::success;
  bool is_told = false;
  {
    [[maybe_unused]] const typename Api::CaptureLock::Question question(Device_::capture_lock());
    // An owned stream was queried when it was new, and the legacy default stream cannot capture.
    const bool may_capture =
        kind() != StreamKind::owned && kind() != StreamKind::legacy_default && device_.streams_capture();
    if (may_capture) result = ask(capture, false);
    // Querying the legacy default stream's id would invalidate the capture of a blocking stream.
    bool tells = capture.status == CaptureStatus::none;
    if (tells && kind() == StreamKind::legacy_default) {
      const Result legacy = api_.ask_legacy_stream();
      tells = legacy == Api::success || Api::meaning(legacy).errc != Errc::capture_implicit;
      if (tells) result = legacy;
    }
    is_told = tells;
    if (tells && wants_id && result == Api::success) {
      std::uint64_t id = 0;
      operation = "Stream::id";
      result = api_.stream_id(native(), id);
      if (result == Api::success) id_.store(id, std::memory_order_relaxed);
    }
    if (tells && wants_flags && result == Api::success) {
      unsigned flags = 0;
      operation = "Stream::is_non_blocking";
      result = api_.stream_flags(native(), flags);
      if (result == Api::success)
        non_blocking_.store((flags & Api::stream_non_blocking) != 0 ? 1 : 0, std::memory_order_relaxed);
    }
  }
  if (result != Api::success) [[unlikely]]
    fail(api_, result, operation, describe_handle());
  return is_told;
}

// --- Ordering ---------------------------------------------------------------------------------------------------------

/// Records an event after the present work and waits for that, because other threads may continue to submit work.
template <class Api>
bool GpuStream<Api>::do_synchronize_until(std::chrono::steady_clock::time_point deadline) {
  if (do_is_complete()) return true;
  if (std::chrono::steady_clock::now() >= deadline) return false;  // checked after the first query, so there is always one
  const EventPtr done = device_.create_event();
  do_record(*done, {});
  const CaptureModeScope<Api> relaxed(api_);  // as in do_synchronize
  for (support::DeadlinePauses pauses(deadline); pauses.next();) {
    const auto result = submitted([&] { return api_.query_event(static_cast<GpuEvent<Api>&>(*done).native()); },
                                  Submission::CallOrder::none);
    if (result == Api::not_ready) continue;
    check(result, "Stream::synchronize_for");
    return true;
  }
  return false;
}

/// Makes this stream wait for an event that was recorded outside captures.
template <class Api>
void GpuStream<Api>::wait_for(const GpuEvent<Api>& event, const char* operation) {
  if constexpr (!Api::remembers_records()) {
    submit(operation, [&] { return api_.StreamWaitEvent(native(), event.native(), 0); });
  } else {
    for (;;) {
      const auto awaited = event.memory().awaited();
      if (awaited.is_over) return;
      const auto handle = awaited.moved != nullptr ? awaited.moved->event.handle : event.native();
      const auto result = submitted([&] { return api_.StreamWaitEvent(native(), handle, 0); });
      // The stream on which the event was recorded may have begun a capture meanwhile, which replaces the record (see
      // move_records).
      if (Api::meaning(result).errc == Errc::capture_isolation && awaited != event.memory().awaited()) continue;
      return check(result, operation);
    }
  }
}

/// In a capture: adds `nodes` to the nodes that this stream's next node depends on.
template <class Api>
void GpuStream<Api>::depend_on(const std::vector<typename Api::NodeHandle>& nodes) {
  const std::vector<typename Api::NodeHandle> own = capture(true).dependencies;
  std::vector<typename Api::NodeHandle> missing = nodes;
  std::erase_if(missing, [&own](auto node) { return std::find(own.begin(), own.end(), node) != own.end(); });
  constexpr unsigned add = 0;  // the flag's value for both vendors
  if (!missing.empty())
    check(api_.StreamUpdateCaptureDependencies(native(), missing.data(), missing.size(), add), "Stream::wait");
}

template <class Api>
void GpuStream<Api>::do_wait(const Event& event, [[maybe_unused]] const CaptureState& capture) {
  const auto& awaited = static_cast<const GpuEvent<Api>&>(event);
  if (!awaited.counts()) return;
  if constexpr (Api::remembers_records()) {
    if (awaited.memory().capture() != 0) [[unlikely]]
      return wait_for_captured(awaited, capture);
    if (!capture && awaited.is_remembered()) return wait_for(awaited, "Stream::wait");
  }
  submit("Stream::wait", [&] { return api_.StreamWaitEvent(native(), awaited.native(), 0); });
}

template <class Api>
void GpuStream<Api>::do_wait_stream(Stream& other, [[maybe_unused]] const CaptureState& capture,
                                    [[maybe_unused]] const CaptureState& of_other) {
  auto& awaited = static_cast<GpuStream&>(other);
  [[maybe_unused]] Capture joined;  // the capture that this stream joins
  if constexpr (Api::remembers_records()) {
    if (capture && !api_.waits_join_captures()) {
      const Capture theirs = awaited.capture(true);
      const Submission submission(*this);
      return depend_on(theirs.dependencies);
    }
    if (!capture && !of_other) {
      GpuEvent<Api>& event = awaited.waited_for();
      awaited.record_plainly(event, "Stream::wait");
      return wait_for(event, "Stream::wait");
    }
    if (!capture && !api_.events_forget_captures()) joined = awaited.capture(true);
    if (!capture) leave_records_behind();
  }
  const typename Api::EventHandle event = awaited.waited_for().native();
  awaited.submit("Stream::wait", [&] { return api_.EventRecord(event, awaited.native()); });
  submit("Stream::wait", [&] { return api_.StreamWaitEvent(native(), event, 0); });
  if constexpr (Api::remembers_records()) {
    if (joined.status == CaptureStatus::active) go_on_behind(joined.dependencies, "Stream::wait");
  }
}

// --- Host work --------------------------------------------------------------------------------------------------------

template <class Api>
void GpuStream<Api>::do_launch_host_function(HostFunction&& function, const CaptureState& state) {
  const char* const operation = "Stream::launch_host_function";
  device_.set_has_work_that_waits();
  if (state) [[unlikely]] {
    throw_if_in_conditional_body(state, operation, "host functions");
    const Submission submission(*this);
    device_.set_captures_host_functions();
    const auto graph = capture().graph;  // may throw
    auto* const captured = new CapturedHostFunction{std::move(function), make_ptr<HostErrors>(device_)};
    // The graph becomes the function's owner before the node exists. If adding the node fails, the function is destroyed
    // with the graph.
    give_to_graph(api_, graph, captured, &CapturedHostFunction::destroy, operation, *this);
    check(api_.launch_host_function(native(), &CapturedHostFunction::call_captured, captured), operation);
    return;
  }
  struct Enqueued {
    void* slot;
    ~Enqueued() {
      if (slot != nullptr) [[unlikely]]
        HostCalls::take_back(slot);
    }
  } enqueued{host_calls().put(std::move(function))};
  submit(operation, [&] { return api_.launch_host_function(native(), &HostCalls::call_enqueued, enqueued.slot); });
  enqueued.slot = nullptr;
}

/// A callback that is enqueued. It keeps its stream alive.
template <class Api>
struct CallbackCall {
  StreamCallback function;
  Ptr<GpuStream<Api>> stream;
  CallbackCall* next_spent = nullptr;

  // Objects of finished calls are reused, so enqueuing a callback allocates nothing.
  static FreeList<CallbackCall>& spent_calls() {
    static detail::NoDestructor<FreeList<CallbackCall>> calls;
    return *calls;
  }

  static CallbackCall* take(StreamCallback&& callback, GpuStream<Api>& stream) {
    CallbackCall* call = spent_calls().take();
    if (call == nullptr) call = new CallbackCall;
    call->function = std::move(callback);
    call->stream = Ptr<GpuStream<Api>>(&stream);
    return call;
  }

  void give_back() noexcept {
    function.reset();
    stream.reset();
    spent_calls().give_back(this);
  }

  static void call_back(typename Api::StreamHandle, typename Api::Result result, void* call) noexcept {
    auto* const self = static_cast<CallbackCall*>(call);
    const support::HostFunctionScope scope;
    try {
      self->function(*self->stream, result == Api::success ? std::error_code() : make_error_code(Api::meaning(result).errc));
    } catch (...) {
      self->stream->errors()->add_current();
    }
    self->give_back();
  }
};

template <class Api>
void GpuStream<Api>::do_add_callback(StreamCallback&& callback) {
  device_.set_has_work_that_waits();
  const Submission submission(*this);
  auto* const call = CallbackCall<Api>::take(std::move(callback), *this);
  const auto result = api_.StreamAddCallback(native(), &CallbackCall<Api>::call_back, call, 0);
  if (result != Api::success) [[unlikely]] {
    call->give_back();
    check(result, "Stream::add_callback");
  }
}

// --- Kernels ----------------------------------------------------------------------------------------------------------

template <class Api>
void GpuStream<Api>::do_launch(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                               const std::span<const Parameter>&, const CaptureState& capture) {
  const auto& launched = static_cast<const GpuKernel<Api>&>(kernel);
  if (!plain_ || !launched.allows_shared_memory(config.shared_memory_bytes)) [[unlikely]] {
    launch_otherwise(launched, config, arguments, capture);
    return;
  }
  const auto result = launch_with(api_.LaunchKernel, launched, config, arguments, nullptr);
  if (result != Api::success) [[unlikely]]
    launch_failed(result, kernel, config);
}

/// The general launch: attributes, clusters, cooperative kernels, large shared memory.
template <class Api>
void GpuStream<Api>::launch_otherwise(const GpuKernel<Api>& kernel, LaunchConfig config, void* const* arguments,
                                      const CaptureState& capture) {
  // The attribute only permits an overlap. If the feature is emulated, the driver may lack the attribute, so it is dropped.
  if (device_.feature(Feature::programmatic_launch).support != Support::native)
    config.programmatic_stream_serialization = false;
  kernel.allow_shared_memory(config.shared_memory_bytes);
  if (const char* const reason = capture ? api_.refuses_capture_of(config) : nullptr) {
    throw Error(Errc::capture_unsupported, "Stream::launch", describe(),
                reason + std::string("; launch it outside the capture; the capture continues"));
  }
  const Submission submission(*this);
  const bool is_extended = config.programmatic_stream_serialization || config.priority || config.cluster != Dim3();
  const auto result = is_extended          ? api_.launch_with_attributes(kernel.native(), config, native(), arguments)
                      : config.cooperative ? launch_with(api_.LaunchCooperativeKernel, kernel, config, arguments)
                                           : launch_with(api_.LaunchKernel, kernel, config, arguments, nullptr);
  if (result != Api::success) launch_failed(result, kernel, config);
}

/// Calls one of the driver's launch functions. `rest`: the arguments that follow those which all launch functions share.
template <class Api>
template <class Function, class... Rest>
typename GpuStream<Api>::Result GpuStream<Api>::launch_with(Function function, const GpuKernel<Api>& kernel,
                                                            const LaunchConfig& config, void* const* arguments,
                                                            Rest... rest) const {
  // The const_cast is safe, because the driver only reads the array of addresses.
  return function(kernel.native(), config.grid.x, config.grid.y, config.grid.z, config.block.x, config.block.y,
                  config.block.z, config.shared_memory_bytes, native(), const_cast<void**>(arguments), rest...);
}

}  // namespace weir::gpu
