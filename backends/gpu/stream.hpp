// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "backends/gpu/device.hpp"
#include "backends/gpu/event.hpp"
#include "backends/gpu/graph.hpp"
#include "backends/gpu/graph_errors.hpp"
#include "backends/gpu/host_function.hpp"
#include "backends/gpu/native_stream.hpp"
#include "weir/plugin/stream.hpp"

namespace weir::gpu {

template <class Api>
class GpuKernel;

/// A stream. The longer member functions are in stream_impl.hpp, stream_capture_impl.hpp and stream_memory_impl.hpp.
template <class Api>
class GpuStream final : public StreamImpl {
 public:
  using Handle = typename Api::StreamHandle;
  using Device_ = GpuDevice<Api>;

  /// `non_blocking`: empty if unknown.
  GpuStream(Device_& device, Handle handle, StreamKind kind, std::shared_ptr<const void> keep_alive,
            std::optional<bool> non_blocking = {});
  ~GpuStream() override;

  Handle native() const noexcept { return static_cast<Handle>(handle()); }
  Device_& own_device() const noexcept { return device_; }
  const Ptr<HostErrors>& errors() const noexcept { return errors_; }
  /// Called for a borrowed handle that the backend itself has created and that external code cannot use.
  void keep_private() noexcept {
    mark_private();
    is_reusable_ = false;
  }

  /// Reuses this unused wrapper for its handle. Returns false and does nothing if the handle now belongs to another stream,
  /// or if the stream captures, because it cannot be queried then. Makes two driver calls.
  bool wrap_again(std::shared_ptr<const void>& keep_alive);
  LaunchedGraphs& launched_graphs() noexcept { return launched_graphs_; }
  /// The owner of the native handle. Events that are recorded on this stream keep it alive.
  const std::shared_ptr<NativeStream<Api>>& native_stream() const noexcept { return native_stream_; }

  /// Scope of a submission: makes the device current. For drivers that need several calls for one operation, it also holds a
  /// lock that keeps those calls together.
  class Submission {
   public:
    enum class CallOrder : std::uint8_t {
      kept,  ///< no submission of another thread may come in between
      none,  ///< for calls that submit nothing and may take long; holds no lock
    };
    [[gnu::always_inline]] explicit Submission(const GpuStream& stream, CallOrder order = CallOrder::kept) {
      if (stream.plain_) [[likely]]
        return;
      prepare(stream, order);
    }

   private:
    struct Guards {
      explicit Guards(const GpuStream& stream) : current(stream.api_, stream.device_.context()) {}
      typename Api::Current current;
      std::unique_lock<std::recursive_mutex> order;
    };
    void prepare(const GpuStream& stream, CallOrder order);
    std::optional<Guards> guards_;
  };

  /// Records one of the backend's own events outside captures, or makes this stream wait for it.
  void record_plainly(GpuEvent<Api>& event, const char* operation) {
    const auto handle = event.native_for_record(false);
    if constexpr (Api::remembers_records()) {
      const Submission submission(*this);  // its lock prevents a capture from beginning before the record is stored
      check(event.memory().record(native_stream_, handle, [&] { return api_.EventRecord(handle, native()); }), operation);
    } else {
      submit(operation, [&] { return api_.EventRecord(handle, native()); });
    }
    event.recorded(handle);
  }
  void wait_for(const GpuEvent<Api>& event, const char* operation);

  /// The state of a capture, as the driver reports it.
  struct Capture {
    CaptureStatus status = CaptureStatus::none;
    std::uint64_t id = 0;
    typename Api::GraphHandle graph = nullptr;
    std::vector<typename Api::NodeHandle> dependencies;  ///< the nodes that the next node depends on; set only on request
  };
  Capture capture(bool with_dependencies = false) const;
  /// Adds `graph` to the capture as one child node. The caller has already stored the modules of its kernels.
  void add_child(typename Api::GraphHandle graph, const char* operation);
  void keep_modules(const KeptModules& modules, const CaptureState& capture) {
    if (modules == nullptr) return;
    for (const ModulePtr& module : *modules) keep_module(module, capture);
  }

