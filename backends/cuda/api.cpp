// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/api.hpp"

#include <bit>
#include <cstring>
#include <thread>

#include "backends/cuda/numbers.hpp"
#include "backends/gpu/capture.hpp"
#include "weir/plugin/support.hpp"

namespace weir::cuda {

// --- Contexts ---------------------------------------------------------------------------------------------------------

void Api::Current::push(const Api& api, const DeviceContext& device) noexcept {
  result_ = api.CtxPushCurrent(device.context);
  if (result_ == CUDA_SUCCESS) api_ = &api;
}

void Api::Current::fail(const Api& api, const DeviceContext& device) const {
  gpu::fail(api, result_, "cuCtxPushCurrent", "cuda:" + std::to_string(device.device));
}

void Api::Current::pop() noexcept {
  CUcontext popped = nullptr;
  gpu::log_failure(*api_, api_->CtxPopCurrent(&popped), "while the thread's context was restored", "cuda");
}

std::int64_t Api::device_number(int ordinal) const {
  CUdevice device = 0;
  const CUresult result = DeviceGet(&device, ordinal);
  if (result != CUDA_SUCCESS) gpu::fail(*this, result, "cuDeviceGet", "cuda:" + std::to_string(ordinal));
  return device;
}

Api::Result Api::open_device(int ordinal, DeviceContext& context) const {
  context.device = static_cast<CUdevice>(device_number(ordinal));
  const Result result = DevicePrimaryCtxRetain(&context.context, context.device);
  if (result == CUDA_SUCCESS && driver_version_ >= 13000)
    std::call_once(tried_without_current_, [&] { try_without_current(context); });
  return result;
}

/// Tests whether calls with a stream or an event work without a current context. Runs on a new thread, because such a thread
/// has no current context, and captures of other threads do not restrict it.
void Api::try_without_current(const DeviceContext& device) const noexcept {
  const auto attempt = [&] {
    const support::UnshownCalls unshown;
    const gpu::CaptureModeScope<Api> relaxed(*this);
    StreamHandle stream = nullptr;
    EventHandle event = nullptr;
    const auto made_there = [&] {
      const Current current(*this, device, std::nothrow);
      return current.result() == CUDA_SUCCESS && StreamCreateWithPriority(&stream, stream_non_blocking, 0) == CUDA_SUCCESS &&
             EventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS;
    };
    const bool works = made_there() && EventRecord(event, stream) == CUDA_SUCCESS &&
                       StreamWaitEvent(stream, event, 0) == CUDA_SUCCESS && StreamSynchronize(stream) == CUDA_SUCCESS;
    const Current current(*this, device, std::nothrow);
    if (event != nullptr) EventDestroy(event);
    if (stream != nullptr) StreamDestroy(stream);
    objects_need_current_.store(!works, std::memory_order_relaxed);
  };
  try {
    const support::SignalsBlocked no_signals;
    std::thread(attempt).join();
  } catch (const std::exception&) {
    // Without memory for a thread nothing is tested: contexts are then made current even where that is not needed.
  }
}

// --- Streams ----------------------------------------------------------------------------------------------------------

Api::Result Api::stream_id(StreamHandle stream, std::uint64_t& id) const {
  unsigned long long value = 0;
  const CUresult result = StreamGetId(stream, &value);
  id = value;
  return result;
}

int Api::device_of(StreamHandle stream, const DeviceContext& own) const noexcept {
  CUcontext context = nullptr;
  // If the stream captures, the query below would fail and invalidate the capture.
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (StreamGetCaptureInfo(stream, &status, nullptr, nullptr, nullptr, nullptr) != CUDA_SUCCESS ||
      status != CU_STREAM_CAPTURE_STATUS_NONE || StreamGetCtx(stream, &context) != CUDA_SUCCESS) {
    return -1;
  }
  if (context == own.context) [[likely]] return own.device;
  // A stream of a green context belongs to the primary context of its device, and supports everything that other streams
  // support.
  GreenContext* green = nullptr;
  const bool is_green =
      StreamGetGreenCtx != nullptr && StreamGetGreenCtx(stream, &green) == CUDA_SUCCESS && green != nullptr;
  CUdevice device = -1;
  if (CtxPushCurrent(context) != CUDA_SUCCESS) return -1;
  const CUresult result = CtxGetDevice(&device);
  CtxPopCurrent(&context);
  if (result != CUDA_SUCCESS) return -1;
  return device == own.device && !is_green ? of_another_context : device;
}

namespace {

/// Reads the value as a number, because the driver may write values that the enumeration lacks: -1 if no policy was set.
template <class E>
int number(const E& written) {
  int value = 0;
  static_assert(sizeof(E) == sizeof(value));
  std::memcpy(&value, &written, sizeof(value));
  return value;
}

SynchronizationPolicy from_native(const CUsynchronizationPolicy& policy) {
  switch (number(policy)) {
    case CU_SYNC_POLICY_SPIN: return SynchronizationPolicy::spin;
    case CU_SYNC_POLICY_YIELD: return SynchronizationPolicy::yield;
    case CU_SYNC_POLICY_BLOCKING_SYNC: return SynchronizationPolicy::block;
    default: return SynchronizationPolicy::automatic;
  }
}

CUsynchronizationPolicy to_native(SynchronizationPolicy policy) {
  switch (policy) {
    case SynchronizationPolicy::spin: return CU_SYNC_POLICY_SPIN;
    case SynchronizationPolicy::yield: return CU_SYNC_POLICY_YIELD;
    case SynchronizationPolicy::block: return CU_SYNC_POLICY_BLOCKING_SYNC;
    case SynchronizationPolicy::automatic: break;
  }
  return CU_SYNC_POLICY_AUTO;
}

AccessProperty from_native(const CUaccessProperty& property) {
  switch (number(property)) {
    case CU_ACCESS_PROPERTY_STREAMING: return AccessProperty::streaming;
    case CU_ACCESS_PROPERTY_PERSISTING: return AccessProperty::persisting;
    default: return AccessProperty::normal;
  }
}

CUaccessProperty to_native(AccessProperty property) {
  switch (property) {
    case AccessProperty::streaming: return CU_ACCESS_PROPERTY_STREAMING;
    case AccessProperty::persisting: return CU_ACCESS_PROPERTY_PERSISTING;
    case AccessProperty::normal: break;
  }
  return CU_ACCESS_PROPERTY_NORMAL;
}

}  // namespace

Api::Result Api::get_synchronization_policy(StreamHandle stream, SynchronizationPolicy& policy) const {
  CUstreamAttrValue value{};
  const CUresult result = StreamGetAttribute(stream, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value);
  policy = from_native(value.syncPolicy);
  return result;
}

Api::Result Api::set_synchronization_policy(StreamHandle stream, SynchronizationPolicy policy) const {
  CUstreamAttrValue value{};
  value.syncPolicy = to_native(policy);
  return StreamSetAttribute(stream, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value);
}

Api::Result Api::get_access_policy_window(StreamHandle stream, AccessPolicyWindow& window) const {
  CUstreamAttrValue value{};
  const CUresult result = StreamGetAttribute(stream, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value);
  const CUaccessPolicyWindow& native = value.accessPolicyWindow;
  window = {.base = native.base_ptr,
            .size_bytes = native.num_bytes,
            .hit_ratio = native.hitRatio,
            .hit = from_native(native.hitProp),
            .miss = from_native(native.missProp)};
  return result;
}

Api::Result Api::set_access_policy_window(StreamHandle stream, const AccessPolicyWindow& window) const {
  CUstreamAttrValue value{};
  value.accessPolicyWindow.base_ptr = window.base;
  value.accessPolicyWindow.num_bytes = window.size_bytes;
  value.accessPolicyWindow.hitRatio = window.hit_ratio;
  value.accessPolicyWindow.hitProp = to_native(window.hit);
  value.accessPolicyWindow.missProp = to_native(window.miss);
  return StreamSetAttribute(stream, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value);
}

// --- Between processes ------------------------------------------------------------------------------------------------

Api::Result Api::event_to_handle(EventHandle event, InterprocessHandle& handle) const {
  CUipcEventHandle native;
  const CUresult result = IpcGetEventHandle(&native, event);
  handle = std::bit_cast<InterprocessHandle>(native);
  return result;
}

Api::Result Api::event_from_handle(const InterprocessHandle& handle, EventHandle& event) const {
  return IpcOpenEventHandle(&event, std::bit_cast<CUipcEventHandle>(handle));
}

Api::Result Api::memory_to_handle(void* memory, InterprocessHandle& handle) const {
  CUipcMemHandle native;
  const CUresult result = IpcGetMemHandle(&native, device_address(memory));
  handle = std::bit_cast<InterprocessHandle>(native);
  return result;
}

Api::Result Api::memory_from_handle(const InterprocessHandle& handle, void*& memory) const {
  CUdeviceptr address = 0;
  const CUresult result =
      IpcOpenMemHandle(&address, std::bit_cast<CUipcMemHandle>(handle), CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  memory = reinterpret_cast<void*>(address);
  return result;
}

// --- Copies and fills -------------------------------------------------------------------------------------------------

Api::Result Api::copy_2d_async(const PitchedCopy& copy, StreamHandle stream) const {
  CUDA_MEMCPY2D native{};
  native.srcMemoryType = native.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  native.srcDevice = device_address(copy.source.data);
  native.srcPitch = copy.source.pitch;
  native.dstDevice = device_address(copy.destination.data);
  native.dstPitch = copy.destination.pitch;
  native.WidthInBytes = copy.width;
  native.Height = copy.height;
  return Memcpy2DAsync(&native, stream);
}

Api::Result Api::copy_3d_async(const PitchedCopy& copy, StreamHandle stream) const {
  CUDA_MEMCPY3D native{};
  native.srcMemoryType = native.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  native.srcDevice = device_address(copy.source.data);
  native.srcPitch = copy.source.pitch;
  native.srcHeight = copy.source.rows;
  native.dstDevice = device_address(copy.destination.data);
  native.dstPitch = copy.destination.pitch;
  native.dstHeight = copy.destination.rows;
  native.WidthInBytes = copy.width;
  native.Height = copy.height;
  native.Depth = copy.depth;
  return Memcpy3DAsync(&native, stream);
}

Api::Result Api::copy_batch_async(std::span<const BatchCopy> copies, SourceAccess access, StreamHandle stream) const {
  std::vector<CUdeviceptr> addresses(2 * copies.size());
  std::vector<std::size_t> sizes(copies.size());
  CUdeviceptr* const to = addresses.data();
  CUdeviceptr* const from = to + copies.size();
  std::size_t count = 0;
  for (const BatchCopy& copy : copies) {
    if (copy.bytes == 0) continue;
    to[count] = device_address(copy.destination);
    from[count] = device_address(copy.source);
    sizes[count++] = copy.bytes;
  }
  if (count == 0) return CUDA_SUCCESS;
  CopyAttributes attributes{.source_access = access == SourceAccess::any_time ? 3 : 1};  // values of CUmemcpySrcAccessOrder
  std::size_t first = 0, failed = 0;
  return MemcpyBatchAsync(to, from, sizes.data(), count, &attributes, &first, 1, &failed, stream);
}

Api::Result Api::fill_async(void* to, std::uint32_t value, std::size_t element_size, std::size_t count,
                            StreamHandle stream) const {
  switch (element_size) {
    case 1: return MemsetD8Async(device_address(to), static_cast<unsigned char>(value), count, stream);
    case 2: return MemsetD16Async(device_address(to), static_cast<unsigned short>(value), count, stream);
    default: return MemsetD32Async(device_address(to), value, count, stream);
  }
}

Api::Result Api::fill_2d_async(void* to, std::size_t pitch, std::uint32_t value, std::size_t element_size, std::size_t width,
                               std::size_t height, StreamHandle stream) const {
  switch (element_size) {
    case 1: return MemsetD2D8Async(device_address(to), pitch, static_cast<unsigned char>(value), width, height, stream);
    case 2: return MemsetD2D16Async(device_address(to), pitch, static_cast<unsigned short>(value), width, height, stream);
    default: return MemsetD2D32Async(device_address(to), pitch, value, width, height, stream);
  }
}

// --- Memory -----------------------------------------------------------------------------------------------------------

Api::Result Api::allocate(void*& memory, std::size_t bytes, MemoryKind kind) const {
  CUdeviceptr address = 0;
  CUresult result = CUDA_SUCCESS;
  switch (kind) {
    case MemoryKind::device: result = MemAlloc(&address, bytes); break;
    case MemoryKind::managed: result = MemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL); break;
    case MemoryKind::pinned: return MemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  }
  memory = reinterpret_cast<void*>(address);
  return result;
}

Api::Result Api::deallocate(void* memory, MemoryKind kind) const {
  return kind == MemoryKind::pinned ? MemFreeHost(memory) : MemFree(device_address(memory));
}

Api::Result Api::allocate_async(void*& memory, std::size_t bytes, PoolHandle pool, StreamHandle stream) const {
  CUdeviceptr address = 0;
  const CUresult result = pool != nullptr ? MemAllocFromPoolAsync(&address, bytes, pool, stream)
                                          : MemAllocAsync(&address, bytes, stream);
  memory = reinterpret_cast<void*>(address);
  return result;
}

Api::Result Api::memory_of_allocation(NodeHandle node, void*& memory) const {
  CUDA_MEM_ALLOC_NODE_PARAMS parameters{};
  const CUresult result = GraphMemAllocNodeGetParams(node, &parameters);
  memory = reinterpret_cast<void*>(parameters.dptr);
  return result;
}

Api::Result Api::memory_of_free(NodeHandle node, void*& memory) const {
  CUdeviceptr address = 0;
  const CUresult result = GraphMemFreeNodeGetParams(node, &address);
  memory = reinterpret_cast<void*>(address);
  return result;
}

Api::Result Api::attach_async(StreamHandle stream, void* memory, AttachMode mode) const {
  unsigned flags = CU_MEM_ATTACH_GLOBAL;
  if (mode == AttachMode::host) flags = CU_MEM_ATTACH_HOST;
  if (mode == AttachMode::single) flags = CU_MEM_ATTACH_SINGLE;
  return StreamAttachMemAsync(stream, device_address(memory), 0, flags);
}

Api::Result Api::register_host(void* data, std::size_t bytes, void*& device_pointer) const {
  CUresult result = MemHostRegister(data, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  if (result != CUDA_SUCCESS) return result;
  CUdeviceptr address = 0;
  result = MemHostGetDevicePointer(&address, data, 0);
  if (result != CUDA_SUCCESS) MemHostUnregister(data);
  device_pointer = reinterpret_cast<void*>(address);
  return result;
}

Api::Result Api::create_pool(const DeviceContext& device, std::size_t max_size, PoolHandle& pool) const {
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device.device;
  // `maxSize` was added in 12.2. In older headers its place is the start of the reserved bytes, where 0 means no limit.
  constexpr std::size_t place = offsetof(CUmemPoolProps, win32SecurityAttributes) + sizeof(void*);
  std::memcpy(reinterpret_cast<std::byte*>(&properties) + place, &max_size, sizeof(max_size));
  return MemPoolCreate(&pool, &properties);
}

Api::Result Api::set_pool_access(PoolHandle pool, const DeviceContext& reader, bool allowed) const {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = reader.device;
  access.flags = allowed ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return MemPoolSetAccess(pool, &access, 1);
}

// --- Peers ------------------------------------------------------------------------------------------------------------

Api::Result Api::can_access_peer(int ordinal, int peer, bool& can) const {
  int value = 0;
  const CUresult result = DeviceCanAccessPeer(&value, static_cast<CUdevice>(device_number(ordinal)),
                                              static_cast<CUdevice>(device_number(peer)));
  can = value != 0;
  return result;
}

Api::Result Api::enable_peer(const DeviceContext& peer) const { return CtxEnablePeerAccess(peer.context, 0); }

Api::Result Api::disable_peer(const DeviceContext& peer) const {
  const CUresult result = CtxDisablePeerAccess(peer.context);
  return result == CUDA_ERROR_PEER_ACCESS_NOT_ENABLED ? CUDA_SUCCESS : result;
}

// --- Memory operations ------------------------------------------------------------------------------------------------

namespace {

unsigned wait_flags(const MemoryOperation& operation) noexcept {
  unsigned flags = CU_STREAM_WAIT_VALUE_GEQ;
  switch (operation.condition) {
    case WaitCondition::geq: break;
    case WaitCondition::eq: flags = CU_STREAM_WAIT_VALUE_EQ; break;
    case WaitCondition::bit_and: flags = CU_STREAM_WAIT_VALUE_AND; break;
    case WaitCondition::bit_nor: flags = CU_STREAM_WAIT_VALUE_NOR; break;
  }
  return operation.remote_writes == RemoteWrites::flush ? flags | CU_STREAM_WAIT_VALUE_FLUSH : flags;
}

}  // namespace

Api::Result Api::memory_operation(StreamHandle stream, const MemoryOperation& operation) const {
  const CUdeviceptr address = device_address(operation.address);
  const auto narrow = static_cast<std::uint32_t>(operation.value);
  switch (operation.kind) {
    case MemoryOperation::Kind::write_32: return StreamWriteValue32(stream, address, narrow, CU_STREAM_WRITE_VALUE_DEFAULT);
    case MemoryOperation::Kind::write_64:
      return StreamWriteValue64(stream, address, operation.value, CU_STREAM_WRITE_VALUE_DEFAULT);
    case MemoryOperation::Kind::wait_32: return StreamWaitValue32(stream, address, narrow, wait_flags(operation));
    case MemoryOperation::Kind::wait_64: return StreamWaitValue64(stream, address, operation.value, wait_flags(operation));
    case MemoryOperation::Kind::flush_remote_writes: break;
  }
  BatchOperation single;
  fill_batch_operation(single, operation);
  return batch(stream, &single, 1);
}

void Api::fill_batch_operation(BatchOperation& to, const MemoryOperation& operation) noexcept {
  // Sets only the fields that the driver reads, because clearing the others takes longer than it is worth.
  const CUdeviceptr address = device_address(operation.address);
  if (operation.kind == MemoryOperation::Kind::flush_remote_writes) {
    to.operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
    to.flushRemoteWrites.flags = 0;
    return;
  }
  if (operation.is_wait()) {
    to.operation = operation.is_64() ? CU_STREAM_MEM_OP_WAIT_VALUE_64 : CU_STREAM_MEM_OP_WAIT_VALUE_32;
    to.waitValue.address = address;
    to.waitValue.value64 = operation.value;
    to.waitValue.flags = wait_flags(operation);
  } else {
    to.operation = operation.is_64() ? CU_STREAM_MEM_OP_WRITE_VALUE_64 : CU_STREAM_MEM_OP_WRITE_VALUE_32;
    to.writeValue.address = address;
    to.writeValue.value64 = operation.value;
    to.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  }
}

Api::Result Api::add_batch_node(const DeviceContext& device, NodeHandle& node, GraphHandle graph,
                                const NodeHandle* dependencies, std::size_t dependency_count, BatchOperation* operations,
                                std::size_t count) const {
  CUDA_BATCH_MEM_OP_NODE_PARAMS parameters{};
  parameters.ctx = device.context;
  parameters.count = static_cast<unsigned>(count);
  parameters.paramArray = operations;
  return GraphAddBatchMemOpNode(&node, graph, dependencies, dependency_count, &parameters);
}

// --- Capture ----------------------------------------------------------------------------------------------------------

Api::Result Api::capture_info(StreamHandle stream, CaptureStatus& status, std::uint64_t& id, GraphHandle& graph,
                              const NodeHandle** dependencies, std::size_t* count) const {
  CUstreamCaptureStatus native = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t number = 0;
  // Queries edge data as well: without an array for it, the driver fails if external code has added an edge that has some.
  const EdgeData* edges = nullptr;
  const CUresult result = StreamGetCaptureInfoAndEdges != nullptr
                              ? StreamGetCaptureInfoAndEdges(stream, &native, &number, &graph, dependencies,
                                                             dependencies != nullptr ? &edges : nullptr, count)
                              : StreamGetCaptureInfo(stream, &native, &number, &graph, dependencies, count);
  status = native == CU_STREAM_CAPTURE_STATUS_ACTIVE        ? CaptureStatus::active
           : native == CU_STREAM_CAPTURE_STATUS_INVALIDATED ? CaptureStatus::invalidated
                                                            : CaptureStatus::none;
  id = number;
  return result;
}

Api::Result Api::ask_legacy_stream() const {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return StreamGetCaptureInfo(legacy_stream(), &status, nullptr, nullptr, nullptr, nullptr);
}

// --- Graphs -----------------------------------------------------------------------------------------------------------

Api::Result Api::node_kind(NodeHandle node, NodeKind& kind) const {
  CUgraphNodeType type{};
  const CUresult result = GraphNodeGetType(node, &type);
  switch (static_cast<int>(type)) {
    case CU_GRAPH_NODE_TYPE_KERNEL: kind = NodeKind::kernel; break;
    case CU_GRAPH_NODE_TYPE_MEMCPY: kind = NodeKind::copy; break;
    case CU_GRAPH_NODE_TYPE_MEMSET: kind = NodeKind::fill; break;
    case CU_GRAPH_NODE_TYPE_HOST: kind = NodeKind::host_function; break;
    case CU_GRAPH_NODE_TYPE_GRAPH: kind = NodeKind::child_graph; break;
    case CU_GRAPH_NODE_TYPE_EMPTY: kind = NodeKind::empty; break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: kind = NodeKind::event_wait; break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: kind = NodeKind::event_record; break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: kind = NodeKind::allocate; break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE: kind = NodeKind::free; break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: kind = NodeKind::memory_operations; break;
    case type_conditional: kind = NodeKind::conditional; break;
    default: kind = NodeKind::other; break;
  }
  return result;
}

Api::Result Api::graph_edges(GraphHandle graph, NodeHandle* from, NodeHandle* to, std::size_t& count) const {
  if (GraphGetEdgesAndData == nullptr) return GraphGetEdges(graph, from, to, &count);
  // Passes an array for edge data, because without it the driver fails if an edge has some.
  std::vector<EdgeData> data(from != nullptr ? count : 0);
  return GraphGetEdgesAndData(graph, from, to, from != nullptr ? data.data() : nullptr, &count);
}

Api::Result Api::update_exec(GraphExecHandle exec, GraphHandle graph, std::string& difference) const {
  CUgraphExecUpdateResultInfo info{};
  const CUresult result = GraphExecUpdate(exec, graph, &info);
  if (result == CUDA_SUCCESS) return result;
  if (info.result == CU_GRAPH_EXEC_UPDATE_SUCCESS) {
    // The driver refuses such a graph before it compares the graphs, so it reports no difference.
    if (result == CUDA_ERROR_NOT_SUPPORTED)
      difference = "the driver cannot update such a graph, for example one that allocates memory";
    return result;
  }
  switch (info.result) {
    case CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED: difference = "the graphs differ in their nodes or edges"; break;
    case CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED: difference = "a node has another kind"; break;
    case CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED:
      difference = "a node's kernel changed in a way that cannot be updated";
      break;
    case CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED:
      difference = "a node's parameters changed in a way that cannot be updated";
      break;
    case CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED: difference = "a node has a kind that cannot be updated"; break;
    case CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE:
      difference = "a node's kernel belongs to another context or device";
      break;
    case CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED:
      difference = "a node's attributes changed in a way that cannot be updated";
      break;
    default: difference = "the driver cannot update the executable (result " + std::to_string(info.result) + ")"; break;
  }
  return result;
}

Api::Result Api::change_node(const DeviceContext& device, GraphExecHandle exec, NodeHandle node, const NodeChange& change,
                             void** arguments) const {
  switch (change.kind) {
    case NodeChange::Kind::kernel: {
      const LaunchConfig& config = change.config;
      CUDA_KERNEL_NODE_PARAMS_v2 parameters{};
      parameters.func = static_cast<CUfunction>(change.kernel->native_handle());
      parameters.gridDimX = config.grid.x;
      parameters.gridDimY = config.grid.y;
      parameters.gridDimZ = config.grid.z;
      parameters.blockDimX = config.block.x;
      parameters.blockDimY = config.block.y;
      parameters.blockDimZ = config.block.z;
      parameters.sharedMemBytes = config.shared_memory_bytes;
      parameters.kernelParams = arguments;
      return GraphExecKernelNodeSetParams(exec, node, &parameters);
    }
    case NodeChange::Kind::copy: {
      CUDA_MEMCPY3D parameters{};
      parameters.srcMemoryType = parameters.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
      parameters.srcDevice = device_address(change.source);
      parameters.dstDevice = device_address(change.destination);
      parameters.WidthInBytes = change.count;
      parameters.Height = parameters.Depth = 1;
      return GraphExecMemcpyNodeSetParams(exec, node, &parameters, device.context);
    }
    case NodeChange::Kind::fill: {
      CUDA_MEMSET_NODE_PARAMS parameters{};
      parameters.dst = device_address(change.destination);
      parameters.elementSize = static_cast<unsigned>(change.element_size);
      parameters.value = change.value;
      parameters.width = change.count;
      parameters.height = 1;
      return GraphExecMemsetNodeSetParams(exec, node, &parameters, device.context);
    }
    case NodeChange::Kind::enable: return GraphNodeSetEnabled(exec, node, 1);
    case NodeChange::Kind::disable: return GraphNodeSetEnabled(exec, node, 0);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// --- Modules ----------------------------------------------------------------------------------------------------------

Api::Result Api::load_module(ModuleHandle& module, const char* image, std::string& log) const {
  char text[8192] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {text, reinterpret_cast<void*>(sizeof(text))};
  const CUresult result = ModuleLoadDataEx(&module, image, 2, options, values);
  if (result != CUDA_SUCCESS) log.assign(text, ::strnlen(text, sizeof(text)));
  return result;
}

Api::Result Api::module_global(void*& address, std::size_t& bytes, ModuleHandle module, const char* name) const {
  CUdeviceptr native = 0;
  const CUresult result = ModuleGetGlobal(&native, &bytes, module, name);
  address = reinterpret_cast<void*>(native);
  return result;
}

Api::Result Api::launch_with_attributes(FunctionHandle function, const LaunchConfig& config, StreamHandle stream,
                                        void* const* arguments) const {
  CUlaunchAttribute attributes[4];
  CUlaunchConfig native{config.grid.x,  config.grid.y,  config.grid.z, config.block.x, config.block.y,
                        config.block.z, config.shared_memory_bytes, stream, attributes, 0};
  const auto add = [&](CUlaunchAttributeID id) -> CUlaunchAttributeValue& {
    CUlaunchAttribute& attribute = attributes[native.numAttrs++];
    attribute.id = id;
    return attribute.value;
  };
  if (config.cooperative) add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative = 1;
  if (config.priority) add(CU_LAUNCH_ATTRIBUTE_PRIORITY).priority = *config.priority;
  if (config.programmatic_stream_serialization) {
    add(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION).programmaticStreamSerializationAllowed = 1;
  }
  if (config.cluster != Dim3()) {
    auto& cluster = add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim;
    cluster.x = config.cluster.x;
    cluster.y = config.cluster.y;
    cluster.z = config.cluster.z;
  }
  return LaunchKernelEx(&native, function, const_cast<void**>(arguments), nullptr);
}

std::optional<std::vector<std::size_t>> Api::parameter_sizes(FunctionHandle function) const {
  if (FuncGetParamInfo == nullptr) return std::nullopt;
  std::vector<std::size_t> sizes;
  std::size_t offset = 0, size = 0;
  // Past the last parameter the driver returns `CUDA_ERROR_INVALID_VALUE`.
  for (;;) {
    const CUresult result = FuncGetParamInfo(function, sizes.size(), &offset, &size);
    if (result == CUDA_ERROR_INVALID_VALUE) return sizes;
    if (result != CUDA_SUCCESS) return std::nullopt;
    sizes.push_back(size);
  }
}

std::vector<std::string> Api::kernel_names(ModuleHandle module) const {
  unsigned count = 0;
  if (ModuleGetFunctionCount == nullptr || ModuleEnumerateFunctions == nullptr || FuncGetName == nullptr ||
      ModuleGetFunctionCount(&count, module) != CUDA_SUCCESS) {
    return {};
  }
  std::vector<CUfunction> functions(count);
  if (count == 0 || ModuleEnumerateFunctions(functions.data(), count, module) != CUDA_SUCCESS) return {};
  std::vector<std::string> names;
  for (const CUfunction function : functions) {
    const char* name = nullptr;
    if (FuncGetName(&name, function) == CUDA_SUCCESS && name != nullptr) names.emplace_back(name);
  }
  return names;
}

}  // namespace weir::cuda
