// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/images.hpp"
#include "backends/cuda/numbers.hpp"
#include "backends/cuda/symbols.hpp"
#include "backends/gpu/capture_lock.hpp"
#include "backends/gpu/errors.hpp"
#include "backends/gpu/module_contents.hpp"
#include "backends/gpu/program.hpp"
#include "weir/backend.hpp"
#include "weir/capture.hpp"
#include "weir/device.hpp"
#include "weir/feature.hpp"
#include "weir/graph.hpp"
#include "weir/graph_changes.hpp"
#include "weir/memory.hpp"
#include "weir/plugin/plugin.hpp"
#include "weir/plugin/stream.hpp"
#include "weir/stream_attributes.hpp"
#include "weir/stream_memory.hpp"

/// CUDA's driver API as a policy for the code that CUDA and HIP share (see backends/gpu/backend.hpp). It contains the table
/// of driver functions, and a function for each operation that differs between the vendors.
namespace weir::cuda {

inline CUdeviceptr device_address(const void* p) noexcept { return reinterpret_cast<CUdeviceptr>(p); }

class Api : public Symbols {
 public:
  static constexpr const char* backend_name = "cuda";

  // --- Types ----------------------------------------------------------------------------------------------------------

  using Result = CUresult;
  using StreamHandle = CUstream;
  using EventHandle = CUevent;
  using GraphHandle = CUgraph;
  using GraphExecHandle = CUgraphExec;
  using NodeHandle = CUgraphNode;
  using ModuleHandle = CUmodule;
  using FunctionHandle = CUfunction;
  using PoolHandle = CUmemoryPool;
  using PartitionHandle = GreenContext*;
  using UserObject = CUuserObject;
  using HostNodeParameters = CUDA_HOST_NODE_PARAMS_v1;
  using BatchOperation = CUstreamBatchMemOpParams;
  using ConditionalHandle = std::uint64_t;
  using CaptureModeValue = CUstreamCaptureMode;
  using FunctionAttribute = CUfunction_attribute;
  using PoolAttribute = CUmemPool_attribute;

  struct DeviceContext {
    CUdevice device = 0;
    CUcontext context = nullptr;  // the device's primary context, which CUDA's runtime API uses as well
  };

  /// Makes a device's context current for a scope, unless it is current already.
  class Current {
   public:
    Current(const Api& api, const DeviceContext& device, bool needed = true) : Current(api, device, std::nothrow, needed) {
      if (result_ != CUDA_SUCCESS) [[unlikely]] fail(api, device);
    }
    /// Does not throw if the context cannot be made current; `result` then returns the error.
    Current(const Api& api, const DeviceContext& device, std::nothrow_t, bool needed = true) noexcept {
      if (!needed) return;
      CUcontext now = nullptr;
      if (api.CtxGetCurrent(&now) == CUDA_SUCCESS && now == device.context) [[likely]] return;
      push(api, device);
    }
    Result result() const noexcept { return result_; }
    ~Current() {
      if (api_ != nullptr) [[unlikely]] pop();
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    void push(const Api& api, const DeviceContext& device) noexcept;
    [[noreturn]] void fail(const Api& api, const DeviceContext& device) const;
    void pop() noexcept;
    const Api* api_ = nullptr;
    Result result_ = CUDA_SUCCESS;
  };

  // --- Constants ------------------------------------------------------------------------------------------------------