 protected:
  Disposal disposal() const noexcept override { return Disposal::driver; }
  void do_dispose() noexcept override;
  void do_close(bool destroy) override;
  void* do_native_context() const override { return Api::native_context(device_.context()); }
  std::uint64_t do_id() const override {
    if (id_.load(std::memory_order_relaxed) == 0 && !learn_identity()) throw_while_capturing("Stream::id");
    return id_.load(std::memory_order_relaxed);
  }
  bool do_is_non_blocking() const override {
    if (non_blocking_.load(std::memory_order_relaxed) < 0 && !learn_identity())
      throw_while_capturing("Stream::is_non_blocking");
    return non_blocking_.load(std::memory_order_relaxed) != 0;
  }
  int do_priority() const override {
    const Submission submission(*this);
    int priority = 0;
    check(api_.stream_priority(native(), priority), "Stream::priority");
    return priority;
  }

  void do_synchronize() override {
    // External code may be capturing; the core has already checked Weir's own captures.
    const CaptureModeScope<Api> relaxed(api_);
    check(submitted([this] { return api_.StreamSynchronize(native()); }, Submission::CallOrder::none),
          "Stream::synchronize");
  }
  bool do_is_complete() const override {
    const CaptureModeScope<Api> relaxed(api_);  // as in do_synchronize
    const auto result = submitted([this] { return api_.StreamQuery(native()); }, Submission::CallOrder::none);
    if (result == Api::not_ready) return false;
    check(result, "Stream::is_complete");
    return true;
  }
  bool do_synchronize_until(std::chrono::steady_clock::time_point deadline) override;
  std::exception_ptr do_take_host_error() noexcept override {
    std::exception_ptr of_graphs = launched_graphs_.take();
    std::exception_ptr own = errors_->take();
    return own ? own : of_graphs;
  }
  void do_record(Event& event, const CaptureState& capture) override {
    auto& recorded = static_cast<GpuEvent<Api>&>(event);
    if (capture) [[unlikely]]
      return record_in_capture(recorded, capture);
    record_plainly(recorded, "Stream::record");
  }
  void do_record_external(Event& event, const CaptureState& capture) override {
    throw_if_in_conditional_body(capture, "Stream::record_external", "event nodes");
    // The graph owns the event, because each launch of the graph records it.
    keep_in_capture(event);
    auto& recorded = static_cast<GpuEvent<Api>&>(event);
    // Not the event for captures: launches of the graph record it outside captures.
    const auto handle = recorded.native_for_record(false);
    const Submission submission(*this);
    check(api_.record_external(handle, native()), "Stream::record_external");
    recorded.recorded(handle);
  }
  void do_wait(const Event& event, const CaptureState& capture) override;
  void do_wait_external(const Event& event, const CaptureState& capture) override {
    throw_if_in_conditional_body(capture, "Stream::wait_external", "event nodes");
    keep_in_capture(event);
    const Submission submission(*this);
    check(api_.wait_external(native(), static_cast<const GpuEvent<Api>&>(event).native()), "Stream::wait_external");
  }
  void do_wait_stream(Stream& other, const CaptureState& capture, const CaptureState& of_other) override;

  void do_launch_host_function(HostFunction&& function, const CaptureState& capture) override;
  void do_add_callback(StreamCallback&& callback) override;

