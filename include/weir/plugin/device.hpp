// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weir/device.hpp"
#include "weir/error.hpp"
#include "weir/partition.hpp"
#include "weir/plugin/waits.hpp"

/// The interface that a backend implements for its devices and partitions.
namespace weir {

/// The base class of each backend's devices; every `Device` object is a `DeviceImpl`. Each `do_` function implements the
/// function of `Device` with the same name.
///
/// Before the core calls a `do_` function, it has checked the arguments, the feature that the public function names, and,
/// where the public function throws `capture_unsupported`, that no capture begun through Weir forbids the call. Captures of
/// external code may still be open; calls should not invalidate them. Any thread may call any function at any time, unless
/// documented otherwise. Sizes are in bytes. A driver's error must be thrown as `weir::Error` with its `NativeError`:
/// `device_fault` if work on the device failed, `out_of_memory`, otherwise `backend_failure`. The default implementation
/// of a function that is not pure virtual throws `unsupported` unless documented otherwise.
class WEIR_API DeviceImpl : public Device {
 public:
  /// Creates a stream of kind `owned`. `priority`: a number in `do_priority_range`. (cudaStreamCreateWithPriority)
  virtual StreamPtr do_create_stream(bool blocking, int priority) = 0;
  /// Creates the object for the legacy default stream. The core calls this once per device, and never drops the object.
  virtual StreamPtr do_create_default_stream() = 0;
  /// Creates an object for the calling thread's default stream. The core calls this on the thread whose stream it is, once
  /// for each thread, and again while a thread ends. Feature `per_thread_default_stream`.
  virtual StreamPtr do_create_per_thread_stream();
  /// For null and for the handle of a default stream, must return the default stream, for both values of `ownership`: the
  /// core then throws for `adopt`. The caller of `Device::wrap_stream` guarantees that any other handle is a stream of this
  /// device that still exists. The wrapper must report the priority and the flags of the vendor's stream. Throws
  /// `wrong_device` or `invalid_argument` for another handle, if the driver can detect that. `keep_alive`: to be passed to
  /// `StreamImpl`, which releases it.
  virtual StreamPtr do_wrap_stream(void* handle, Ownership ownership, std::shared_ptr<const void> keep_alive) = 0;
  /// Creates a partition of at least `compute_units` units, which are 1 or more. If fewer units are free, the
  /// implementation must call `throw_too_few_units`. The units must become free again when the partition and its streams are
  /// destroyed. Feature `partitions`. (cuGreenCtxCreate)
  virtual PartitionPtr do_partition(std::uint32_t compute_units);
  /// The range of priorities in the vendor's numbering: a lower number is more urgent. It must not change.
  /// (cudaDeviceGetStreamPriorityRange)
  virtual PriorityRange do_priority_range() const = 0;
  /// Creates an event that was never recorded. The device has the features that the options need. May reuse a vendor's event
  /// whose owners are gone. (cudaEventCreateWithFlags)
  virtual EventPtr do_create_event(const EventOptions& options) = 0;
  /// Opens an event of another process. Feature `interprocess_events`. (cudaIpcOpenEventHandle)
  virtual EventPtr do_open_event(const InterprocessHandle& handle);
  /// Allocates `bytes` bytes, at least 1, of any kind; managed memory only with the feature `managed_memory`. Returns an
  /// address that is a multiple of 256. Throws `out_of_memory`. (cudaMalloc, cudaMallocHost, cudaMallocManaged)
  virtual void* do_allocate(std::size_t bytes, MemoryKind kind) = 0;
  /// Frees memory of `do_allocate`, once, with the same kind. Pending work of this device may use the memory, which must
  /// stay valid until that work is done. May wait for the work. Exceptions are logged. (cudaFree, cudaFreeHost)
  virtual void do_deallocate(void* memory, MemoryKind kind) = 0;
  /// Unknown numbers are 0. (cudaMemGetInfo)
  virtual MemoryInfo do_memory_info() const = 0;
  /// Copies `bytes` bytes, at least 1, in any direction, and returns when the copy is done. The addresses are not null. The
  /// copy must not be ordered with any stream. (cudaMemcpy)
  virtual void do_copy(void* destination, const void* source, std::size_t bytes) = 0;
  /// Pins `bytes` bytes, at least 1, and returns the address of the memory on the device. The caller owns the memory.
  /// Feature `host_registration`. (cudaHostRegister, cudaHostGetDevicePointer)
  virtual void* do_register_host(void* data, std::size_t bytes);
  /// Unpins memory that `do_register_host` has pinned; `data` is its host address. Exceptions are logged. The default
  /// implementation does nothing. (cudaHostUnregister)
  virtual void do_unregister_host(void* data);
  /// Creates a pool. `options.max_size` is 0 unless the device has the feature `memory_pool_max_size`. The memory of a pool
  /// may outlive the pool's last owner. Feature `memory_pools`. (cudaMemPoolCreate)
  virtual MemoryPoolPtr do_create_memory_pool(const MemoryPoolOptions& options);
  /// The device's default pool; each call may return another object. Feature `memory_pools`. (cudaDeviceGetDefaultMemPool)
  virtual MemoryPoolPtr do_default_memory_pool();
  /// `allocation`: device memory of `do_allocate`. Feature `interprocess_memory`. (cudaIpcGetMemHandle)
  virtual InterprocessHandle do_interprocess_handle(const Allocation& allocation) const;
  /// Opens memory of another process, and returns its address here. Feature `interprocess_memory`. (cudaIpcOpenMemHandle)
  virtual void* do_open_memory(const InterprocessHandle& handle);
  /// Closes memory of `do_open_memory`, once. Exceptions are logged. The default implementation does nothing.
  /// (cudaIpcCloseMemHandle)
  virtual void do_close_memory(void* memory);
  /// Called only if the device has the feature `peer_access`. `peer`: another device of the same backend.
  /// (cudaDeviceCanAccessPeer)
  virtual bool do_can_access_peer(const Device& peer) const = 0;
  /// `peer`: a device for which `do_can_access_peer` returns true. Must include memory that is allocated later, also from
  /// pools. Must do nothing if the access is enabled, also by external code. Feature `peer_access`.
  /// (cudaDeviceEnablePeerAccess)
  virtual void do_enable_peer_access(const Device& peer);
  /// Ends the access that `do_enable_peer_access` has enabled; otherwise must do nothing. Feature `peer_access`.
  /// (cudaDeviceDisablePeerAccess)
  virtual void do_disable_peer_access(const Device& peer);
  /// `image`: at least one byte, from the program or a bundle; valid only during the call. Throws `invalid_image` if the
  /// device cannot load it: `Device::load` then tries the bundle's next image. Feature `modules`. (cuModuleLoadData)
  virtual ModulePtr do_load_module(std::span<const std::byte> image);
  /// Compiles `source` for this device's architecture and loads it. The core has checked `options`, except `extra`. Throws
  /// `compilation_failed`, with the compiler's whole log; `compiler_not_found`; `invalid_argument` for a bad `extra`. A
  /// cache is the backend's own. Feature `runtime_compilation`. (nvrtcCompileProgram, cuModuleLoadData)
  virtual ModulePtr do_compile(std::string_view source, const CompileOptions& options);
  /// Ranks an image of a kernel bundle for this device. Returns 0 if the device cannot load the image; otherwise the core
  /// tries images with higher numbers first. An estimate suffices: if the driver rejects an image (`invalid_image`), the
  /// core tries the next image. `architecture`: the name that the bundle has for it. The default implementation returns 1
  /// for the device's own architecture, otherwise 0.
  virtual int do_rank_image(std::string_view architecture, std::span<const std::byte> code) const;
  /// Blocks until all work enqueued so far on the device is done, also the work of closed streams. Throws the error of
  /// failed work, but no exceptions of host functions. If the driver's call would invalidate captures, make it within a
  /// `support::DeviceWideCall`. (cudaDeviceSynchronize)
  virtual void do_synchronize() = 0;
  /// Like `do_synchronize`, but returns false if the work is not done at `deadline`. The default implementation calls
  /// `do_synchronize` on a helper thread.
  virtual bool do_synchronize_until(std::chrono::steady_clock::time_point deadline);
  /// The streams of the device that have pending work, for diagnosis; empty if the backend cannot determine the causes of
  /// their waits. Must not wait for work. The default implementation returns none.
  virtual std::vector<BusyStream> do_busy_streams() const;
  /// The enqueued operations of this device that may write the value for which `wait` waits. `wait`: a wait of any stream
  /// of the process. Must not wait for work. The default implementation returns none.
  virtual std::vector<ValueWriter> do_writers_of(const MemoryOperation& wait) const;
  /// Returns the driver's error if the device's state is lost for good, otherwise nullopt. The core calls this after a
  /// `device_fault`, possibly while the backend holds locks, and in `health`. The implementation must not block and must not
  /// invalidate any capture. The default implementation returns nullopt.
  virtual std::optional<Error> do_fault() const;

