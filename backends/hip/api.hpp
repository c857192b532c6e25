// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/gpu/capture_lock.hpp"
#include "backends/gpu/errors.hpp"
#include "backends/hip/code_object.hpp"
#include "backends/hip/hiprtc.hpp"
#include "backends/hip/images.hpp"
#include "backends/hip/numbers.hpp"
#include "backends/hip/quirks.hpp"
#include "backends/hip/symbols.hpp"
#include "backends/hip/waiting.hpp"
#include "weir/backend.hpp"
#include "weir/capture.hpp"
#include "weir/device.hpp"
#include "weir/feature.hpp"
#include "weir/graph.hpp"
#include "weir/memory.hpp"
#include "weir/plugin/plugin.hpp"
#include "weir/plugin/stream.hpp"
#include "weir/stream_attributes.hpp"
#include "weir/stream_memory.hpp"
#include "weir/unique_function.hpp"

/// The HIP runtime as a policy for the code that CUDA and HIP share (see backends/gpu/backend.hpp). It contains the table of
/// runtime functions, and a function for each operation that differs between the vendors. The order is that of
/// backends/cuda/api.hpp.
namespace weir::hip {

class Api : public Symbols {
 public:
  static constexpr const char* backend_name = "hip";

  // --- Types ----------------------------------------------------------------------------------------------------------

  using Result = hipError_t;
  using StreamHandle = hipStream_t;
  using EventHandle = hipEvent_t;
  using GraphHandle = hipGraph_t;
  using GraphExecHandle = hipGraphExec_t;
  using NodeHandle = hipGraphNode_t;
  using ModuleHandle = hipModule_t;
  using FunctionHandle = hipFunction_t;
  using PoolHandle = hipMemPool_t;
  using UserObject = UserObjectTag*;
  using HostNodeParameters = hipHostNodeParams;
  using BatchOperation = hip::BatchOperation;
  using ConditionalHandle = std::uint64_t;
  using CaptureModeValue = hipStreamCaptureMode;
  using PartitionHandle = GreenContext*;
  using FunctionAttribute = hipFunction_attribute;
  using PoolAttribute = hipMemPoolAttr;

  /// HIP has no contexts: a device is identified by its ordinal.
  struct DeviceContext {
    int ordinal = 0;
  };

  /// Makes a device the calling thread's current device for a scope. Every thread starts with device 0 as current.
  class Current {
   public:
    Current(const Api& api, const DeviceContext& device, bool needed = true) : Current(api, device, std::nothrow, needed) {
      // At process exit do not throw here: the call that follows reports the error.
      if (result_ != hipSuccess && !is_shut_down(result_)) [[unlikely]]
        fail(api, device.ordinal);
    }
    /// Does not throw if the device cannot be made current; `result` then returns the error.
    Current(const Api& api, const DeviceContext& device, std::nothrow_t, bool needed = true) noexcept {
      if (!needed) return;
      if (api.GetDevice(&before_) == hipSuccess && before_ == device.ordinal) [[likely]]
        return;
      set(api, device.ordinal);
    }
    Result result() const noexcept { return result_; }
    ~Current() {
      if (api_ != nullptr) [[unlikely]]
        restore();
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    void set(const Api& api, int ordinal) noexcept;
    [[noreturn]] void fail(const Api& api, int ordinal) const;
    void restore() noexcept;
    const Api* api_ = nullptr;
    Result result_ = hipSuccess;
    int before_ = 0;
  };

  // --- Constants ------------------------------------------------------------------------------------------------------