  std::uint64_t do_begin_capture(CaptureMode mode) override {
    return begin_native("Stream::begin_capture", nullptr,
                        [&] { return api_.StreamBeginCapture(native(), Api::capture_mode(mode)); });
  }
  std::uint64_t do_resume_capture(const GraphPtr& graph, CaptureMode mode) override {
    auto& continued = static_cast<GpuGraph<Api>&>(*graph);
    const std::vector<typename Api::NodeHandle> leaves = continued.prepare_resume();
    return begin_native("Stream::resume_capture", continued.native(), [&] {
      return api_.begin_capture_to_graph(native(), continued.native(), leaves.data(), leaves.size(),
                                         Api::capture_mode(mode));
    });
  }
  GraphPtr do_end_capture(CaptureResources&& kept) override;
  CaptureState do_capture_state() const override;
  GraphPtr do_captured_graph() const override {
    const Capture capture = this->capture();
    if (capture.status != CaptureStatus::active || capture.graph == nullptr) return nullptr;
    return make_ptr<GpuGraph<Api>>(device_, capture.graph, GraphOwnership::of_capture);
  }
  void do_keep_in_graph(const ModulePtr& module, const CaptureState& capture) override;
  void do_add_child_graph(const Graph& graph, const CaptureState& capture) override {
    const Submission submission(*this);
    const auto& child = static_cast<const GpuGraph<Api>&>(graph);
    keep_modules(child.modules(), capture);
    child.with_handle([&](auto handle) { add_child(handle, "Stream::add_child_graph"); });
  }
  void do_capture_conditional(ConditionalKind kind, const std::uint32_t* condition,
                              std::span<UniqueFunction<void(Stream&)>> bodies, const CaptureState& capture) override;
  std::vector<GraphNode> do_capture_dependencies(const CaptureState& capture) const override;
  void do_set_capture_dependencies(std::span<const GraphNode> nodes, const CaptureState& capture) override;

  void do_copy(void* destination, const void* source, std::size_t bytes) override {
    if (device_.captures_host_functions()) [[unlikely]]
      throw_if_read_early(source);
    submit("Stream::copy", [&] { return api_.copy_async(destination, source, bytes, native()); });
  }
  void do_copy_pitched(const PitchedCopy& copy) override {
    if (device_.captures_host_functions()) [[unlikely]]
      throw_if_read_early(copy.source.data);
    submit("Stream::copy", [&] {
      return copy.depth == 1 ? api_.copy_2d_async(copy, native()) : api_.copy_3d_async(copy, native());
    });
  }
  void do_copy_batch(std::span<const BatchCopy> copies, SourceAccess access, const CaptureState& capture) override;
  void do_copy_peer(void* destination, const Device& destination_device, const void* source, const Device& source_device,
                    std::size_t bytes) override {
    const auto& to = static_cast<const GpuDevice<Api>&>(destination_device);
    const auto& from = static_cast<const GpuDevice<Api>&>(source_device);
    // Drivers do not capture copies between contexts. An ordinary copy of the same addresses is captured as an ordinary
    // node.
    const bool captures = do_capture_state().status != CaptureStatus::none;
    submit("Stream::copy_peer", [&] {
      return captures ? api_.copy_async(destination, source, bytes, native())
                      : api_.copy_peer_async(destination, to.context(), source, from.context(), bytes, native());
    });
  }
  void do_fill(void* destination, std::uint32_t value, std::size_t element_size, std::size_t count) override {
    submit("Stream::fill", [&] { return api_.fill_async(destination, value, element_size, count, native()); });
  }
  void do_fill_2d(void* destination, std::size_t pitch, std::uint32_t value, std::size_t element_size, std::size_t width,
                  std::size_t height) override {
    submit("Stream::fill_2d",
           [&] { return api_.fill_2d_async(destination, pitch, value, element_size, width, height, native()); });
  }

  void* do_allocate_async(std::size_t bytes, MemoryPool* pool, const CaptureState& capture) override;
  bool do_deallocate_async(void* memory, const CaptureState& capture) override {
    if (!device_.has_pool_memory()) [[likely]]
      return free(memory, capture);
    return free_to_pool(memory, capture);
  }
  void do_attach_memory(const Allocation& managed, AttachMode mode) override {
    const Submission submission(*this);
    check(api_.attach_async(native(), managed.data(), mode), "Stream::attach_memory");
  }
  void do_prefetch(const void* managed, std::size_t bytes, PrefetchTarget target) override {
    const Submission submission(*this);
    check(api_.prefetch_async(managed, bytes, target == PrefetchTarget::host, device_.context(), native()),
          "Stream::prefetch");
  }
  void do_memory_operation(const MemoryOperation& operation, const CaptureState& capture) override {
    const char* const name = operation.is_wait() ? "Stream::wait_value" : "Stream::write_value";
    throw_if_in_conditional_body(capture, name, "memory operations");
    if (operation.is_wait()) device_.set_has_work_that_waits();
    check_memory_operation(submitted([&] { return api_.memory_operation(native(), operation); }), name);
  }
  void do_batch_memory_operations(std::span<const MemoryOperation> operations, const CaptureState& capture) override;

