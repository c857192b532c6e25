// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/event.hpp"
#include "weir/export.hpp"
#include "weir/feature.hpp"
#include "weir/fwd.hpp"
#include "weir/graph.hpp"
#include "weir/health.hpp"
#include "weir/memory.hpp"
#include "weir/module.hpp"
#include "weir/partition.hpp"
#include "weir/stream.hpp"
#include "weir/timeout.hpp"

/// Devices. A device is a GPU or the CPU; it creates the streams, events, memory and modules that belong to it.
namespace weir {

/// Properties of a device. Unknown values are 0 or empty. Every device that runs kernels has a name, a multiprocessor count,
/// a warp size, and the limits of blocks and grids.
struct DeviceProperties {
  std::string name;                          ///< the marketing name
  std::string architecture;                  ///< the vendor's name of the architecture: "sm_90", "gfx90a:sramecc+:xnack-",
                                             ///< "x86-64"
  std::string uuid;                          ///< in the vendor's format
  std::string pci_bus_id;                    ///< "0000:65:00.0"
  std::size_t total_memory = 0;              ///< bytes
  int compute_capability_major = 0;
  int compute_capability_minor = 0;
  int multiprocessor_count = 0;
  int warp_size = 0;                         ///< threads in a warp: 32, 64 or another number
  int max_threads_per_block = 0;
  int max_threads_per_multiprocessor = 0;
  Dim3 max_block;
  Dim3 max_grid;
  std::size_t shared_memory_per_block = 0;         ///< bytes that a block may use without `shared_memory_per_block_optin`
  std::size_t shared_memory_per_block_optin = 0;   ///< the maximum that a launch may request as dynamic shared memory, in
                                                   ///< bytes
  std::size_t shared_memory_per_multiprocessor = 0;
  int registers_per_block = 0;
  std::size_t l2_cache_size = 0;             ///< bytes
  int clock_rate_khz = 0;
  int memory_clock_rate_khz = 0;
  int memory_bus_width_bits = 0;
  int async_engine_count = 0;                ///< how many copies can run concurrently with kernels
  bool integrated = false;                   ///< the device uses the host's memory
  bool ecc_enabled = false;
  bool unified_addressing = false;
};

/// One device of one backend. Devices live until the process ends. Any thread may use them. No function depends on the
/// calling thread's current device or context, or changes it.
///
/// Each function may throw, besides the errors in its comment: `called_from_host_function`; `forked_process`; `unsupported`,
/// with the reason, if the device lacks the feature that the comment names; `device_fault` and `backend_failure` for errors
/// of the driver.
class WEIR_API Device {
 public:
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// The backend that the device belongs to.
  Backend& backend() const noexcept { return backend_; }
  /// The device's number in its backend, from 0.
  int ordinal() const noexcept { return ordinal_; }
  /// The device's properties, which are fixed once its backend is open.
  const DeviceProperties& properties() const noexcept { return properties_; }
  /// The device's name: "cuda:0".
  const std::string& describe() const noexcept { return label_; }
  /// The vendor's number of the device (CUdevice, hipDevice_t).
  std::int64_t native_handle() const noexcept { return native_handle_; }

  // --- Features ---------------------------------------------------------------------------------------------------

  /// Whether the device has the feature, natively or emulated. Fast: tests one bit.
  [[nodiscard]] bool supports(Feature feature) const noexcept { return features_.supports(feature); }
  /// How the device supports the feature: natively, emulated or not at all. Unless it is native, the result contains the
  /// reason.
  const FeatureState& feature(Feature feature) const noexcept { return features_.state(feature); }
  /// Throws `unsupported` if the device lacks any of the features. The error lists all missing features, with reasons.
  void require(std::initializer_list<Feature> features) const;

  // --- Streams ----------------------------------------------------------------------------------------------------

  /// Creates a stream. Throws `invalid_argument`, with the valid range, for a numeric priority out of range.
  /// (cudaStreamCreateWithPriority)
  StreamPtr create_stream(const StreamOptions& options = {});
  /// The device's legacy default stream. It waits for blocking streams, and they wait for it. (cudaStreamLegacy)
  StreamPtr default_stream();
  /// The calling thread's default stream on this device. No other thread may use it. Feature `per_thread_default_stream`.
  /// (cudaStreamPerThread)
  StreamPtr per_thread_stream();
  /// Wraps a vendor's stream (cudaStream_t, hipStream_t). The handle must be a stream of this device; on CUDA, of its
  /// primary context. Throws `wrong_device` or `invalid_argument` if Weir detects another handle. Null and the vendor's
  /// constants for default streams (cudaStreamLegacy, cudaStreamPerThread) return the default streams; they can only be
  /// borrowed.
  ///
  /// `keep_alive` is released once the wrapper is closed and its stream-ordered memory is freed. Without `keep_alive`, a
  /// borrowed handle must live until then. On CUDA and HIP, wrapping a handle again while it has a wrapper allocates
  /// nothing.
  ///
  /// Adopt a handle only once, and only if the caller owns it: drivers do not detect a second owner, so the stream would be
  /// destroyed twice. The host backend detects a second owner and throws `invalid_argument`.
  StreamPtr wrap_stream(void* handle, Ownership ownership, std::shared_ptr<const void> keep_alive = {});
  /// Creates a partition: a part of the device with its own compute units. No other partition uses them. Throws
  /// `invalid_argument` for 0 compute units, and for more than are free. Feature `partitions`. (cuGreenCtxCreate)
  PartitionPtr partition(const PartitionOptions& options);
  /// The range of stream priorities, in the vendor's numbering.
  PriorityRange priority_range() const;