  using CaptureLock = gpu::NoCaptureLock;
  static constexpr Result success = hipSuccess;
  static constexpr Result not_ready = hipErrorNotReady;
  static constexpr Result not_found = hipErrorNotFound;
  static constexpr Result illegal_state = hipErrorIllegalState;
  static constexpr Result peer_already_enabled = hipErrorPeerAccessAlreadyEnabled;
  static constexpr int of_another_context = -2;  // never returned, because HIP has no contexts
  static constexpr unsigned stream_blocking = hipStreamDefault;
  static constexpr unsigned stream_non_blocking = hipStreamNonBlocking;
  static constexpr CaptureModeValue capture_relaxed = hipStreamCaptureModeRelaxed;
  static constexpr unsigned user_object_no_sync = no_destructor_sync;
  static constexpr unsigned user_object_move = graph_user_object_move;
  static constexpr unsigned partition_flags = 0;
  static constexpr unsigned long long instantiate_auto_free = auto_free_on_launch;
  static constexpr FunctionAttribute function_max_threads = HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
  static constexpr FunctionAttribute function_registers = HIP_FUNC_ATTRIBUTE_NUM_REGS;
  static constexpr FunctionAttribute function_shared_bytes = HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
  static constexpr FunctionAttribute function_local_bytes = HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES;
  static constexpr FunctionAttribute function_constant_bytes = HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES;
  // False: there is no PTX, so the versions that the runtime returns are meaningless.
  static constexpr bool tells_versions = false;
  static constexpr PoolAttribute pool_used = hipMemPoolAttrUsedMemCurrent;
  static constexpr PoolAttribute pool_reserved = hipMemPoolAttrReservedMemCurrent;
  static constexpr PoolAttribute pool_release_threshold = hipMemPoolAttrReleaseThreshold;
  /// The maximum number of operations in one hipStreamBatchMemOp.
  static constexpr std::size_t max_batch = 256;

  // --- The runtime ----------------------------------------------------------------------------------------------------

  /// Opens the runtime. Called once. Throws the same errors as a plugin's factory (weir/plugin/plugin.hpp).
  static const Api& load(PluginContext& context);

  BackendVersions versions() const;
  int release() const noexcept { return release_; }
  int device_count() const noexcept { return device_count_; }
  /// A hipDevice_t is the device's ordinal.
  static int device_of(const DeviceContext& device) noexcept { return device.ordinal; }
  std::int64_t device_number(int ordinal) const noexcept { return ordinal; }
  Result open_device(int ordinal, DeviceContext& context) const noexcept {
    context.ordinal = ordinal;
    return success;
  }
  static void* native_context(const DeviceContext&) noexcept { return nullptr; }
  void describe_device(int ordinal, DeviceProperties& properties, FeatureTable& features) const;
  /// Sets the features that depend only on the release, not on a device.
  void describe_features(FeatureTable& features) const;

  bool has(Workaround workaround) const noexcept { return workarounds_[static_cast<std::size_t>(workaround)]; }

  // Guarantees that CUDA's driver gives, and this runtime does not give in all releases. backends/cuda/api.hpp documents
  // each function.
  bool unloading_waits() const noexcept { return !has(Workaround::retire_executables); }
  bool orders_launches() const noexcept { return !has(Workaround::order_launches); }
  static constexpr bool updates_executables() noexcept { return false; }
  /// Whether the executable that an update replaces must be kept until its last launch is over.
  static constexpr bool keeps_what_is_replaced() noexcept { return true; }
  bool events_outlive_streams() const noexcept { return !has(Workaround::keep_streams_for_events); }
  bool waits_join_captures() const noexcept { return !has(Workaround::join_by_dependencies); }
  bool events_forget_captures() const noexcept { return !has(Workaround::set_fork_dependencies); }
  static constexpr bool remembers_records() noexcept { return true; }
  /// False, because up to 6.2 the runtime never releases an object that was moved into a graph.
  static constexpr bool moves_user_objects() noexcept { return false; }
  /// False, because the thread that began the capture has the stream in a list, and the runtime accesses it there later.
  static constexpr bool destroys_capturing_streams() noexcept { return false; }
  static constexpr bool executables_free_memory() noexcept { return true; }
  /// Whether the result of an event query means either that the event is not complete, or that some thread's capture forbids
  /// the query.
  static bool is_pending(Result result) noexcept;
  void end_behind(const DeviceContext& device, EventHandle event, UniqueFunction<void()>&& end) const noexcept;

  /// True to be safe: no release was tested for whether calls with streams and events work while another device is current.
  static constexpr bool objects_need_current() noexcept { return true; }
  /// True, because one batch may take several calls: before 6.4 always, later only if it is long. A lock keeps these calls
  /// together.
  static constexpr bool orders_submissions() noexcept { return true; }