  using CaptureLock = gpu::CaptureLock;  // needed with driver 580: see docs/cuda-backend.md
  static constexpr Result success = CUDA_SUCCESS;
  static constexpr Result not_ready = CUDA_ERROR_NOT_READY;
  static constexpr Result not_found = CUDA_ERROR_NOT_FOUND;
  static constexpr Result illegal_state = CUDA_ERROR_ILLEGAL_STATE;
  static constexpr Result peer_already_enabled = CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  static constexpr int of_another_context = -2;
  static constexpr unsigned stream_blocking = CU_STREAM_DEFAULT;
  static constexpr unsigned stream_non_blocking = CU_STREAM_NON_BLOCKING;
  static constexpr CaptureModeValue capture_relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
  static constexpr unsigned user_object_no_sync = CU_USER_OBJECT_NO_DESTRUCTOR_SYNC;
  static constexpr unsigned user_object_move = CU_GRAPH_USER_OBJECT_MOVE;
  static constexpr unsigned partition_flags = green_default_stream;
  static constexpr unsigned long long instantiate_auto_free = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
  static constexpr unsigned long long instantiate_priorities = 8;  // CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY
  static constexpr FunctionAttribute function_max_threads = CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
  static constexpr FunctionAttribute function_registers = CU_FUNC_ATTRIBUTE_NUM_REGS;
  static constexpr FunctionAttribute function_shared_bytes = CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
  static constexpr FunctionAttribute function_local_bytes = CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES;
  static constexpr FunctionAttribute function_constant_bytes = CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES;
  static constexpr bool tells_versions = true;
  static constexpr FunctionAttribute function_ptx_version = CU_FUNC_ATTRIBUTE_PTX_VERSION;
  static constexpr FunctionAttribute function_binary_version = CU_FUNC_ATTRIBUTE_BINARY_VERSION;
  static constexpr PoolAttribute pool_used = CU_MEMPOOL_ATTR_USED_MEM_CURRENT;
  static constexpr PoolAttribute pool_reserved = CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;
  static constexpr PoolAttribute pool_release_threshold = CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
  /// The maximum number of operations in one cuStreamBatchMemOp, whose documentation says "must be less than 256".
  static constexpr std::size_t max_batch = 255;

  // --- The driver -----------------------------------------------------------------------------------------------------

  /// Opens the driver. Called once. Throws the same errors as a plugin's factory (weir/plugin/plugin.hpp).
  static const Api& load(PluginContext& context);

  BackendVersions versions() const;
  int device_count() const noexcept { return device_count_; }
  static CUdevice device_of(const DeviceContext& device) noexcept { return device.device; }
  std::int64_t device_number(int ordinal) const;
  /// Retains the device's primary context.
  Result open_device(int ordinal, DeviceContext& context) const;
  static void* native_context(const DeviceContext& context) noexcept { return context.context; }
  /// Fills in the properties and features from the driver's attributes, without creating a context.
  void describe_device(int ordinal, DeviceProperties& properties, FeatureTable& features) const;

  /// Whether calls with a stream or an event need its context to be current. Drivers before 13.0 require it; with later
  /// drivers it is tested when the first device is opened.
  bool objects_need_current() const noexcept { return objects_need_current_.load(std::memory_order_relaxed); }
  // Guarantees of the driver. The code that CUDA and HIP share checks them, because HIP does not give all of them.
  /// Whether unloading a module waits for work that uses the module, and whether a destroyed executable lives until its
  /// launches are over.
  static constexpr bool unloading_waits() noexcept { return true; }
  /// Whether launches of one executable run one after another even if they are on different streams.
  static constexpr bool orders_launches() noexcept { return true; }
  /// Whether the driver's own update of an executable leaves running launches unaffected, and keeps the objects of the new
  /// graph alive.
  static constexpr bool updates_executables() noexcept { return true; }
  /// Whether an event can be queried and waited for after the stream that recorded it is destroyed.
  static constexpr bool events_outlive_streams() noexcept { return true; }
  /// Whether any stream of a capture may wait for any event of that capture, in whatever order the streams were forked and
  /// joined.
  static constexpr bool waits_join_captures() noexcept { return true; }
  /// Whether recording an event in a capture clears the event's state from earlier captures.
  static constexpr bool events_forget_captures() noexcept { return true; }
  /// Whether Weir must store where each event was recorded, because one of the last three guarantees is missing.
  static constexpr bool remembers_records() noexcept { return false; }
  /// Whether a graph that retains an object can take over the caller's reference instead of adding one.
  static constexpr bool moves_user_objects() noexcept { return true; }
  /// Whether destroying an executable frees the memory that its last launch has left allocated.
  static constexpr bool executables_free_memory() noexcept { return false; }
  /// Whether a stream can be destroyed while it is part of a capture that another thread began.
  static constexpr bool destroys_capturing_streams() noexcept { return true; }
  /// Whether this result of an event query means that the event is not complete yet.
  static constexpr bool is_pending(Result result) noexcept { return result == CUDA_ERROR_NOT_READY; }
  /// Calls `end` once the event is complete. On CUDA calls it at once, because `unloading_waits()` is true.
  template <class F>
  static void end_behind(const DeviceContext&, EventHandle, F&& end) noexcept {
    end();
  }
  /// Whether one batch takes several driver calls, so that a lock must keep them together.
  static constexpr bool orders_submissions() noexcept { return false; }
  /// Why a capture cannot record this launch; null if it can.
  static constexpr const char* refuses_capture_of(const LaunchConfig&) noexcept { return nullptr; }

