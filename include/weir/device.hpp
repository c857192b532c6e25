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

/// Devices: they run work and create streams, events, memory and modules.
namespace weir {

/// Properties of a device. Unknown values are 0 or empty. Every device that runs kernels has a name, a multiprocessor count,
/// a warp size, and the limits of blocks and grids.
struct DeviceProperties {
  std::string name;                          ///< the marketing name
  std::string architecture;                  ///< "sm_90", "gfx90a:sramecc+:xnack-", "x86-64"
  std::string uuid;                          ///< as the vendor prints it
  std::string pci_bus_id;                    ///< "0000:65:00.0"
  std::size_t total_memory = 0;              ///< bytes
  int compute_capability_major = 0;
  int compute_capability_minor = 0;
  int multiprocessor_count = 0;
  int warp_size = 0;                         ///< threads in a warp: never assume 32
  int max_threads_per_block = 0;
  int max_threads_per_multiprocessor = 0;
  Dim3 max_block;
  Dim3 max_grid;
  std::size_t shared_memory_per_block = 0;         ///< bytes that every block may use
  std::size_t shared_memory_per_block_optin = 0;   ///< bytes that a launch may request
  std::size_t shared_memory_per_multiprocessor = 0;
  int registers_per_block = 0;
  std::size_t l2_cache_size = 0;             ///< bytes
  int clock_rate_khz = 0;
  int memory_clock_rate_khz = 0;
  int memory_bus_width_bits = 0;
  int async_engine_count = 0;                ///< copies that run concurrently with kernels
  bool integrated = false;                   ///< shares its memory with the host
  bool ecc_enabled = false;
  bool unified_addressing = false;
};

/// One device of one backend. Devices live until the process ends. Any thread may use them. No function depends on the
/// calling thread's current device or context, or changes it.
///
/// All functions may throw: `called_from_host_function`; `forked_process`; `unsupported`, with the reason, if the device
/// lacks the feature that the function names; `device_fault` and `backend_failure` for errors of the driver.
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
  /// "cuda:0"
  const std::string& describe() const noexcept { return label_; }
  /// The vendor's device number (CUdevice, hipDevice_t).
  std::int64_t native_handle() const noexcept { return native_handle_; }

  // --- Features ---------------------------------------------------------------------------------------------------

  /// Costs a bit test.
  [[nodiscard]] bool supports(Feature feature) const noexcept { return features_.supports(feature); }
  /// Whether the device has the feature natively, emulated or not at all, and the reason unless it is native.
  const FeatureState& feature(Feature feature) const noexcept { return features_.state(feature); }
  /// Throws `unsupported` if any of the features is missing. The error lists all missing ones, with reasons.
  void require(std::initializer_list<Feature> features) const;

  // --- Streams ----------------------------------------------------------------------------------------------------

  /// Creates a stream. Throws `invalid_argument`, with the valid range, for a numeric priority out of range.
  StreamPtr create_stream(const StreamOptions& options = {});
  /// The device's legacy default stream. It waits for blocking streams, and they wait for it.
  StreamPtr default_stream();
  /// The calling thread's default stream on this device. Feature `per_thread_default_stream`.
  StreamPtr per_thread_stream();
  /// Wraps a native handle. Null and the vendor's tokens for default streams return those streams, which can only be
  /// borrowed. `keep_alive` is released once the wrapper is closed and its stream-ordered memory is freed. Without one, a
  /// borrowed handle must live until then. The handle must be a stream of this device, on CUDA of its primary context; if
  /// Weir detects that it is not, it throws `wrong_device` or `invalid_argument`. Wrapping a known handle again allocates
  /// nothing on CUDA and HIP. Adopt a handle only once, and only if the caller owns it: drivers do not detect a second
  /// owner, and would destroy the stream twice. The host backend detects it and throws `invalid_argument`.
  StreamPtr wrap_stream(void* handle, Ownership ownership, std::shared_ptr<const void> keep_alive = {});
  /// Creates a partition with the requested number of compute units, which no other partition uses. Throws
  /// `invalid_argument` for 0, and for more than are left. Feature `partitions`. (cuGreenCtxCreate)
  PartitionPtr partition(const PartitionOptions& options);
  /// The range of stream priorities, in the vendor's numbering.
  PriorityRange priority_range() const;
  /// The vendor's number for a level.
  int priority_number(Priority level) const;

  // --- Events -----------------------------------------------------------------------------------------------------

  /// Creates an event. Throws `invalid_argument` for an interprocess event with timing. Features `event_timing`,
  /// `blocking_sync_events` and `interprocess_events` for those options.
  EventPtr create_event(const EventOptions& options = {});
  /// Opens an event of another process. Feature `interprocess_events`.
  EventPtr open_event(const InterprocessHandle& handle);

  // --- Memory -----------------------------------------------------------------------------------------------------