  // --- Errors ---------------------------------------------------------------------------------------------------------

  std::string_view error_name(Result result) const noexcept;
  std::string_view error_text(Result result) const noexcept;
  static gpu::Meaning meaning(Result result) noexcept;
  /// The meaning of a result code when a launch, or the loading of a kernel, returned it. Such a code cannot be an error of
  /// earlier work.
  static gpu::Meaning meaning_at_launch(Result result) noexcept;
  static gpu::Meaning meaning_at_load(Result result) noexcept;
  /// Explains why a stream-ordered allocation or the creation of a pool failed. Empty if `meaning` already explains it.
  std::string_view refusal_of_memory(Result result) const noexcept;
  static bool is_shut_down(Result result) noexcept { return result == hipErrorDeinitialized; }

  // --- Streams --------------------------------------------------------------------------------------------------------

  /// The null handle. Only later releases also accept 1 as the legacy default stream; earlier releases treat 1 as a pointer.
  static StreamHandle legacy_stream() noexcept { return nullptr; }
  static bool is_legacy_stream(StreamHandle stream) noexcept {
    return stream == nullptr || stream == reinterpret_cast<StreamHandle>(std::uintptr_t{1});
  }
  static StreamHandle per_thread_stream() noexcept { return reinterpret_cast<StreamHandle>(std::uintptr_t{2}); }
  static bool is_own_stream(StreamHandle stream) noexcept {
    return !is_legacy_stream(stream) && stream != per_thread_stream();
  }
  Result priority_range(int& least, int& greatest) const { return GetStreamPriorityRange(&least, &greatest); }
  /// The priority of streams for which the program requests none. In HIP +1 is lower, and -1 is higher.
  static int usual_priority() noexcept { return 0; }
  bool has_id(StreamHandle stream) const noexcept { return StreamGetId && is_own_stream(stream); }
  Result stream_id(StreamHandle stream, std::uint64_t& id) const;
  Result stream_flags(StreamHandle stream, unsigned& flags) const;
  Result stream_priority(StreamHandle stream, int& priority) const;
  int device_of(StreamHandle stream, const DeviceContext&) const noexcept;
  /// Returns at once even if the stream still has work.
  Result StreamDestroy(StreamHandle stream) const;
  Result StreamSynchronize(StreamHandle stream) const;
  Result launch_host_function(StreamHandle stream, void (*function)(void*), void* data) const {
    return LaunchHostFunc(stream, function, data);
  }
  Result get_synchronization_policy(StreamHandle stream, SynchronizationPolicy& policy) const;
  Result set_synchronization_policy(StreamHandle stream, SynchronizationPolicy policy) const;
  static Result get_access_policy_window(StreamHandle, AccessPolicyWindow&) noexcept { return hipErrorNotSupported; }
  static Result set_access_policy_window(StreamHandle, const AccessPolicyWindow&) noexcept { return hipErrorNotSupported; }
  Result StreamCopyAttributes(StreamHandle to, StreamHandle from) const;

  // --- Events ---------------------------------------------------------------------------------------------------------

  /// Releases with the workaround `ask_events_by_time` query events by elapsed time, so their events need timing. That costs
  /// nothing, because the runtime stores the time of every record.
  unsigned event_flags(const EventOptions& options) const noexcept {
    const bool takes_times = options.timing || (has(Workaround::ask_events_by_time) && !options.interprocess);
    return (takes_times ? 0U : unsigned{hipEventDisableTiming}) |
           (options.interprocess ? unsigned{hipEventInterprocess} : 0U);
  }
  Result query_event(EventHandle event) const;
  Result synchronize_event(EventHandle event, bool blocking_sync) const;
  Result record_external(EventHandle event, StreamHandle stream) const {
    return EventRecordWithFlags(event, stream, event_record_external);
  }
  Result wait_external(StreamHandle stream, EventHandle event) const {
    return StreamWaitEvent(stream, event, event_wait_external);
  }
  Result event_to_handle(EventHandle event, InterprocessHandle& handle) const;
  Result event_from_handle(const InterprocessHandle& handle, EventHandle& event) const;