  void do_launch(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                 const std::span<const Parameter>& parameters, const CaptureState& capture) override;
  void do_launch_with_attributes(const Kernel& kernel, const LaunchConfig& config, void* const* arguments,
                                 const std::span<const Parameter>&, const CaptureState& capture) override {
    launch_otherwise(static_cast<const GpuKernel<Api>&>(kernel), config, arguments, capture);
  }

  SynchronizationPolicy do_synchronization_policy() const override {
    const Submission submission(*this);
    SynchronizationPolicy policy{};
    check(api_.get_synchronization_policy(native(), policy), "Stream::synchronization_policy");
    return policy;
  }
  void do_set_synchronization_policy(SynchronizationPolicy policy) override {
    const Submission submission(*this);
    check(api_.set_synchronization_policy(native(), policy), "Stream::set_synchronization_policy");
  }
  AccessPolicyWindow do_access_policy_window() const override {
    const Submission submission(*this);
    AccessPolicyWindow window;
    check(api_.get_access_policy_window(native(), window), "Stream::access_policy_window");
    return window;
  }
  void do_set_access_policy_window(const AccessPolicyWindow& window) override {
    const Submission submission(*this);
    check(api_.set_access_policy_window(native(), window), "Stream::set_access_policy_window");
  }
  /// Copies the attributes one by one, because the driver's own copy would include the priority.
  void do_copy_attributes(const Stream& other) override {
    const auto& source = static_cast<const GpuStream&>(other);
    if (device_.supports(Feature::synchronization_policy)) {
      do_set_synchronization_policy(source.do_synchronization_policy());
    }
    if (device_.supports(Feature::access_policy_window)) do_set_access_policy_window(source.do_access_policy_window());
  }

 private:
  using Result = typename Api::Result;