  // --- Events -----------------------------------------------------------------------------------------------------

  /// Creates an event. Throws `invalid_argument` for an interprocess event with timing. The options `timing`,
  /// `blocking_sync` and `interprocess` need the features `event_timing`, `blocking_sync_events` and `interprocess_events`.
  /// (cudaEventCreateWithFlags)
  EventPtr create_event(const EventOptions& options = {});
  /// Opens an event of another process. Feature `interprocess_events`. (cudaIpcOpenEventHandle)
  EventPtr open_event(const InterprocessHandle& handle);

  // --- Memory -----------------------------------------------------------------------------------------------------

  /// Allocates memory with undefined content. Zero bytes give an allocation with a null address. Throws `out_of_memory`;
  /// `invalid_argument` for more bytes than any memory has; `capture_unsupported` if an open capture forbids it. Managed
  /// memory needs the feature `managed_memory`. On the host backend the call may block until work has ended that still uses
  /// released memory (docs/host-backend.md). (cudaMalloc, cudaMallocHost, cudaMallocManaged)
  AllocationPtr allocate_bytes(std::size_t bytes, MemoryKind kind = MemoryKind::device);
  /// Allocates `count` elements of `T` in the same way.
  template <class T>
  Buffer<T> allocate(std::size_t count, MemoryKind kind = MemoryKind::device) {
    return Buffer<T>(allocate_bytes(detail::byte_count("Device::allocate", count, sizeof(T)), kind), count);
  }
  /// Makes an `Allocation` that refers to memory from another allocator. `kind`: how the device and the host may use it.
  /// When the last owner releases the allocation, Weir calls `deleter(data)`, if it is not empty: on the thread that
  /// releases it, or on another thread if the last release is in a host function. Work that uses the memory must be done by
  /// then, unless `deleter` frees it in the order of a stream. Exceptions that `deleter` throws are logged. Throws
  /// `invalid_argument` for a null address with a size other than 0; the memory then still belongs to the caller.
  AllocationPtr adopt_memory(void* data, std::size_t bytes, MemoryKind kind, MemoryDeleter deleter);
  /// The free memory at this moment and the total memory, in bytes. (cudaMemGetInfo)
  [[nodiscard]] MemoryInfo memory_info() const;
  /// Copies `bytes` bytes and blocks until the copy is done. Not ordered with any stream. Throws `capture_unsupported` if an
  /// open capture forbids it. (cudaMemcpy)
  void copy_bytes(void* destination, const void* source, std::size_t bytes);
  /// Copies all elements of `source` in the same way. Throws `length_mismatch`.
  template <ElementRange To, ElementRange From>
  void copy(To&& destination, From&& source) {
    Span to(destination);
    Span from(source);
    using T = typename decltype(to)::element_type;
    detail::check_copyable<T, typename decltype(from)::element_type>();
    if (to.size() != from.size()) detail::throw_length_mismatch("Device::copy", describe(), to.size(), from.size());
    copy_bytes(to.data(), from.data(), detail::byte_count("Device::copy", to.size(), sizeof(T)));
  }
  /// Pins `bytes` bytes of the program's own memory until the result is destroyed. Throws `invalid_argument` for a null
  /// address or zero bytes. Feature `host_registration`. (cudaHostRegister)
  Ptr<HostRegistration> register_host(void* data, std::size_t bytes);
  /// The same for the elements of a container, an array or a span.
  template <ElementRange R>
  Ptr<HostRegistration> register_host(R&& memory) {
    static_assert(detail::outlives_call<R>, "the memory must outlive its registration: keep what owns it in a variable");
    Span elements(memory);
    using T = std::remove_const_t<typename decltype(elements)::element_type>;
    return register_host(const_cast<T*>(elements.data()),
                         detail::byte_count("Device::register_host", elements.size(), sizeof(T)));
  }
  /// Creates a pool of stream-ordered memory. Feature `memory_pools`. (cudaMemPoolCreate)
  MemoryPoolPtr create_memory_pool(const MemoryPoolOptions& options = {});
  /// The device's default pool. Other code in the process also uses it. Feature `memory_pools`.
  /// (cudaDeviceGetDefaultMemPool)
  MemoryPoolPtr default_memory_pool();
  /// Returns a handle that lets another process open `allocation`, which must be device memory from `allocate`. This
  /// process must keep the memory alive while the other one uses it. Feature `interprocess_memory`. (cudaIpcGetMemHandle)
  [[nodiscard]] InterprocessHandle interprocess_handle(const Allocation& allocation) const;
  /// Opens an allocation of `bytes` bytes of another process by its handle. Feature `interprocess_memory`.
  /// (cudaIpcOpenMemHandle)
  AllocationPtr open_allocation(const InterprocessHandle& handle, std::size_t bytes);