  /// False: HIP has no event that covers all work of a device, so hipDeviceSynchronize is called instead. Captures wait
  /// meanwhile, because it is not known which releases allow both at once.
  static constexpr bool records_whole_device() noexcept { return false; }
  static Result record_whole_device(const DeviceContext&, EventHandle) { return hipErrorNotSupported; }
  /// False: how hipDeviceSynchronize waits depends on hipSetDeviceFlags.
  static constexpr bool sleeps_while_waiting(const DeviceContext&) noexcept { return false; }

  // --- Copies and fills -----------------------------------------------------------------------------------------------

  Result copy_async(void* to, const void* from, std::size_t bytes, StreamHandle stream) const {
    return MemcpyAsync(to, from, bytes, hipMemcpyDefault, stream);
  }
  Result copy_2d_async(const PitchedCopy& copy, StreamHandle stream) const {
    return Memcpy2DAsync(copy.destination.data, copy.destination.pitch, copy.source.data, copy.source.pitch, copy.width,
                         copy.height, hipMemcpyDefault, stream);
  }
  Result copy_3d_async(const PitchedCopy& copy, StreamHandle stream) const;
  static constexpr bool copies_batches() noexcept { return false; }
  static Result copy_batch_async(std::span<const BatchCopy>, SourceAccess, StreamHandle) { return hipErrorNotSupported; }
  /// Uses hipMemcpyAsync, which derives the devices from the addresses, because hipMemcpyPeerAsync would not be captured.
  Result copy_peer_async(void* to, const DeviceContext&, const void* from, const DeviceContext&, std::size_t bytes,
                         StreamHandle stream) const {
    return copy_async(to, from, bytes, stream);
  }
  Result fill_async(void* to, std::uint32_t value, std::size_t element_size, std::size_t count, StreamHandle stream) const;
  Result fill_2d_async(void* to, std::size_t pitch, std::uint32_t value, std::size_t element_size, std::size_t width,
                       std::size_t height, StreamHandle stream) const;

  // --- Memory ---------------------------------------------------------------------------------------------------------

  Result allocate(void*& memory, std::size_t bytes, MemoryKind kind) const;
  Result deallocate(void* memory, MemoryKind kind) const;
  Result allocate_async(void*& memory, std::size_t bytes, PoolHandle pool, StreamHandle stream) const;
  Result free_async(void* memory, StreamHandle stream) const;
  Result attach_async(StreamHandle stream, void* memory, AttachMode mode) const;
  Result prefetch_async(const void* memory, std::size_t bytes, bool to_host, const DeviceContext& device,
                        StreamHandle stream) const {
    return MemPrefetchAsync(memory, bytes, to_host ? hipCpuDeviceId : device.ordinal, stream);
  }
  Result register_host(void* data, std::size_t bytes, void*& device_pointer) const;
  Result memory_to_handle(void* memory, InterprocessHandle& handle) const;
  Result memory_from_handle(const InterprocessHandle& handle, void*& memory) const;
  Result close_memory(void* memory) const { return IpcCloseMemHandle(memory); }
  Result create_pool(const DeviceContext& device, std::size_t max_size, PoolHandle& pool) const;
  Result default_pool(const DeviceContext& device, PoolHandle& pool) const {
    return DeviceGetDefaultMemPool(&pool, device.ordinal);
  }
  Result destroy_pool(PoolHandle pool) const;
  Result set_pool_access(PoolHandle pool, const DeviceContext& reader, bool allowed) const;

  // --- Peers ----------------------------------------------------------------------------------------------------------

  Result can_access_peer(int ordinal, int peer, bool& can) const;
  Result enable_peer(const DeviceContext& peer) const;
  Result disable_peer(const DeviceContext& peer) const;

  // --- Memory operations ----------------------------------------------------------------------------------------------

  Result memory_operation(StreamHandle stream, const MemoryOperation& operation) const;
  static void fill_batch_operation(BatchOperation& to, const MemoryOperation& operation) noexcept;
  Result batch(StreamHandle stream, BatchOperation* operations, std::size_t count) const;
  /// Never called: `orders_submissions` keeps the calls of a batch together, so no graph is needed.
  static Result add_batch_node(const DeviceContext&, NodeHandle&, GraphHandle, const NodeHandle*, std::size_t,
                               BatchOperation*, std::size_t) noexcept {
    return hipErrorNotSupported;
  }