  void check(Result result, const char* operation) const {
    if (result != Api::success) [[unlikely]]
      failed(result, operation);
  }
  [[noreturn, gnu::cold, gnu::noinline]] void failed(Result result, const char* operation) const {
    fail(api_, result, operation, describe());
  }
  /// Makes one driver call as a submission. The slow path is out of line, so ordinary streams pay nothing for it.
  template <class F>
  [[gnu::always_inline]] Result submitted(F&& call,
                                          typename Submission::CallOrder order = Submission::CallOrder::kept) const {
    if (plain_) [[likely]]
      return call();
    const Submission submission(*this, order);
    return call();
  }
  /// The same as `submitted`, and throws if the call fails.
  template <class F>
  [[gnu::always_inline]] void submit(const char* operation, F&& call) const {
    check(submitted(call), operation);
  }
  [[gnu::noinline]] void throw_if_read_early(const void* source) const;
  bool learn_identity() const;
  [[noreturn]] void throw_while_capturing(const char* operation) const {
    throw Error(Errc::capture_unsupported, operation, describe(),
                "the stream was capturing when it was wrapped, and the driver does not report this for a capturing stream; "
                "query it after the capture has ended; the capture continues");
  }
  GpuEvent<Api>& waited_for() {
    if (auto* const event = waited_for_.load(std::memory_order_acquire)) [[likely]]
      return *event;
    auto* const made = static_cast<GpuEvent<Api>*>(device_.events().take({}).detach());
    GpuEvent<Api>* there = nullptr;
    if (waited_for_.compare_exchange_strong(there, made, std::memory_order_acq_rel)) return *made;
    made->release();  // another thread has created one meanwhile
    return *there;
  }
  /// Called before this stream begins or joins a capture: see NativeStream::move_records.
  void leave_records_behind() const noexcept {
    if constexpr (Api::remembers_records()) {
      if (native_stream_ != nullptr) native_stream_->move_records();
    }
  }
  HostCalls& host_calls() {
    if (HostCalls* const calls = host_calls_.load(std::memory_order_acquire)) [[likely]]
      return *calls;
    HostCalls* const made = HostCalls::take(errors_);
    HostCalls* there = nullptr;
    if (host_calls_.compare_exchange_strong(there, made, std::memory_order_acq_rel)) return *made;
    made->close();  // another thread has created one meanwhile
    return *there;
  }
  void keep_in_capture(const RefCounted& object) {
    const typename Api::GraphHandle graph = capture().graph;
    object.retain();
    give_to_graph(api_, graph, const_cast<RefCounted*>(&object), &release_reference, "Stream::capture_info", *this);
  }
  [[gnu::noinline]] void launch_otherwise(const GpuKernel<Api>& kernel, LaunchConfig config, void* const* arguments,
                                          const CaptureState& capture);
  template <class Function, class... Rest>
  Result launch_with(Function function, const GpuKernel<Api>& kernel, const LaunchConfig& config, void* const* arguments,
                     Rest... rest) const;
  [[noreturn, gnu::cold]] void launch_failed(Result result, const Kernel& kernel, const LaunchConfig& config) const {
    const Meaning meaning = Api::meaning_at_launch(result);
    raise({meaning.errc, "Stream::launch", describe(),
           "kernel '" + kernel.name() + "', grid " + to_string(config.grid) + ", blocks of " + to_string(config.block) +
               " threads and " + std::to_string(config.shared_memory_bytes) +
               " bytes of shared memory: " + std::string(meaning.detail),
           native_error(api_, result)});
  }
  /// Queries the driver. The caller must hold the capture lock.
  Result ask(Capture& capture, bool with_dependencies) const;
  /// The driver's status of this stream's capture, `invalidated` if the query failed, and the query's result.
  struct OwnStatus {
    CaptureStatus status;
    Result result;
  };
  OwnStatus own_status() const noexcept;
  template <class F>
  std::uint64_t begin_native(const char* operation, typename Api::GraphHandle into, F&& begin_capture);
  Result end_native(typename Api::GraphHandle& graph) { return end_native(native(), graph); }
  Result end_native(Handle stream, typename Api::GraphHandle& graph) {
    const std::lock_guard copying(copy_mutex<Api>());
    const std::lock_guard lock(Device_::capture_lock());
    return api_.StreamEndCapture(stream, &graph);
  }
  Result end_beside_open_bodies(std::vector<std::shared_ptr<const void>>& bodies, typename Api::GraphHandle& graph);
  template <class F>
  void capture_body(const char* operation, UniqueFunction<void(Stream&)>& body, typename Api::GraphHandle graph,
                    const CaptureState& outer, bool loop, bool& is_spoiled, F&& finish);
  void end_body(const char* operation, const GpuStream& outer, typename Api::GraphHandle graph, BodyCapture& capture,
                const std::shared_ptr<const void>& native_stream, bool& is_spoiled);
  void throw_if_in_conditional_body(const CaptureState& capture, const char* operation, const char* what) const {
    if (capture.conditional_body) [[unlikely]]
      throw_in_conditional_body(operation, what);
  }
  [[noreturn, gnu::cold, gnu::noinline]] void throw_in_conditional_body(const char* operation, const char* what) const {
    throw Error(
        Errc::capture_unsupported, operation, describe(),
        std::string("this captures the body of a conditional node, where drivers do not support ") + what +
            "; bodies can contain kernels, copies, fills, child graphs and conditional nodes; the capture continues");
  }
  [[gnu::noinline]] void record_in_capture(GpuEvent<Api>& event, const CaptureState& capture) {
    const auto handle = event.native_for_record(true);
    submit("Stream::record", [&] { return api_.EventRecord(handle, native()); });
    event.recorded(handle);
    if constexpr (Api::remembers_records())
      event.memory().set({native_stream_, capture.id, this->capture(true).dependencies, handle, nullptr, false});
  }
  void depend_on(const std::vector<typename Api::NodeHandle>& nodes);
  /// Makes this stream wait for an event that was recorded in a capture.
  void wait_for_captured(const GpuEvent<Api>& event, const CaptureState& capture) {
    const Submission submission(*this);
    auto record = event.memory().get();
    if (record.capture != 0 && record.capture == capture.id && !api_.waits_join_captures()) return depend_on(record.nodes);
    if (!capture) leave_records_behind();
    check(api_.StreamWaitEvent(native(), event.native(), 0), "Stream::wait");
    if (record.capture != 0 && !capture && !api_.events_forget_captures()) go_on_behind(record.nodes, "Stream::wait");
  }
  /// In a capture: replaces this stream's dependencies by `nodes`.
  void go_on_behind(std::span<typename Api::NodeHandle> nodes, const char* operation) {
    check(api_.set_capture_dependencies(native(), nodes.data(), nodes.size()), operation);
  }
  bool free(void* memory, const CaptureState& capture) const;
  [[gnu::noinline]] bool free_to_pool(void* memory, const CaptureState& capture);
  [[gnu::noinline]] void record_memory(void* memory, const std::shared_ptr<NativePool<Api>>& pool) {
    make_owner([&] { return device_.record_memory(memory, pool), true; },
               [&] {
                 pool->leak();
                 (void)api_.free_async(memory, native());
               });
  }
  /// Returns true if the driver has freed the memory. Returns false if it refuses because another stream captures: with a
  /// capture of a blocking stream, if the free is ordered against the legacy default stream; with older HIP, with any
  /// capture in global mode. Throws on other errors.
  bool is_freed(Result result) const {
    if (result == Api::success) return true;
    const Errc cause = Api::meaning(result).errc;
    if (cause == Errc::capture_implicit || cause == Errc::capture_unsupported) return false;
    if (!Api::is_shut_down(result))
      check(result, "Stream::allocate_async (free)");  // at shutdown the driver has already released the memory
    return true;
  }
  /// Frees on the legacy stream. Such a free is ordered against captures of blocking streams, so the driver must be able to
  /// refuse it. Memory of another thread's default stream is also freed here, because this thread has no handle for that
  /// stream, and the legacy stream is ordered after it.
  bool free_on_legacy_stream(void* memory) const {
    const Submission submission(*this);
    Result usable{};
    {
      [[maybe_unused]] const typename Api::CaptureLock::Question question(Device_::capture_lock());
      usable = api_.ask_legacy_stream();
    }
    if (usable != Api::success && !Api::is_shut_down(usable)) return is_freed(usable);
    return is_freed(api_.free_async(memory, api_.legacy_stream()));
  }
  void check_memory_operation(Result result, const char* operation) const;
  void batch_as_graph(std::span<const MemoryOperation> operations, const CaptureState& capture);

