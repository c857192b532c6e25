// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "cudart/state.hpp"

namespace weir::cudart {

namespace {

// The bytes of "GPU-01234567-89ab-…", or the first characters of another text.
cudaUUID_t uuid_of(std::string_view text) {
  cudaUUID_t uuid{};
  std::string digits;
  for (const char c : text.starts_with("GPU-") ? text.substr(4) : std::string_view()) {
    if (std::isxdigit(static_cast<unsigned char>(c)) != 0) digits += c;
  }
  if (digits.size() == 2 * sizeof uuid.bytes) {
    for (std::size_t i = 0; i < sizeof uuid.bytes; ++i)
      uuid.bytes[i] = static_cast<char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  } else {
    text.copy(uuid.bytes, sizeof uuid.bytes);
  }
  return uuid;
}

// What Weir does not know has the value of a usual device, or 0.
cudaDeviceProp describe(const Device& device) {
  const DeviceProperties& p = device.properties();
  const auto has = [&](Feature feature) { return static_cast<int>(device.supports(feature)); };
  cudaDeviceProp d{};
  p.name.copy(d.name, sizeof d.name - 1);
  d.uuid = uuid_of(p.uuid);
  d.totalGlobalMem = p.total_memory;
  d.sharedMemPerBlock = p.shared_memory_per_block;
  d.sharedMemPerBlockOptin = std::max(p.shared_memory_per_block, p.shared_memory_per_block_optin);
  d.sharedMemPerMultiprocessor = std::max(p.shared_memory_per_multiprocessor, d.sharedMemPerBlockOptin);
  d.regsPerBlock = p.registers_per_block != 0 ? p.registers_per_block : 65536;
  d.regsPerMultiprocessor = d.regsPerBlock;
  d.warpSize = p.warp_size;
  d.memPitch = 0x7FFFFFFF;
  d.maxThreadsPerBlock = p.max_threads_per_block;
  const Dim3 dims[] = {p.max_block, p.max_grid};
  for (const auto& [to, from] : {std::pair(d.maxThreadsDim, &dims[0]), std::pair(d.maxGridSize, &dims[1])}) {
    to[0] = static_cast<int>(std::min(from->x, 0x7FFFFFFFU));
    to[1] = static_cast<int>(std::min(from->y, 0x7FFFFFFFU));
    to[2] = static_cast<int>(std::min(from->z, 0x7FFFFFFFU));
  }
  d.clockRate = p.clock_rate_khz != 0 ? p.clock_rate_khz : 1'000'000;  // programs divide by it
  d.memoryClockRate = p.memory_clock_rate_khz;
  d.memoryBusWidth = p.memory_bus_width_bits;
  d.totalConstMem = 65536;
  // The device language is compiled for 7.0 where the device has no number of its own.
  const bool is_numbered = device.backend().name() == "cuda";
  d.major = is_numbered ? p.compute_capability_major : 7;
  d.minor = is_numbered ? p.compute_capability_minor : 0;
  d.textureAlignment = d.surfaceAlignment = 512;
  d.texturePitchAlignment = 32;
  d.deviceOverlap = static_cast<int>(p.async_engine_count > 0);
  d.asyncEngineCount = p.async_engine_count;
  d.multiProcessorCount = p.multiprocessor_count;
  d.integrated = static_cast<int>(p.integrated);
  d.canMapHostMemory = 1;
  d.concurrentKernels = 1;
  d.ECCEnabled = static_cast<int>(p.ecc_enabled);
  if (std::sscanf(p.pci_bus_id.c_str(), "%x:%x:%x", reinterpret_cast<unsigned int*>(&d.pciDomainID),
                  reinterpret_cast<unsigned int*>(&d.pciBusID), reinterpret_cast<unsigned int*>(&d.pciDeviceID)) != 3)
    d.pciDomainID = d.pciBusID = d.pciDeviceID = 0;
  d.unifiedAddressing = static_cast<int>(p.unified_addressing);
  d.l2CacheSize = static_cast<int>(p.l2_cache_size);
  d.maxThreadsPerMultiProcessor = p.max_threads_per_multiprocessor;
  d.maxBlocksPerMultiProcessor = 32;
  d.streamPrioritiesSupported = has(Feature::stream_priorities);
  d.globalL1CacheSupported = d.localL1CacheSupported = 1;
  d.managedMemory = has(Feature::managed_memory);
  d.concurrentManagedAccess = has(Feature::concurrent_managed_access);
  d.singleToDoublePrecisionPerfRatio = 2;
  d.computePreemptionSupported = 1;
  d.hostNativeAtomicSupported = d.pageableMemoryAccess = d.directManagedMemAccessFromHost = d.integrated;
  d.pageableMemoryAccessUsesHostPageTables = d.canUseHostPointerForRegisteredMem = d.integrated;
  d.cooperativeLaunch = has(Feature::cooperative_launch);
  d.hostRegisterSupported = has(Feature::host_registration);
  d.memoryPoolsSupported = has(Feature::memory_pools);
  d.ipcEventSupported = has(Feature::interprocess_events);
  d.clusterLaunch = has(Feature::cluster_launch);
  return d;
}

Runtime* open_runtime() {
  Registry& registry = Registry::instance();
  auto opened = std::make_unique<Runtime>();
  opened->backend = &registry.default_backend();
  opened->first_device = registry.default_device().ordinal();
  opened->is_host = opened->backend->name() == "host";
  for (int i = 0; i < opened->backend->device_count(); ++i) {
    DeviceState& state = opened->devices.emplace_back();
    state.device = &opened->backend->device(i);
    state.properties = describe(*state.device);
    state.limits = {1024, std::size_t{1} << 20U, std::size_t{8} << 20U, 2, 2048, 64, 0};  // CUDA's defaults
    state.flags = cudaDeviceMapHost;
  }
  return opened.release();  // leaked, like all state
}

}  // namespace

Runtime& runtime() {
  static Runtime* const opened = open_runtime();
  return *opened;
}

DeviceState& device_at(int ordinal) {
  Runtime& all = runtime();
  check(ordinal >= 0 && ordinal < static_cast<int>(all.devices.size()), cudaErrorInvalidDevice);
  return all.devices[static_cast<std::size_t>(ordinal)];
}

DeviceState& current() {
  Runtime& all = runtime();
  Thread& thread = this_thread();
  if (thread.device < 0) thread.device = all.first_device;
  return all.devices[static_cast<std::size_t>(thread.device)];
}

DeviceState& usable() {
  DeviceState& state = current();
  check(state.fault == cudaSuccess, state.fault);
  return state;
}

void collect_faults(DeviceState& device) {
  if (!runtime().is_host) return;
  std::vector<StreamPtr> streams = runtime().streams.all();
  {
    const std::lock_guard lock(device.mutex);
    if (device.legacy) streams.push_back(device.legacy);
    streams.insert(streams.end(), device.destroyed.begin(), device.destroyed.end());
    std::erase_if(device.destroyed, [](const StreamPtr& stream) { return stream->is_complete(); });
  }
  streams.push_back(device.device->per_thread_stream());
  for (const StreamPtr& stream : streams) {
    if (stream->device() == *device.device && !stream->is_capturing() && stream->is_complete()) stream->synchronize();
  }
}

namespace {

// The attributes that are members of cudaDeviceProp.
// clang-format off
#define WEIR_CUDA_ATTRIBUTES(X) \
  X(MaxThreadsPerBlock, maxThreadsPerBlock) X(MaxBlockDimX, maxThreadsDim[0]) X(MaxBlockDimY, maxThreadsDim[1]) \
  X(MaxBlockDimZ, maxThreadsDim[2]) X(MaxGridDimX, maxGridSize[0]) X(MaxGridDimY, maxGridSize[1]) \
  X(MaxGridDimZ, maxGridSize[2]) X(MaxSharedMemoryPerBlock, sharedMemPerBlock) \
  X(MaxSharedMemoryPerBlockOptin, sharedMemPerBlockOptin) \
  X(MaxSharedMemoryPerMultiprocessor, sharedMemPerMultiprocessor) \
  X(ReservedSharedMemoryPerBlock, reservedSharedMemPerBlock) X(TotalConstantMemory, totalConstMem) X(WarpSize, warpSize) \
  X(MaxPitch, memPitch) X(MaxRegistersPerBlock, regsPerBlock) X(MaxRegistersPerMultiprocessor, regsPerMultiprocessor) \
  X(ClockRate, clockRate) X(TextureAlignment, textureAlignment) X(SurfaceAlignment, surfaceAlignment) \
  X(TexturePitchAlignment, texturePitchAlignment) X(GpuOverlap, deviceOverlap) \
  X(MultiProcessorCount, multiProcessorCount) X(KernelExecTimeout, kernelExecTimeoutEnabled) X(Integrated, integrated) \
  X(CanMapHostMemory, canMapHostMemory) X(ComputeMode, computeMode) X(ConcurrentKernels, concurrentKernels) \
  X(EccEnabled, ECCEnabled) X(PciBusId, pciBusID) X(PciDeviceId, pciDeviceID) X(PciDomainId, pciDomainID) \
  X(MemoryClockRate, memoryClockRate) X(GlobalMemoryBusWidth, memoryBusWidth) X(L2CacheSize, l2CacheSize) \
  X(MaxThreadsPerMultiProcessor, maxThreadsPerMultiProcessor) X(MaxBlocksPerMultiprocessor, maxBlocksPerMultiProcessor) \
  X(AsyncEngineCount, asyncEngineCount) X(UnifiedAddressing, unifiedAddressing) X(ComputeCapabilityMajor, major) \
  X(ComputeCapabilityMinor, minor) X(StreamPrioritiesSupported, streamPrioritiesSupported) \
  X(GlobalL1CacheSupported, globalL1CacheSupported) X(LocalL1CacheSupported, localL1CacheSupported) \
  X(ManagedMemory, managedMemory) X(HostNativeAtomicSupported, hostNativeAtomicSupported) \
  X(SingleToDoublePrecisionPerfRatio, singleToDoublePrecisionPerfRatio) X(PageableMemoryAccess, pageableMemoryAccess) \
  X(ConcurrentManagedAccess, concurrentManagedAccess) X(ComputePreemptionSupported, computePreemptionSupported) \
  X(CanUseHostPointerForRegisteredMem, canUseHostPointerForRegisteredMem) X(CooperativeLaunch, cooperativeLaunch) \
  X(HostRegisterSupported, hostRegisterSupported) \
  X(PageableMemoryAccessUsesHostPageTables, pageableMemoryAccessUsesHostPageTables) \
  X(DirectManagedMemAccessFromHost, directManagedMemAccessFromHost) X(MemoryPoolsSupported, memoryPoolsSupported) \
  X(ClusterLaunch, clusterLaunch) X(IpcEventSupport, ipcEventSupported)
#define WEIR_CUDA_ATTRIBUTE(name, member) case cudaDevAttr##name: return p.member;
// clang-format on

std::size_t& stored(cudaLimit limit) {
  check(static_cast<std::size_t>(limit) < current().limits.size(), cudaErrorUnsupportedLimit);
  return current().limits[limit];
}

}  // namespace

namespace calls {

void cudaGetDeviceCount(int* count) {
  give(count, 0);
  *count = static_cast<int>(runtime().devices.size());
}

void cudaGetDevice(int* device) { give(device, current().device->ordinal()); }

void cudaSetDevice(int device) {
  device_at(device);
  this_thread().device = device;
}

void cudaInitDevice(int device, unsigned int, unsigned int) { device_at(device); }

void cudaChooseDevice(int* device, const cudaDeviceProp* properties) {
  check(properties != nullptr);
  give(device, device_at(0).device->ordinal());
}

void cudaGetDeviceProperties(cudaDeviceProp* properties, int device) { give(properties, device_at(device).properties); }

void cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  const cudaDeviceProp& p = device_at(device).properties;
  const auto found = [&]() -> std::size_t {
    switch (attribute) {
      WEIR_CUDA_ATTRIBUTES(WEIR_CUDA_ATTRIBUTE)
      case cudaDevAttrHostNumaId: return static_cast<std::size_t>(-1);
      default: check(attribute > 0 && attribute <= cudaDevAttrOnlyPartialHostNativeAtomicSupported); return 0;
    }
  }();
  give(value, static_cast<int>(found));
}

void cudaDeviceSynchronize() {
  DeviceState& state = usable();
  state.device->synchronize();
  collect_faults(state);
}

void cudaDeviceReset() {
  DeviceState& state = current();
  state.device->synchronize();
  // A lost device stays lost; on the CPU only the error of its work is.
  if (!state.device->is_poisoned()) {
    static_cast<void>(call(__func__, [&] { collect_faults(state); }));  // forgotten
    state.fault = cudaSuccess;
  }
  memory().clear(*state.device);
  unload(*state.device);
  this_thread().last_error = cudaSuccess;
}

void cudaThreadSynchronize() { cudaDeviceSynchronize(); }
void cudaThreadExit() { cudaDeviceReset(); }

void cudaDeviceSetLimit(cudaLimit limit, size_t value) { stored(limit) = value; }
void cudaDeviceGetLimit(size_t* value, cudaLimit limit) { give(value, stored(limit)); }

void cudaDeviceSetCacheConfig(cudaFuncCache config) {
  check(config >= 0 && config <= cudaFuncCachePreferEqual);
  current().cache_config = config;
}

void cudaDeviceGetCacheConfig(cudaFuncCache* config) { give(config, current().cache_config); }

void cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config) {
  check(config >= 0 && config <= cudaSharedMemBankSizeEightByte);
  current().shared_config = config;
}

void cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) { give(config, current().shared_config); }

void cudaSetDeviceFlags(unsigned int flags) {
  check((flags & ~unsigned{cudaDeviceMask}) == 0);
  current().flags = flags | cudaDeviceMapHost;
}

void cudaGetDeviceFlags(unsigned int* flags) { give(flags, current().flags); }

void cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  const PriorityRange range = current().device->priority_range();
  if (least != nullptr) *least = range.least;
  if (greatest != nullptr) *greatest = range.greatest;
}

void cudaDeviceGetPCIBusId(char* id, int length, int device) {
  check(id != nullptr);
  const std::string& known = device_at(device).device->properties().pci_bus_id;
  const std::string text = known.empty() ? "0000:00:00.0" : known;
  check(length > static_cast<int>(text.size()));
  std::memcpy(id, text.c_str(), text.size() + 1);
}

void cudaCtxResetPersistingL2Cache() { current(); }
void cudaProfilerStart() {}
void cudaProfilerStop() {}

void cudaDriverGetVersion(int* version) {
  give(version, CUDART_VERSION);
  // "13.0" is 13000.
  int major = 0, minor = 0;
  const bool has_driver = runtime().backend->name() == "cuda";
  if (has_driver && std::sscanf(runtime().backend->versions().driver.c_str(), "%d.%d", &major, &minor) == 2)
    *version = major * 1000 + minor * 10;
}

