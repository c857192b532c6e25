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

/// Devices: work runs on them, and they create streams, events, memory and modules.
namespace weir {

/// Properties of a device. A value that the backend does not know is 0 or empty. Every device that runs kernels has a
/// name, a multiprocessor count, a warp size, and the limits of blocks and grids.
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
  std::size_t shared_memory_per_block_optin = 0;   ///< bytes that a launch may ask for
  std::size_t shared_memory_per_multiprocessor = 0;
  int registers_per_block = 0;
  std::size_t l2_cache_size = 0;             ///< bytes
  int clock_rate_khz = 0;
  int memory_clock_rate_khz = 0;
  int memory_bus_width_bits = 0;
  int async_engine_count = 0;                ///< copies that run beside kernels
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
  /// What the device is; fixed from when its backend is opened.
  const DeviceProperties& properties() const noexcept { return properties_; }
  /// "cuda:0"
  const std::string& describe() const noexcept { return label_; }
  /// The vendor's device number (CUdevice, hipDevice_t).
  std::int64_t native_handle() const noexcept { return native_handle_; }

  // --- Features ---------------------------------------------------------------------------------------------------

  /// Costs a bit test.
  [[nodiscard]] bool supports(Feature feature) const noexcept { return features_.supports(feature); }
  /// Whether the device has the feature natively, emulated or not at all, and the reason if not natively.
  const FeatureState& feature(Feature feature) const noexcept { return features_.state(feature); }
  /// Throws `unsupported` if features are missing. The error lists all of them, with reasons.
  void require(std::initializer_list<Feature> features) const;

  // --- Streams ----------------------------------------------------------------------------------------------------

  /// Creates a stream. Throws `invalid_argument`, naming the range, for a numeric priority that the device does not have.
  StreamPtr create_stream(const StreamOptions& options = {});
  /// The device's legacy default stream. It waits for blocking streams, and they wait for it.
  StreamPtr default_stream();
  /// The calling thread's default stream on this device. Feature `per_thread_default_stream`.
  StreamPtr per_thread_stream();
  /// Wraps a native handle. Null and the vendor's tokens for default streams give those streams; they can only be borrowed.
  /// `keep_alive` is released once the wrapper is closed and its stream-ordered memory is freed. Without one, a borrowed
  /// handle must live until then. The handle must be a stream of this device, on CUDA of its primary context; if Weir can
  /// tell that it is not, it throws `wrong_device` or `invalid_argument`. Wrapping a known handle again allocates nothing on
  /// CUDA and HIP. Adopt a handle once, and only if the caller owns it: drivers do not notice a second owner, and would
  /// destroy the stream twice. The host backend notices, and throws `invalid_argument`.
  StreamPtr wrap_stream(void* handle, Ownership ownership, std::shared_ptr<const void> keep_alive = {});
  /// A part of the device that has so many compute units, none of which is in another partition. Throws `invalid_argument`
  /// for none, and for more than are left. Feature `partitions`. (cuGreenCtxCreate)
  PartitionPtr partition(const PartitionOptions& options);
  /// The priorities of streams, as the vendor numbers them.
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

  /// Allocates memory with undefined content. Zero bytes: an allocation whose address is null. Throws `out_of_memory`;
  /// `invalid_argument` for more bytes than any memory has; `capture_unsupported` if an open capture forbids it. Feature
  /// `managed_memory` for that kind. On the CPU it may wait for the work of memory that was dropped: docs/host-backend.md.
  AllocationPtr allocate_bytes(std::size_t bytes, MemoryKind kind = MemoryKind::device);
  /// Likewise `count` elements of `T`.
  template <class T>
  Buffer<T> allocate(std::size_t count, MemoryKind kind = MemoryKind::device) {
    return Buffer<T>(allocate_bytes(detail::byte_count("Device::allocate", count, sizeof(T)), kind), count);
  }
  /// Makes memory of another allocator that of an `Allocation`, whose last owner's release calls `deleter`, with the
  /// address; an empty one leaves the memory alone. Inside a host function another thread calls it. The work that uses the
  /// memory must be over by then, unless `deleter` frees in the order of a stream. `kind`: what the device and the host may
  /// do with it. What `deleter` throws is logged. Throws `invalid_argument` for null with a size; the memory stays the
  /// caller's then.
  AllocationPtr adopt_memory(void* data, std::size_t bytes, MemoryKind kind, MemoryDeleter deleter);
  /// Free and total memory, in bytes, at this moment (cudaMemGetInfo).
  [[nodiscard]] MemoryInfo memory_info() const;
  /// Copies and waits, outside the order of any stream. Throws `capture_unsupported` if an open capture forbids it.
  void copy_bytes(void* destination, const void* source, std::size_t bytes);
  /// Likewise all elements of `source`. Throws `length_mismatch`.
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
  /// Feature `memory_pools`.
  MemoryPoolPtr create_memory_pool(const MemoryPoolOptions& options = {});
  /// The pool of the device that other code uses, too (cudaDeviceGetDefaultMemPool). Feature `memory_pools`.
  MemoryPoolPtr default_memory_pool();
  /// A handle with which another process opens `allocation`, which `allocate` made on this device. The process that
  /// allocated must keep the memory alive. Feature `interprocess_memory`.
  [[nodiscard]] InterprocessHandle interprocess_handle(const Allocation& allocation) const;
  /// Another process's allocation of `bytes` bytes, by the handle that it sent. Feature `interprocess_memory`.
  AllocationPtr open_allocation(const InterprocessHandle& handle, std::size_t bytes);