  // --- Capture --------------------------------------------------------------------------------------------------------

  static CaptureModeValue capture_mode(CaptureMode mode) noexcept {
    switch (mode) {
      case CaptureMode::global: return hipStreamCaptureModeGlobal;
      case CaptureMode::thread_local_: return hipStreamCaptureModeThreadLocal;
      case CaptureMode::relaxed: break;
    }
    return hipStreamCaptureModeRelaxed;
  }
  Result is_capturing(StreamHandle stream, bool& captures) const {
    hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
    const Result result = StreamIsCapturing(stream, &status);
    captures = status != hipStreamCaptureStatusNone;
    return result;
  }
  Result capture_info(StreamHandle stream, CaptureStatus& status, std::uint64_t& id, GraphHandle& graph,
                      const NodeHandle** dependencies, std::size_t* count) const;
  /// Succeeds without a call, because hipStreamGetCaptureInfo refuses the null stream.
  Result ask_legacy_stream() const noexcept { return success; }
  static constexpr unsigned long long instantiate_priorities = 0;  // HIP has no flag for priorities in graphs
  static constexpr bool has_priority(NodeHandle) noexcept { return false; }
  static constexpr bool reads_early(const void*) noexcept { return false; }  // unknown for HIP; false is assumed
  Result set_capture_dependencies(StreamHandle stream, NodeHandle* nodes, std::size_t count) const {
    return StreamUpdateCaptureDependencies(stream, nodes, count, set_dependencies);
  }
  Result begin_capture_to_graph(StreamHandle stream, GraphHandle graph, const NodeHandle* dependencies, std::size_t count,
                                CaptureModeValue mode) const {
    return StreamBeginCaptureToGraph(stream, graph, count != 0 ? dependencies : nullptr, nullptr, count, mode);
  }
  /// Ends a capture. Even if it fails, all streams of the capture can be used afterwards; `graph` is then null.
  Result StreamEndCapture(StreamHandle stream, GraphHandle* graph) const;
  // Functions for user objects. With releases that need it, they hold a lock while the runtime finds, creates or releases
  // user objects.
  Result UserObjectCreate(UserObject* object, void* owned, void (*destroy)(void*), unsigned references,
                          unsigned flags) const {
    const auto lock = user_object_lock();
    return Symbols::UserObjectCreate(object, owned, destroy, references, flags);
  }
  Result UserObjectRelease(UserObject object, unsigned count) const {
    const auto lock = user_object_lock();
    return Symbols::UserObjectRelease(object, count);
  }
  Result GraphRetainUserObject(GraphHandle graph, UserObject object, unsigned count, unsigned flags) const {
    const auto lock = user_object_lock();
    return Symbols::GraphRetainUserObject(graph, object, count, flags);
  }
  Result GraphDestroy(GraphHandle graph) const {
    const auto lock = user_object_lock();
    return Symbols::GraphDestroy(graph);
  }
  Result GraphExecDestroy(GraphExecHandle exec) const {
    const auto lock = user_object_lock();
    return Symbols::GraphExecDestroy(exec);
  }
  /// Why a capture cannot record this launch; null if it can.
  const char* refuses_capture_of(const LaunchConfig& config) const noexcept {
    if (config.cluster != Dim3()) return "it is unknown whether HIP captures launches in clusters";
    return config.cooperative && has(Workaround::refuse_cooperative_capture)
               ? "this driver cannot capture a cooperative launch, but would run it immediately"
               : nullptr;
  }

  // --- Graphs ---------------------------------------------------------------------------------------------------------

  Result node_kind(NodeHandle node, NodeKind& kind) const;
  Result graph_edges(GraphHandle graph, NodeHandle* from, NodeHandle* to, std::size_t& count) const {
    return GraphGetEdges(graph, from, to, &count);
  }

  /// False, because hipGraphExec…NodeSetParams would change running launches.
  static constexpr bool changes_nodes = false;