  // --- Peers ------------------------------------------------------------------------------------------------------

  /// Whether kernels of this device can access `peer`'s memory after `enable_peer_access`. False for the device itself and
  /// for a device of another backend. (cudaDeviceCanAccessPeer)
  [[nodiscard]] bool can_access_peer(const Device& peer) const;
  /// Enables kernels of this device to access `peer`'s memory. Does nothing if access is already enabled. Throws
  /// `unsupported` if `can_access_peer` is false; `invalid_argument` for the device itself. (cudaDeviceEnablePeerAccess)
  void enable_peer_access(const Device& peer);
  /// Disables the access that `enable_peer_access` enabled. Does nothing if it is not enabled. Access that other code in the
  /// process has enabled remains. (cudaDeviceDisablePeerAccess)
  void disable_peer_access(const Device& peer);

  // --- Modules ----------------------------------------------------------------------------------------------------

  /// Loads device code: PTX, cubin or fatbin on CUDA, a code object on HIP, a shared object made by `compile` on the host.
  /// Throws `invalid_image` if this device cannot load it. Feature `modules`. (cuModuleLoadData)
  ModulePtr load_module(std::span<const std::byte> image);
  /// Compiles `source`, in the common subset of CUDA C++ and HIP C++, for this device's architecture, and loads it. Kernels
  /// are `extern "C" __global__ void`. Throws `compilation_failed`, with the compiler's whole log; `compiler_not_found`.
  /// Feature `runtime_compilation`. (nvrtcCompileProgram)
  ModulePtr compile(std::string_view source, const CompileOptions& options = {});
  /// Loads kernels that were compiled ahead of time. Tries the bundle's images in this order: an image for exactly this
  /// architecture, an image for a family of architectures, PTX. If none loads, compiles the bundle's source. Throws
  /// `invalid_image`, with the bundle's images and the device's architecture, if nothing fits; otherwise like `compile`.
  /// Feature `modules` for images, `runtime_compilation` for the source. The bundle may be destroyed when this returns.
  ModulePtr load(const KernelBundle& bundle);
  /// Reads a file that `Graph::save` has written, on this or another device, and loads the graph's kernels: see
  /// weir/portable_graph.hpp. Because a graph contains code, the file must be a regular file that only this user or root can
  /// write. Throws `invalid_image` for an invalid file, with the cause; `backend_failure` if the file cannot be read;
  /// otherwise like `load`.
  PortableGraphPtr load_graph(const std::string& file);
  /// The same for the bytes of such a file, which may be destroyed when this returns. Load only bytes that you trust like
  /// your own code.
  PortableGraphPtr load_graph(std::span<const std::byte> bytes);

  /// Blocks until all work of the device is done. Throws `capture_unsupported` if an open capture forbids it. During this
  /// call, captures can begin and be joined on the device, except with drivers that cannot record an event for a whole
  /// device: HIP, and CUDA before 12.5. With these, such calls on other threads block until this call returns.
  /// (cudaDeviceSynchronize)
  void synchronize();
  /// The same for at most `timeout`. Returns true if all work was done in time. With drivers that cannot record an event for
  /// a whole device (see `synchronize`), a helper thread calls the driver. After a timeout this thread is still waiting in
  /// the driver, and no capture can begin on the device until the driver returns.
  [[nodiscard]] bool synchronize_for(Timeout timeout);

  // --- Health -----------------------------------------------------------------------------------------------------

  /// Whether the device is usable. Queries the driver, and invalidates no capture. A device becomes poisoned when its work
  /// has failed and the driver returns that error to every later call: on CUDA the context is then lost until the process
  /// ends. From then on every call on the device throws `device_fault` at once, with the driver's code for the first error.
  /// Pinned memory and other backends remain usable; other devices of the same driver may also be lost. Throws only
  /// `called_from_host_function` and `forked_process`.
  [[nodiscard]] DeviceHealth health() const;
  /// Whether Weir has found the device to be poisoned (see `health`). Fast: one atomic load, no driver call.
  [[nodiscard]] bool is_poisoned() const noexcept { return poison_.load(std::memory_order_acquire) != nullptr; }

  friend bool operator==(const Device& a, const Device& b) noexcept { return &a == &b; }

 private:
  friend class DeviceImpl;
  friend struct detail::HealthCore;
  friend class BackendImpl;

  Device(Backend& backend, int ordinal, std::int64_t native_handle);
  ~Device() = default;

  Backend& backend_;
  int ordinal_;
  std::int64_t native_handle_;
  std::string label_;
  DeviceProperties properties_;
  FeatureTable features_;
  mutable std::atomic<const DeviceHealth*> poison_{nullptr};  // null unless poisoned; never deleted
};

}  // namespace weir