  /// Allocates memory with undefined content. Zero bytes give an allocation with a null address. Throws `out_of_memory`;
  /// `invalid_argument` for more bytes than any memory has; `capture_unsupported` if an open capture forbids it. Feature
  /// `managed_memory` for that kind. On the CPU it may wait for work that uses dropped memory: docs/host-backend.md.
  AllocationPtr allocate_bytes(std::size_t bytes, MemoryKind kind = MemoryKind::device);
  /// Allocates `count` elements of `T` in the same way.
  template <class T>
  Buffer<T> allocate(std::size_t count, MemoryKind kind = MemoryKind::device) {
    return Buffer<T>(allocate_bytes(detail::byte_count("Device::allocate", count, sizeof(T)), kind), count);
  }
  /// Makes an `Allocation` of another allocator's memory. Its last owner's release calls `deleter` with the address; an
  /// empty `deleter` does nothing. Inside a host function another thread calls it. The work that uses the memory must be
  /// over by then, unless `deleter` frees in the order of a stream. `kind`: how the device and the host may use it.
  /// Exceptions of `deleter` are logged. Throws `invalid_argument` for null with a size; the memory then still belongs to
  /// the caller.
  AllocationPtr adopt_memory(void* data, std::size_t bytes, MemoryKind kind, MemoryDeleter deleter);
  /// Free and total memory, in bytes, at this moment (cudaMemGetInfo).
  [[nodiscard]] MemoryInfo memory_info() const;
  /// Copies and waits, outside the order of any stream. Throws `capture_unsupported` if an open capture forbids it.
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
  /// Pins existing memory. Throws `invalid_argument` for null or zero bytes. Feature `host_registration`.
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
  /// Creates a pool of stream-ordered memory. Feature `memory_pools`.
  MemoryPoolPtr create_memory_pool(const MemoryPoolOptions& options = {});
  /// The device's default pool, which other code also uses (cudaDeviceGetDefaultMemPool). Feature `memory_pools`.
  MemoryPoolPtr default_memory_pool();
  /// Returns a handle for another process to open `allocation`, which `allocate` made on this device. The allocating process
  /// must keep the memory alive. Feature `interprocess_memory`.
  [[nodiscard]] InterprocessHandle interprocess_handle(const Allocation& allocation) const;
  /// Opens another process's allocation of `bytes` bytes by its handle. Feature `interprocess_memory`.
  AllocationPtr open_allocation(const InterprocessHandle& handle, std::size_t bytes);

  // --- Peers ------------------------------------------------------------------------------------------------------

  /// Whether kernels of this device can address `peer`'s memory once access is enabled. False for itself and for another
  /// backend's device.
  [[nodiscard]] bool can_access_peer(const Device& peer) const;
  /// Lets kernels of this device address `peer`'s memory. Does nothing if access is already enabled. Throws `unsupported` if
  /// `can_access_peer` is false, `invalid_argument` for the device itself.
  void enable_peer_access(const Device& peer);
  /// Disables that access. Does nothing if it is not enabled. Access that other code in the process has enabled stays.
  void disable_peer_access(const Device& peer);

  // --- Modules ----------------------------------------------------------------------------------------------------

  /// Loads device code: PTX, cubin or fatbin on CUDA, a code object on HIP, a shared object made by `compile` on the host.
  /// Throws `invalid_image`. Feature `modules`.
  ModulePtr load_module(std::span<const std::byte> image);
  /// Compiles `source`, in the common subset of CUDA C++ and HIP C++, for this device's architecture, and loads it. Kernels
  /// are `extern "C" __global__ void`. Throws `compilation_failed`, with the compiler's whole log, `compiler_not_found`.
  /// Feature `runtime_compilation`.
  ModulePtr compile(std::string_view source, const CompileOptions& options = {});
  /// Loads the image that fits this device best from kernels compiled ahead of time: an image for exactly its architecture,
  /// then one that several architectures share, then PTX; if none loads, it compiles the bundle's source. Throws
  /// `invalid_image`, with the bundle's images and the device's architecture, if nothing fits; and like `compile`. Feature
  /// `modules` for images, `runtime_compilation` for the source. The bundle may be destroyed when this returns.
  ModulePtr load(const KernelBundle& bundle);
  /// Reads a graph that `Graph::save` wrote, on this device or another one, and loads its kernels: see
  /// weir/portable_graph.hpp. A graph is code, so the file must be a regular file that only this user, or root, can write.
  /// Throws `invalid_image`, with the fault; `backend_failure` if it cannot be read; and like `load`.
  PortableGraphPtr load_graph(const std::string& file);
  /// The same for the file's bytes, which may be destroyed when this returns. They must be as trustworthy as the program.
  PortableGraphPtr load_graph(std::span<const std::byte> bytes);

  /// Blocks until all work of the device is done. Throws `capture_unsupported` if an open capture forbids it. Drivers that
  /// cannot record an event for a whole device (HIP, and CUDA before 12.5) allow no capture on it during this call: a call
  /// that begins or joins a capture on the device waits until this call ends.
  void synchronize();
  /// The same for at most `timeout`: returns whether all work was done by then. If no event can be recorded for the whole
  /// device (see `synchronize`), a helper thread waits instead. After a timeout it keeps waiting; until then no capture can
  /// begin on the device.
  [[nodiscard]] bool synchronize_for(Timeout timeout);

  // --- Health -----------------------------------------------------------------------------------------------------

  /// Whether the device is usable. Queries the driver, and invalidates no capture. A device is poisoned once its driver has
  /// reported a fault of its work and keeps reporting it: on CUDA the context is then lost until the process ends. From then
  /// on every call on the device throws `device_fault` at once, with the driver's code for the first error. Pinned memory
  /// and other backends stay usable; the driver's other devices may also be lost. Throws only `called_from_host_function`
  /// and `forked_process`.
  [[nodiscard]] DeviceHealth health() const;
  /// Whether the device is known to be poisoned. Costs a load.
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
  mutable std::atomic<const DeviceHealth*> poison_{nullptr};  // of a poisoned device; never deleted
};

}  // namespace weir