  // --- Errors ---------------------------------------------------------------------------------------------------------

  std::string_view error_name(Result result) const noexcept;
  std::string_view error_text(Result result) const noexcept;
  static gpu::Meaning meaning(Result result) noexcept;
  /// The meaning of a result code when a launch, or the loading of a kernel, returned it.
  static gpu::Meaning meaning_at_launch(Result result) noexcept { return meaning(result); }
  static gpu::Meaning meaning_at_load(Result result) noexcept { return meaning(result); }
  // Not needed: `meaning` explains the refusal.
  static constexpr std::string_view refusal_of_memory(Result) noexcept { return {}; }
  static bool is_shut_down(Result result) noexcept { return result == CUDA_ERROR_DEINITIALIZED; }

  // --- Streams --------------------------------------------------------------------------------------------------------

  static StreamHandle legacy_stream() noexcept { return CU_STREAM_LEGACY; }
  static bool is_legacy_stream(StreamHandle stream) noexcept { return stream == nullptr || stream == CU_STREAM_LEGACY; }
  static StreamHandle per_thread_stream() noexcept { return CU_STREAM_PER_THREAD; }
  bool has_id(StreamHandle) const noexcept { return StreamGetId != nullptr; }
  Result priority_range(int& least, int& greatest) const { return GetStreamPriorityRange(&least, &greatest); }
  /// The priority of streams for which the program requests none.
  static constexpr int usual_priority() noexcept { return 0; }
  Result stream_id(StreamHandle stream, std::uint64_t& id) const;
  Result stream_flags(StreamHandle stream, unsigned& flags) const { return StreamGetFlags(stream, &flags); }
  Result stream_priority(StreamHandle stream, int& priority) const { return StreamGetPriority(stream, &priority); }
  /// The ordinal of a stream's device. -1 if unknown; `of_another_context` if the stream is on the device of `own`, but in
  /// another context.
  int device_of(StreamHandle stream, const DeviceContext& own) const noexcept;
  Result launch_host_function(StreamHandle stream, void (*function)(void*), void* data) const {
    return LaunchHostFunc(stream, function, data);
  }
  Result get_synchronization_policy(StreamHandle stream, SynchronizationPolicy& policy) const;
  Result set_synchronization_policy(StreamHandle stream, SynchronizationPolicy policy) const;
  Result get_access_policy_window(StreamHandle stream, AccessPolicyWindow& window) const;
  Result set_access_policy_window(StreamHandle stream, const AccessPolicyWindow& window) const;

  // --- Events ---------------------------------------------------------------------------------------------------------