void cudaRuntimeGetVersion(int* version) { give(version, CUDART_VERSION); }

// --- Peers

void cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  give(can, static_cast<int>(device_at(device).device->can_access_peer(*device_at(peer).device)));
}

void cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  check(flags == 0);
  DeviceState& state = current();
  Device& other = *device_at(peer).device;
  check(other != *state.device, cudaErrorInvalidDevice);
  check(state.device->can_access_peer(other), cudaErrorPeerAccessUnsupported);
  const std::lock_guard lock(state.mutex);
  check(!state.peers.contains(peer), cudaErrorPeerAccessAlreadyEnabled);
  state.device->enable_peer_access(other);
  state.peers.insert(peer);
}

void cudaDeviceDisablePeerAccess(int peer) {
  DeviceState& state = current();
  Device& other = *device_at(peer).device;
  const std::lock_guard lock(state.mutex);
  check(state.peers.erase(peer) != 0, cudaErrorPeerAccessNotEnabled);
  state.device->disable_peer_access(other);
}

void cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int source, int destination) {
  Device& from = *device_at(source).device;
  Device& to = *device_at(destination).device;
  check(from != to, cudaErrorInvalidDevice);
  check(attribute >= cudaDevP2PAttrPerformanceRank && attribute <= cudaDevP2PAttrCudaArrayAccessSupported);
  const bool access = attribute == cudaDevP2PAttrAccessSupported || attribute == cudaDevP2PAttrNativeAtomicSupported;
  give(value, static_cast<int>(access && from.can_access_peer(to)));
}

}  // namespace calls
}  // namespace weir::cudart