  // --- Conditional nodes, which HIP lacks -------------------------------------------------------------------------------

  static Result create_condition(const DeviceContext&, GraphHandle, ConditionalHandle&) noexcept {
    return hipErrorNotSupported;
  }
  static Result add_conditional_node(const DeviceContext&, GraphHandle, const NodeHandle*, std::size_t, ConditionalHandle,
                                     ConditionalKind, NodeHandle&, std::span<GraphHandle>) noexcept {
    return hipErrorNotSupported;
  }
  static Result load_conditional_kernel(ModuleHandle&, FunctionHandle&) noexcept { return hipErrorNotSupported; }

  // --- Modules --------------------------------------------------------------------------------------------------------

  Result load_module(ModuleHandle& module, const char* image, std::string&) const;
  static Result load_function(FunctionHandle) noexcept { return success; }
  Result module_global(void*& address, std::size_t& bytes, ModuleHandle module, const char* name) const {
    return ModuleGetGlobal(&address, &bytes, module, name);
  }
  /// Empty: the runtime does not report parameter sizes. They are read from the image instead.
  static std::optional<std::vector<std::size_t>> parameter_sizes(FunctionHandle) { return std::nullopt; }
  static std::vector<std::string> kernel_names(ModuleHandle) { return {}; }
  static std::vector<gpu::ImageKernel> image_kernels(std::span<const std::byte> image, const Device& device) {
    return kernels_of(image, device.properties().architecture);
  }
  Result launch_with_attributes(FunctionHandle function, const LaunchConfig& config, StreamHandle stream,
                                void* const* arguments) const;
  /// Does nothing, because AMD needs no such call. (hipFuncSetAttribute accepts only a host function's address, not a
  /// module's function.)
  static Result set_max_shared_memory(FunctionHandle, std::uint32_t) noexcept { return success; }
  Result max_active_blocks(int& blocks, FunctionHandle function, int threads, std::size_t shared_memory_bytes) const {
    return ModuleOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, shared_memory_bytes);
  }
  Result suggested_block_size(int& blocks, int& threads, FunctionHandle function, std::size_t shared_memory_bytes) const {
    return ModuleOccupancyMaxPotentialBlockSize(&blocks, &threads, function, shared_memory_bytes, 0);
  }
  gpu::CompiledProgram compile(const Device& device, std::string_view source, const CompileOptions& options) const {
    return compiler_->compile_cached(device.properties().architecture, source, options, "Device::compile",
                                     device.describe());
  }
  static int rank_image(std::string_view architecture, const DeviceProperties& properties) {
    return hip::rank_image(architecture, properties.architecture);
  }

 private:
  Api() = default;
  class Helpers;

  std::optional<int> attribute(int number, int ordinal) const;
  /// The device's properties that have no attribute. The defaults are for no device: they rule nothing out.
  struct WithoutAttribute {
    std::string architecture;
    bool launches_clusters = true;
  };
  WithoutAttribute without_attribute(int ordinal) const;
  std::string uuid(int ordinal) const;
  void decide(FeatureTable& features, std::optional<int> ordinal, const WithoutAttribute& others) const;
  PollPolicy poll_policy_of(StreamHandle stream) const;
  Result stand_in(StreamHandle& stream) const;
  Result submit(StreamHandle stream, const BatchOperation& operation) const;
  std::unique_lock<std::recursive_mutex> user_object_lock() const;
  void end_invalidated_capture(StreamHandle stream) const;
  Result join_everything(StreamHandle stream, bool& joined) const;
  std::string version_text() const;

  int version_ = 0;  // 70253211 for 7.2.53211
  int release_ = 0;  // 702 for 7.2
  int device_count_ = 0;
  std::bitset<feature_count> enabled_;  // what WEIR_ENABLE_FEATURES lists
  std::string library_path_;
  const Compiler* compiler_ = nullptr;
  std::bitset<workaround_count> workarounds_;  // the workarounds that this release needs
  Helpers* helpers_ = nullptr;                 // never destroyed, as the backend itself
};

/// Compiles ahead of time with HIPRTC. The plugin exports it as `weir_compile_image`.
void compile_image(ImageCompilation& request);

}  // namespace weir::hip