  static unsigned event_flags(const EventOptions& options) noexcept {
    return (options.timing ? 0U : unsigned{CU_EVENT_DISABLE_TIMING}) |
           (options.blocking_sync ? unsigned{CU_EVENT_BLOCKING_SYNC} : 0U) |
           (options.interprocess ? unsigned{CU_EVENT_INTERPROCESS} : 0U);
  }
  Result query_event(EventHandle event) const { return EventQuery(event); }
  /// Waits for an event. Whether the thread blocks or spins is a flag of the event itself.
  Result synchronize_event(EventHandle event, bool) const { return EventSynchronize(event); }
  Result record_external(EventHandle event, StreamHandle stream) const {
    return EventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL);
  }
  Result wait_external(StreamHandle stream, EventHandle event) const {
    return StreamWaitEvent(stream, event, CU_EVENT_WAIT_EXTERNAL);
  }
  Result event_to_handle(EventHandle event, InterprocessHandle& handle) const;
  Result event_from_handle(const InterprocessHandle& handle, EventHandle& event) const;

  /// Whether one event can be recorded for all work of a device.
  bool records_whole_device() const noexcept { return CtxRecordEvent != nullptr; }
  Result record_whole_device(const DeviceContext& device, EventHandle event) const {
    return CtxRecordEvent(device.context, event);
  }
  /// Whether threads that wait for the device should block instead of spin (cudaDeviceScheduleBlockingSync). The program may
  /// change this flag at any time, so it is queried each time.
  bool sleeps_while_waiting(const DeviceContext& device) const noexcept {
    unsigned flags = 0;
    int active = 0;
    return DevicePrimaryCtxGetState(device.device, &flags, &active) == CUDA_SUCCESS &&
           (flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_BLOCKING_SYNC;
  }

  // --- Copies and fills -----------------------------------------------------------------------------------------------

  Result copy_async(void* to, const void* from, std::size_t bytes, StreamHandle stream) const {
    return MemcpyAsync(device_address(to), device_address(from), bytes, stream);
  }
  Result copy_2d_async(const PitchedCopy& copy, StreamHandle stream) const;
  Result copy_3d_async(const PitchedCopy& copy, StreamHandle stream) const;
  bool copies_batches() const noexcept { return MemcpyBatchAsync != nullptr; }
  Result copy_batch_async(std::span<const BatchCopy> copies, SourceAccess access, StreamHandle stream) const;
  Result copy_peer_async(void* to, const DeviceContext& to_device, const void* from, const DeviceContext& from_device,
                         std::size_t bytes, StreamHandle stream) const {
    return MemcpyPeerAsync(device_address(to), to_device.context, device_address(from), from_device.context, bytes, stream);
  }
  Result fill_async(void* to, std::uint32_t value, std::size_t element_size, std::size_t count, StreamHandle stream) const;
  Result fill_2d_async(void* to, std::size_t pitch, std::uint32_t value, std::size_t element_size, std::size_t width,
                       std::size_t height, StreamHandle stream) const;

  // --- Memory ---------------------------------------------------------------------------------------------------------

  Result allocate(void*& memory, std::size_t bytes, MemoryKind kind) const;
  Result deallocate(void* memory, MemoryKind kind) const;
  /// `pool`: null for the device's default pool.
  Result allocate_async(void*& memory, std::size_t bytes, PoolHandle pool, StreamHandle stream) const;
  Result free_async(void* memory, StreamHandle stream) const { return MemFreeAsync(device_address(memory), stream); }
  /// Sets `memory` to the address that an allocation node or a free node of a graph refers to.
  Result memory_of_allocation(NodeHandle node, void*& memory) const;
  Result memory_of_free(NodeHandle node, void*& memory) const;
  Result attach_async(StreamHandle stream, void* memory, AttachMode mode) const;
  Result prefetch_async(const void* memory, std::size_t bytes, bool to_host, const DeviceContext& device,
                        StreamHandle stream) const {
    return MemPrefetchAsync(device_address(memory), bytes, to_host ? CU_DEVICE_CPU : device.device, stream);
  }
  Result register_host(void* data, std::size_t bytes, void*& device_pointer) const;
  Result memory_to_handle(void* memory, InterprocessHandle& handle) const;
  Result memory_from_handle(const InterprocessHandle& handle, void*& memory) const;
  Result close_memory(void* memory) const { return IpcCloseMemHandle(device_address(memory)); }
  Result create_pool(const DeviceContext& device, std::size_t max_size, PoolHandle& pool) const;
  Result default_pool(const DeviceContext& device, PoolHandle& pool) const {
    return DeviceGetDefaultMemPool(&pool, device.device);
  }
  Result destroy_pool(PoolHandle pool) const { return MemPoolDestroy(pool); }
  Result set_pool_access(PoolHandle pool, const DeviceContext& reader, bool allowed) const;

  // --- Peers ----------------------------------------------------------------------------------------------------------

  Result can_access_peer(int ordinal, int peer, bool& can) const;
  /// Allows or forbids the current device to access memory of `peer`. `enable_peer` returns `peer_already_enabled` if the
  /// access is already allowed.
  Result enable_peer(const DeviceContext& peer) const;
  Result disable_peer(const DeviceContext& peer) const;

  // --- Memory operations ----------------------------------------------------------------------------------------------

  Result memory_operation(StreamHandle stream, const MemoryOperation& operation) const;
  static void fill_batch_operation(BatchOperation& to, const MemoryOperation& operation) noexcept;
  Result batch(StreamHandle stream, BatchOperation* operations, std::size_t count) const {
    return StreamBatchMemOp(stream, static_cast<unsigned>(count), operations, 0);
  }
  Result add_batch_node(const DeviceContext& device, NodeHandle& node, GraphHandle graph, const NodeHandle* dependencies,
                        std::size_t dependency_count, BatchOperation* operations, std::size_t count) const;

  // --- Capture --------------------------------------------------------------------------------------------------------

  static CaptureModeValue capture_mode(CaptureMode mode) noexcept {
    switch (mode) {
      case CaptureMode::global: return CU_STREAM_CAPTURE_MODE_GLOBAL;
      case CaptureMode::thread_local_: return CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
      case CaptureMode::relaxed: break;
    }
    return CU_STREAM_CAPTURE_MODE_RELAXED;
  }
  Result is_capturing(StreamHandle stream, bool& captures) const {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const Result result = StreamIsCapturing(stream, &status);
    captures = status != CU_STREAM_CAPTURE_STATUS_NONE;
    return result;
  }
  /// Any of the pointers for dependencies may be null. The arrays that they are set to belong to the driver.
  Result capture_info(StreamHandle stream, CaptureStatus& status, std::uint64_t& id, GraphHandle& graph,
                      const NodeHandle** dependencies, std::size_t* count) const;
  /// Queries the legacy default stream. If external code captures a blocking stream of the current device, this fails like
  /// any use of the legacy stream, but unlike other uses it does not invalidate the capture.
  Result ask_legacy_stream() const;
  /// Whether a kernel node has a priority other than the default.
  bool has_priority(NodeHandle node) const noexcept {
    CUkernelNodeAttrValue value{};
    return GraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value) == CUDA_SUCCESS &&
           value.priority != usual_priority();
  }
  /// Whether a captured copy may read `source` already when the graph is launched, before the nodes on which the copy
  /// depends have run.
  bool reads_early(const void* source) const noexcept {
    unsigned type = 0;
    return PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device_address(source)) == CUDA_ERROR_INVALID_VALUE;
  }
  Result set_capture_dependencies(StreamHandle stream, NodeHandle* nodes, std::size_t count) const {
    return StreamUpdateCaptureDependencies(stream, nodes, count, CU_STREAM_SET_CAPTURE_DEPENDENCIES);
  }
  Result begin_capture_to_graph(StreamHandle stream, GraphHandle graph, const NodeHandle* dependencies, std::size_t count,
                                CaptureModeValue mode) const {
    return StreamBeginCaptureToGraph(stream, graph, dependencies, nullptr, count, mode);
  }