  Device_& device_;
  const Api& api_;
  // Whether submissions to this stream need neither a current device nor the order lock.
  const bool plain_;
  bool is_reusable_;
  std::shared_ptr<NativeStream<Api>> native_stream_;
  const Ptr<HostErrors> errors_;
  LaunchedGraphs launched_graphs_;
  // Held during submissions if one batch may take several driver calls. Recursive, because submissions may nest.
  mutable std::recursive_mutex order_;

  // An event for other streams to wait on when they wait for this stream. This stream owns it. Created at the first such
  // wait.
  std::atomic<GpuEvent<Api>*> waited_for_{nullptr};

  // Drivers cannot report these while the stream captures. So they are queried when this object is created, or later if the
  // stream captures then.
  mutable std::atomic<std::uint64_t> id_{0};             // 0: unknown
  // Keeps an id that Weir assigned, if the driver has none; set in the constructor.
  mutable std::shared_ptr<const std::uint64_t> number_;
  mutable std::atomic<signed char> non_blocking_{-1};    // 0, 1, or -1: unknown

  bool leaves_nodes_behind_ = false;  // for the body of a conditional node: whether set_capture_dependencies was called
  // The last attempt to end a capture failed because another thread had begun that capture.
  bool capture_is_anothers_ = false;
  std::atomic<HostCalls*> host_calls_{nullptr};
};

}  // namespace weir::gpu
