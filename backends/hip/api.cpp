// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/api.hpp"

#include <bit>
#include <cstring>

#include "backends/hip/api_private.hpp"

namespace weir::hip {

// --- Devices ----------------------------------------------------------------------------------------------------------

void Api::Current::set(const Api& api, int ordinal) noexcept {
  result_ = api.SetDevice(ordinal);
  if (result_ == success) api_ = &api;
}

void Api::Current::fail(const Api& api, int ordinal) const {
  gpu::fail(api, result_, "hipSetDevice", "hip:" + std::to_string(ordinal));
}

void Api::Current::restore() noexcept {
  gpu::log_failure(*api_, api_->SetDevice(before_), "while the thread's device was restored", "hip");
}

// --- Streams ----------------------------------------------------------------------------------------------------------

Api::Result Api::stream_id(StreamHandle stream, std::uint64_t& id) const {
  unsigned long long value = 0;
  const Result result = StreamGetId(stream, &value);
  id = value;
  return result;
}

Api::Result Api::stream_flags(StreamHandle stream, unsigned& flags) const {
  flags = stream_blocking;
  return is_own_stream(stream) ? StreamGetFlags(stream, &flags) : success;
}

Api::Result Api::stream_priority(StreamHandle stream, int& priority) const {
  priority = 0;
  return is_own_stream(stream) ? StreamGetPriority(stream, &priority) : success;
}

int Api::device_of(StreamHandle stream, const DeviceContext&) const noexcept {
  if (!is_own_stream(stream)) return -1;
  hipDevice_t device = -1;
  return StreamGetDevice(stream, &device) == success ? device : -1;
}

Api::Result Api::StreamSynchronize(StreamHandle stream) const {
  if (has(Workaround::poll_streams) && is_own_stream(stream)) {
    const Result result = wait_by_polling([&] { return StreamQuery(stream); }, poll_policy_of(stream));
    if (result != success) return result;
  }
  // The stream is idle, so this call returns at once. Unlike a query, it also makes the runtime return freed pool memory to
  // the device.
  return Symbols::StreamSynchronize(stream);
}

PollPolicy Api::poll_policy_of(StreamHandle stream) const {
  SynchronizationPolicy policy = SynchronizationPolicy::automatic;
  if (StreamGetAttribute && get_synchronization_policy(stream, policy) != success) policy = SynchronizationPolicy::automatic;
  switch (policy) {
    case SynchronizationPolicy::spin: return PollPolicy::spinning;
    case SynchronizationPolicy::yield: return PollPolicy::yielding;
    case SynchronizationPolicy::block: return PollPolicy::sleeping;
    case SynchronizationPolicy::automatic: break;
  }
  return PollPolicy::automatic;
}

Api::Result Api::synchronize_event(EventHandle event, bool blocking_sync) const {
  if (has(Workaround::poll_events)) {
    const Result result =
        wait_by_polling([&] { return query_event(event); }, blocking_sync ? PollPolicy::sleeping : PollPolicy::automatic);
    if (result != success) return result;
    // Makes the runtime return freed pool memory to the device, as above. It waits for an event that was never recorded,
    // because an open capture could forbid a wait for `event` itself.
    EventHandle unrecorded = nullptr;
    return helpers_->unrecorded_event(*this, unrecorded) == success ? EventSynchronize(unrecorded) : success;
  }
  return EventSynchronize(event);
}

Api::Result Api::query_event(EventHandle event) const {
  if (!has(Workaround::ask_events_by_time)) return EventQuery(event);
  // Queries the time between the event and itself, because the runtime does not check that call for captures.
  float none = 0;
  const Result result = EventElapsedTime(&none, event, event);
  // An invalid handle means that the event has no timing or was never recorded. Then query it: an event that was never
  // recorded is on no stream that could capture.
  return result == hipErrorInvalidHandle ? EventQuery(event) : result;
}

namespace {

SynchronizationPolicy from_native(int policy) {
  switch (policy) {
    case policy_spin: return SynchronizationPolicy::spin;
    case policy_yield: return SynchronizationPolicy::yield;
    case policy_blocking: return SynchronizationPolicy::block;
    default: return SynchronizationPolicy::automatic;
  }
}

int to_native(SynchronizationPolicy policy) {
  switch (policy) {
    case SynchronizationPolicy::spin: return policy_spin;
    case SynchronizationPolicy::yield: return policy_yield;
    case SynchronizationPolicy::block: return policy_blocking;
    case SynchronizationPolicy::automatic: break;
  }
  return policy_automatic;
}

}  // namespace

Api::Result Api::get_synchronization_policy(StreamHandle stream, SynchronizationPolicy& policy) const {
  AttributeValue value{};
  const Result result = StreamGetAttribute(stream, attribute_synchronization_policy, &value);
  policy = from_native(value.synchronization_policy);
  return result;
}

Api::Result Api::set_synchronization_policy(StreamHandle stream, SynchronizationPolicy policy) const {
  AttributeValue value{};
  value.synchronization_policy = to_native(policy);
  return StreamSetAttribute(stream, attribute_synchronization_policy, &value);
}

// Copies one attribute only, because hipStreamCopyAttributes (7.2) copies no other.
Api::Result Api::StreamCopyAttributes(StreamHandle to, StreamHandle from) const {
  SynchronizationPolicy policy{};
  const Result result = get_synchronization_policy(from, policy);
  return result != success ? result : set_synchronization_policy(to, policy);
}

// --- Between processes ------------------------------------------------------------------------------------------------

Api::Result Api::event_to_handle(EventHandle event, InterprocessHandle& handle) const {
  hipIpcEventHandle_t native;
  const Result result = IpcGetEventHandle(&native, event);
  handle = std::bit_cast<InterprocessHandle>(native);
  return result;
}

Api::Result Api::event_from_handle(const InterprocessHandle& handle, EventHandle& event) const {
  return IpcOpenEventHandle(&event, std::bit_cast<hipIpcEventHandle_t>(handle));
}

Api::Result Api::memory_to_handle(void* memory, InterprocessHandle& handle) const {
  hipIpcMemHandle_t native;
  const Result result = IpcGetMemHandle(&native, memory);
  handle = std::bit_cast<InterprocessHandle>(native);
  return result;
}

Api::Result Api::memory_from_handle(const InterprocessHandle& handle, void*& memory) const {
  return IpcOpenMemHandle(&memory, std::bit_cast<hipIpcMemHandle_t>(handle), ipc_lazy_enable_peer_access);
}

// --- Fills ------------------------------------------------------------------------------------------------------------

Api::Result Api::copy_3d_async(const PitchedCopy& copy, StreamHandle stream) const {
  hipMemcpy3DParms native{};
  native.srcPtr = {copy.source.data, copy.source.pitch, copy.source.pitch, copy.source.rows};
  native.dstPtr = {copy.destination.data, copy.destination.pitch, copy.destination.pitch, copy.destination.rows};
  native.extent = {copy.width, copy.height, copy.depth};
  native.kind = hipMemcpyDefault;
  return Memcpy3DAsync(&native, stream);
}

Api::Result Api::fill_async(void* to, std::uint32_t value, std::size_t element_size, std::size_t count,
                            StreamHandle stream) const {
  switch (element_size) {
    case 1: return MemsetD8Async(to, static_cast<unsigned char>(value), count, stream);
    case 2: return MemsetD16Async(to, static_cast<unsigned short>(value), count, stream);
    default: return MemsetD32Async(to, static_cast<int>(value), count, stream);
  }
}

Api::Result Api::fill_2d_async(void* to, std::size_t pitch, std::uint32_t value, std::size_t element_size, std::size_t width,
                               std::size_t height, StreamHandle stream) const {
  // hipMemsetD2D16Async and hipMemsetD2D32Async (new in 7.1) treat the row's number of elements as a number of bytes, so
  // they fill only a part of each row; in a capture they write single bytes. (Found in the source, hip_memory.cpp of 7.15,
  // and confirmed on an emulated GPU.)
  const std::uint32_t byte = value & 0xFFU, low_bits = 0xFFFFFFFFU >> (32 - 8 * element_size);
  if ((value & low_bits) == (byte * 0x01010101U & low_bits))
    return Memset2DAsync(to, pitch, static_cast<int>(byte), width * element_size, height, stream);
  // Makes one fill for each row. The caller holds the submission lock, which keeps these calls together.
  if (pitch == width * element_size) return fill_async(to, value, element_size, width * height, stream);
  for (std::size_t row = 0; row < height; ++row) {
    const Result result = fill_async(static_cast<std::byte*>(to) + row * pitch, value, element_size, width, stream);
    if (result != success) return result;
  }
  return success;
}

// --- Memory -----------------------------------------------------------------------------------------------------------

Api::Result Api::allocate(void*& memory, std::size_t bytes, MemoryKind kind) const {
  switch (kind) {
    case MemoryKind::device: return Malloc(&memory, bytes);
    case MemoryKind::managed: return MallocManaged(&memory, bytes, hipMemAttachGlobal);
    case MemoryKind::pinned: break;
  }
  return HostMalloc(&memory, bytes, hipHostMallocPortable | hipHostMallocMapped);
}

Api::Result Api::deallocate(void* memory, MemoryKind kind) const {
  return kind == MemoryKind::pinned ? HostFree(memory) : Free(memory);
}

template <class Handle, class Make>
Api::Result Api::Helpers::get(const Api& api, Handle OfDevice::*which, Handle& handle, Make&& make) {
  int device = 0;
  Result result = api.GetDevice(&device);
  if (result != success) return result;
  const std::lock_guard lock(mutex_);
  Handle& mine = of_devices_[static_cast<std::size_t>(device)].*which;
  if (mine == nullptr) result = make(&mine);
  handle = mine;
  return result;
}

Api::Result Api::Helpers::null_stream(const Api& api, hipStream_t& stream) {
  return get(api, &OfDevice::null_stream, stream,
             [&](hipStream_t* made) { return api.StreamCreateWithPriority(made, stream_blocking, 0); });
}

Api::Result Api::Helpers::unrecorded_event(const Api& api, hipEvent_t& event) {
  return get(api, &OfDevice::unrecorded_event, event,
             [&](hipEvent_t* made) { return api.EventCreate(made, api.event_flags({})); });
}

Api::Result Api::stand_in(StreamHandle& stream) const {
  if (!is_legacy_stream(stream) || !has(Workaround::allocate_beside_null_stream)) return success;
  return helpers_->null_stream(*this, stream);
}

Api::Result Api::allocate_async(void*& memory, std::size_t bytes, PoolHandle pool, StreamHandle stream) const {
  if (const Result result = stand_in(stream); result != success) return result;
  return pool != nullptr ? MallocFromPoolAsync(&memory, bytes, pool, stream) : MallocAsync(&memory, bytes, stream);
}

Api::Result Api::free_async(void* memory, StreamHandle stream) const {
  if (const Result result = stand_in(stream); result != success) return result;
  return FreeAsync(memory, stream);
}

Api::Result Api::attach_async(StreamHandle stream, void* memory, AttachMode mode) const {
  unsigned flags = hipMemAttachGlobal;
  if (mode == AttachMode::host) flags = hipMemAttachHost;
  if (mode == AttachMode::single) flags = hipMemAttachSingle;
  return StreamAttachMemAsync(stream, memory, 0, flags);
}

Api::Result Api::register_host(void* data, std::size_t bytes, void*& device_pointer) const {
  // Passes no other flag, because 8 means read-only in CUDA and coarse-grained memory in HIP.
  Result result = HostRegister(data, bytes, hipHostRegisterPortable | hipHostRegisterMapped);
  if (result != success) return result;
  result = HostGetDevicePointer(&device_pointer, data, 0);
  if (result != success) MemHostUnregister(data);
  return result;
}

Api::Result Api::create_pool(const DeviceContext& device, std::size_t max_size, PoolHandle& pool) const {
  hipMemPoolProps properties{};
  properties.allocType = hipMemAllocationTypePinned;
  properties.handleTypes = static_cast<hipMemAllocationHandleType>(0);
  properties.location.type = hipMemLocationTypeDevice;
  properties.location.id = device.ordinal;
  // `maxSize` has the place of the first reserved word in the headers of 5.2.
  constexpr std::size_t place = offsetof(hipMemPoolProps, win32SecurityAttributes) + sizeof(void*);
  std::memcpy(reinterpret_cast<std::byte*>(&properties) + place, &max_size, sizeof(max_size));
  return MemPoolCreate(&pool, &properties);
}

Api::Result Api::set_pool_access(PoolHandle pool, const DeviceContext& reader, bool allowed) const {
  hipMemAccessDesc access{};
  access.location.type = hipMemLocationTypeDevice;
  access.location.id = reader.ordinal;
  access.flags = allowed ? hipMemAccessFlagsProtReadWrite : hipMemAccessFlagsProtNone;
  const Result result = MemPoolSetAccess(pool, &access, 1);
  // HIP 6.2 refuses to revoke any device's access to a pool. That is harmless, because the caller then disables peer access,
  // which also revokes access to the pool's memory.
  return !allowed && result == hipErrorInvalidDevice ? success : result;
}

// --- Modules ----------------------------------------------------------------------------------------------------------

Api::Result Api::load_module(ModuleHandle& module, const char* image, std::string&) const {
  return ModuleLoadData(&module, image);
}

// Weir uses only these two launch attributes of HIP. The core refuses a priority, and the feature `programmatic_launch` is
// emulated.
Api::Result Api::launch_with_attributes(FunctionHandle function, const LaunchConfig& config, StreamHandle stream,
                                        void* const* arguments) const {
  LaunchAttribute attributes[2] = {{.id = attribute_cluster_dimension, .value = {}},
                                   {.id = attribute_cooperative, .value = {.cooperative = 1}}};
  std::memcpy(attributes[0].value.cluster, &config.cluster, sizeof(config.cluster));
  const NativeLaunch launch{.grid = {config.grid.x, config.grid.y, config.grid.z},
                            .block = {config.block.x, config.block.y, config.block.z},
                            .shared_memory_bytes = config.shared_memory_bytes,
                            .stream = stream,
                            .attributes = attributes,
                            .attribute_count = config.cooperative ? 2U : 1U};
  return LaunchKernelEx(&launch, function, const_cast<void**>(arguments), nullptr);
}

// --- Peers ------------------------------------------------------------------------------------------------------------

Api::Result Api::can_access_peer(int ordinal, int peer, bool& can) const {
  int value = 0;
  const Result result = DeviceCanAccessPeer(&value, ordinal, peer);
  can = value != 0;
  return result;
}

Api::Result Api::enable_peer(const DeviceContext& peer) const { return DeviceEnablePeerAccess(peer.ordinal, 0); }

Api::Result Api::disable_peer(const DeviceContext& peer) const {
  const Result result = DeviceDisablePeerAccess(peer.ordinal);
  return result == hipErrorPeerAccessNotEnabled ? success : result;
}

// --- Memory operations ------------------------------------------------------------------------------------------------

namespace {

// hipStreamWaitValue's last argument, which CUDA lacks: the bits that the wait compares.
constexpr std::uint64_t all_bits = ~std::uint64_t{0};
// A write's flags, which have other values than in CUDA.
constexpr unsigned plain_write = 0;

unsigned wait_flags(WaitCondition condition) noexcept {
  switch (condition) {
    case WaitCondition::geq: break;
    case WaitCondition::eq: return hipStreamWaitValueEq;
    case WaitCondition::bit_and: return hipStreamWaitValueAnd;
    case WaitCondition::bit_nor: return hipStreamWaitValueNor;
  }
  return hipStreamWaitValueGte;
}

}  // namespace

Api::Result Api::submit(StreamHandle stream, const BatchOperation& operation) const {
  void* const address = reinterpret_cast<void*>(operation.address);
  const auto narrow = static_cast<std::uint32_t>(operation.value);
  constexpr std::uint64_t mask = all_bits;
  switch (operation.operation) {
    case write_32: return StreamWriteValue32(stream, address, narrow, plain_write);
    case write_64: return StreamWriteValue64(stream, address, operation.value, plain_write);
    case wait_32: return StreamWaitValue32(stream, address, narrow, operation.flags, static_cast<std::uint32_t>(mask));
    case wait_64: return StreamWaitValue64(stream, address, operation.value, operation.flags, mask);
    default: return hipErrorNotSupported;  // a flush of remote writes, which HIP lacks
  }
}

Api::Result Api::memory_operation(StreamHandle stream, const MemoryOperation& operation) const {
  BatchOperation single;
  fill_batch_operation(single, operation);
  return submit(stream, single);
}

void Api::fill_batch_operation(BatchOperation& to, const MemoryOperation& operation) noexcept {
  to = BatchOperation{};
  if (operation.kind == MemoryOperation::Kind::flush_remote_writes) return;
  to.address = reinterpret_cast<std::uintptr_t>(operation.address);
  to.value = operation.value;
  if (operation.is_wait()) {
    to.operation = operation.is_64() ? wait_64 : wait_32;
    to.flags = wait_flags(operation.condition);
  } else {
    to.operation = operation.is_64() ? write_64 : write_32;
    to.flags = plain_write;
  }
}

Api::Result Api::batch(StreamHandle stream, BatchOperation* operations, std::size_t count) const {
  if (StreamBatchMemOp) return StreamBatchMemOp(stream, static_cast<unsigned>(count), operations, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const Result result = submit(stream, operations[i]);
    if (result != success) return result;
  }
  return success;
}

}  // namespace weir::hip