  // --- Graphs ---------------------------------------------------------------------------------------------------------

  Result node_kind(NodeHandle node, NodeKind& kind) const;
  Result graph_edges(GraphHandle graph, NodeHandle* from, NodeHandle* to, std::size_t& count) const;
  /// Updates an executable from a graph. `difference`: set to the reason if the graph does not match the executable.
  Result update_exec(GraphExecHandle exec, GraphHandle graph, std::string& difference) const;

  /// Whether `change_node` can change one node of an executable without affecting running launches.
  static constexpr bool changes_nodes = true;
  /// `arguments`: pointers to the values of a kernel's arguments.
  Result change_node(const DeviceContext& device, GraphExecHandle exec, NodeHandle node, const NodeChange& change,
                     void** arguments) const;

  // --- Conditional nodes ----------------------------------------------------------------------------------------------

  Result create_condition(const DeviceContext& device, GraphHandle graph, ConditionalHandle& handle) const;
  /// `bodies`: set to the graphs of the node's bodies.
  Result add_conditional_node(const DeviceContext& device, GraphHandle graph, const NodeHandle* dependencies,
                              std::size_t count, ConditionalHandle handle, ConditionalKind kind, NodeHandle& node,
                              std::span<GraphHandle> bodies) const;
  Result load_conditional_kernel(ModuleHandle& module, FunctionHandle& function) const;