 protected:
  /// `ordinal`: the device's number in its backend, from 0 without gaps. `native_handle`: for `Device::native_handle`.
  DeviceImpl(Backend& backend, int ordinal, std::int64_t native_handle) : Device(backend, ordinal, native_handle) {}
  virtual ~DeviceImpl() = default;
  /// Throws the `invalid_argument` of `Device::partition`. `left`: the number of units that could be had.
  [[noreturn]] void throw_too_few_units(std::uint32_t compute_units, std::uint32_t left) const;

  /// The properties and features, which the backend sets while it constructs the device. They must not change afterwards.
  DeviceProperties& mutable_properties() noexcept { return properties_; }
  FeatureTable& mutable_features() noexcept { return features_; }

 private:
  friend class Device;

  std::mutex default_stream_mutex_;
  std::atomic<Stream*> default_stream_{nullptr};
};

/// The base class of each backend's partitions; every `Partition` object is a `PartitionImpl`.
class WEIR_API PartitionImpl : public Partition {
 public:
  /// Creates a non-blocking stream whose kernels run only on the partition's units. `priority`: as in
  /// `DeviceImpl::do_create_stream`. The stream must keep the partition alive. Any thread. (cuGreenCtxStreamCreate)
  virtual StreamPtr do_create_stream(int priority) = 0;

 protected:
  /// `handle`: the vendor's context of the partition, or null. `compute_units`: the number of units that it has.
  PartitionImpl(Device& device, void* handle, std::uint32_t compute_units) noexcept
      : Partition(device, handle, compute_units) {}
  Disposal disposal() const noexcept override { return Disposal::driver; }
};

}  // namespace weir
