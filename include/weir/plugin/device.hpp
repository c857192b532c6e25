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
/// function of `Device` with the same name, after the core has checked the arguments and the features.
class WEIR_API DeviceImpl : public Device {
 public:
  virtual StreamPtr do_create_stream(bool blocking, int priority) = 0;
  /// Called once per device.
  virtual StreamPtr do_create_default_stream() = 0;
  virtual StreamPtr do_create_per_thread_stream();
  /// For null and for the handle of a default stream, must return the default stream, for both values of `ownership`: the
  /// core then throws for `adopt`. The caller of `Device::wrap_stream` guarantees that any other handle is a stream of this
  /// device that still exists. The wrapper must report the priority and the flags of the vendor's stream.
  virtual StreamPtr do_wrap_stream(void* handle, Ownership ownership, std::shared_ptr<const void> keep_alive) = 0;
  /// If fewer units are free, the implementation must call `throw_too_few_units`.
  virtual PartitionPtr do_partition(std::uint32_t compute_units);
  virtual PriorityRange do_priority_range() const = 0;
  virtual EventPtr do_create_event(const EventOptions& options) = 0;
  virtual EventPtr do_open_event(const InterprocessHandle& handle);
  virtual void* do_allocate(std::size_t bytes, MemoryKind kind) = 0;
  virtual void do_deallocate(void* memory, MemoryKind kind) = 0;
  virtual MemoryInfo do_memory_info() const = 0;
  virtual void do_copy(void* destination, const void* source, std::size_t bytes) = 0;
  /// Returns the address of the memory on the device.
  virtual void* do_register_host(void* data, std::size_t bytes);
  virtual void do_unregister_host(void* data);
  virtual MemoryPoolPtr do_create_memory_pool(const MemoryPoolOptions& options);
  virtual MemoryPoolPtr do_default_memory_pool();
  virtual InterprocessHandle do_interprocess_handle(const Allocation& allocation) const;
  virtual void* do_open_memory(const InterprocessHandle& handle);
  virtual void do_close_memory(void* memory);
  virtual bool do_can_access_peer(const Device& peer) const = 0;
  virtual void do_enable_peer_access(const Device& peer);
  virtual void do_disable_peer_access(const Device& peer);
  virtual ModulePtr do_load_module(std::span<const std::byte> image);
  virtual ModulePtr do_compile(std::string_view source, const CompileOptions& options);
  /// Ranks an image of a kernel bundle for this device. Returns 0 if the device cannot load the image; otherwise the core
  /// tries images with higher numbers first. An estimate suffices: if the driver rejects an image (`invalid_image`), the
  /// core tries the next image.
  virtual int do_rank_image(std::string_view architecture, std::span<const std::byte> code) const;
  virtual void do_synchronize() = 0;
  /// Like `do_synchronize`, but returns false if the work is not done at `deadline`. The default implementation calls
  /// `do_synchronize` on a helper thread.
  virtual bool do_synchronize_until(std::chrono::steady_clock::time_point deadline);
  /// The streams of the device that have pending work, for diagnosis; empty if the backend cannot determine what they wait
  /// for.
  virtual std::vector<BusyStream> do_busy_streams() const;
  /// The enqueued operations of this device that may write the value for which `wait` waits.
  virtual std::vector<ValueWriter> do_writers_of(const MemoryOperation& wait) const;
  /// Returns the driver's error if the device's state is lost for good, otherwise nullopt. The core calls this after a
  /// `device_fault`, possibly while the backend holds locks, and in `health`. The implementation must not block and must not
  /// invalidate any capture.
  virtual std::optional<Error> do_fault() const;

 protected:
  DeviceImpl(Backend& backend, int ordinal, std::int64_t native_handle) : Device(backend, ordinal, native_handle) {}
  virtual ~DeviceImpl() = default;
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
  /// Creates a non-blocking stream.
  virtual StreamPtr do_create_stream(int priority) = 0;

 protected:
  PartitionImpl(Device& device, void* handle, std::uint32_t compute_units) noexcept
      : Partition(device, handle, compute_units) {}
  Disposal disposal() const noexcept override { return Disposal::driver; }
};

}  // namespace weir