  // --- Peers ------------------------------------------------------------------------------------------------------

  /// Whether kernels of this device can address `peer`'s memory once access is enabled. False for itself and for another
  /// backend's device.
  [[nodiscard]] bool can_access_peer(const Device& peer) const;
  /// Does nothing if access is enabled already. Throws `unsupported` where `can_access_peer` is false,
  /// `invalid_argument` for the device itself.
  void enable_peer_access(const Device& peer);
  /// Does nothing if access is not enabled. Access that other code in the process enabled stays.
  void disable_peer_access(const Device& peer);

  // --- Modules ----------------------------------------------------------------------------------------------------

  /// Loads device code: PTX, cubin or fatbin on CUDA, a code object on HIP, a shared object made by `compile` on the host.
  /// Throws `invalid_image`. Feature `modules`.
  ModulePtr load_module(std::span<const std::byte> image);
  /// Compiles `source`, written in what CUDA C++ and HIP C++ share, for this device's architecture, and loads it. Kernels
  /// are `extern "C" __global__ void`. Throws `compilation_failed`, with the compiler's whole log, `compiler_not_found`.
  /// Feature `runtime_compilation`.
  ModulePtr compile(std::string_view source, const CompileOptions& options = {});
  /// Loads what fits this device best of kernels that were compiled ahead of time: an image for its very architecture, then
  /// one that other architectures share, then PTX; if none loads, the source that the bundle carries is compiled. Throws
  /// `invalid_image`, saying which images there are and what this device is, if nothing fits; and as `compile` does. Feature
  /// `modules` for images, `runtime_compilation` for the source. The bundle may go when this returns.
  ModulePtr load(const KernelBundle& bundle);
  /// Reads a graph that `Graph::save` wrote, on this device or another one, and loads its kernels: see
  /// weir/portable_graph.hpp. A graph is code, so the file must be a regular one that nobody but this user, or root, can
  /// write. Throws `invalid_image`, saying what is wrong with it; `backend_failure` if it cannot be read; and as `load`
  /// does.
  PortableGraphPtr load_graph(const std::string& file);
  /// The same for the file's bytes, which may go when this returns. They must be as trustworthy as the program.
  PortableGraphPtr load_graph(std::span<const std::byte> bytes);

  /// Blocks until all work of the device is done. Throws `capture_unsupported` if an open capture forbids it. Drivers that
  /// cannot record an event for a whole device (HIP, and CUDA before 12.5) allow no capture on it during this call: a call
  /// that begins a capture on the device, or joins one, waits for the end of this call.
  void synchronize();
  /// The same for at most `timeout`: returns whether all work was done by then. Where `synchronize` cannot record an event,
  /// a thread of Weir's waits in its place, and goes on to, with what that forbids, when this has returned false.
  [[nodiscard]] bool synchronize_for(Timeout timeout);

  // --- Health -----------------------------------------------------------------------------------------------------

  /// Whether the device is usable. Asks the driver, and harms no capture. A device is poisoned once its driver has reported
  /// a fault of its work and goes on to report it: on CUDA the context is lost then, until the process ends. From then on
  /// every call that concerns the device throws `device_fault` at once, with the driver's code of the first error. Pinned
  /// memory and other backends stay usable; a driver's other devices may be lost, too. Throws only
  /// `called_from_host_function` and `forked_process`.
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