  // --- Modules --------------------------------------------------------------------------------------------------------

  Result load_module(ModuleHandle& module, const char* image, std::string& log) const;
  Result load_function(FunctionHandle function) const { return FuncLoad != nullptr ? FuncLoad(function) : CUDA_SUCCESS; }
  Result module_global(void*& address, std::size_t& bytes, ModuleHandle module, const char* name) const;
  std::optional<std::vector<std::size_t>> parameter_sizes(FunctionHandle function) const;
  /// The names of a module's kernels; empty if the driver cannot list them.
  std::vector<std::string> kernel_names(ModuleHandle module) const;
  /// Empty: only the driver itself can read its images.
  static std::vector<gpu::ImageKernel> image_kernels(std::span<const std::byte>, const Device&) { return {}; }
  Result launch_with_attributes(FunctionHandle function, const LaunchConfig& config, StreamHandle stream,
                                void* const* arguments) const;
  Result set_max_shared_memory(FunctionHandle function, std::uint32_t bytes) const {
    return FuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(bytes));
  }
  Result max_active_blocks(int& blocks, FunctionHandle function, int threads, std::size_t shared_memory_bytes) const {
    return OccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, shared_memory_bytes);
  }
  Result suggested_block_size(int& blocks, int& threads, FunctionHandle function, std::size_t shared_memory_bytes) const {
    return OccupancyMaxPotentialBlockSize(&blocks, &threads, function, nullptr, shared_memory_bytes, 0);
  }
  /// Compiles with NVRTC. Throws `compilation_failed` with the whole log as its message.
  gpu::CompiledProgram compile(const Device& device, std::string_view source, const CompileOptions& options) const;
  static int rank_image(std::string_view architecture, const DeviceProperties& properties) {
    return cuda::rank_image(architecture, properties.compute_capability_major * 10 + properties.compute_capability_minor);
  }

 private:
  Api() = default;
  int attribute(CUdevice_attribute attribute, CUdevice device) const;
  /// The run-time compiler and its version, or the reason why it is missing.
  std::string describe_compiler() const;
  void describe_runtime_compilation(const DeviceProperties& properties, FeatureTable& features) const;

  void try_without_current(const DeviceContext& device) const noexcept;

  mutable std::once_flag tried_without_current_;
  mutable std::atomic<bool> objects_need_current_{true};
  int driver_version_ = 0;
  int device_count_ = 0;
  std::string library_path_;
};

/// Compiles ahead of time with NVRTC. The plugin exports it as `weir_compile_image`.
void compile_image(ImageCompilation& request);

}  // namespace weir::cuda
