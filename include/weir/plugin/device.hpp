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

namespace weir {

/// The base of a backend's devices. Every `Device` is one. As with streams (weir/plugin/stream.hpp), the core has done all
/// checks before it calls a `do_` function.
class WEIR_API DeviceImpl : public Device {
 public:
  virtual StreamPtr do_create_stream(bool blocking, int priority) = 0;
  /// The default stream is requested once per device, the per-thread stream once per thread and device.
  virtual StreamPtr do_create_default_stream() = 0;
  virtual StreamPtr do_create_per_thread_stream();
  /// For null or the handle of a default stream it returns that default stream, even for `adopt`, which the core then
  /// refuses. Any other handle is a live stream of this device. The wrapper must report the handle's priority and flags.
  virtual StreamPtr do_wrap_stream(void* handle, Ownership ownership, std::shared_ptr<const void> keep_alive) = 0;
  /// Throws `invalid_argument` for more units than are left: `throw_too_few_units`.
  virtual PartitionPtr do_partition(std::uint32_t compute_units);
  virtual PriorityRange do_priority_range() const = 0;
  virtual EventPtr do_create_event(const EventOptions& options) = 0;
  virtual EventPtr do_open_event(const InterprocessHandle& handle);
  virtual void* do_allocate(std::size_t bytes, MemoryKind kind) = 0;
  virtual void do_deallocate(void* memory, MemoryKind kind) = 0;
  virtual MemoryInfo do_memory_info() const = 0;
  virtual void do_copy(void* destination, const void* source, std::size_t bytes) = 0;
  /// Returns the device's address of the memory.
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
  /// How well a bundle's image for that architecture suits this device: 0 if it cannot be loaded; higher is better. Need not
  /// be exact: if the driver refuses an image (`invalid_image`), the next one is tried.
  virtual int do_rank_image(std::string_view architecture, std::span<const std::byte> code) const;
  virtual void do_synchronize() = 0;
  /// The same until `deadline`: returns whether the work was done. The default implementation calls `do_synchronize` on a
  /// thread.
  virtual bool do_synchronize_until(std::chrono::steady_clock::time_point deadline);
  /// The device's streams that have work, if the backend can report their waits.
  virtual std::vector<BusyStream> do_busy_streams() const;
  /// The operations of these streams that write, or may write, the value for which `wait` waits.
  virtual std::vector<ValueWriter> do_writers_of(const MemoryOperation& wait) const;
  /// The driver's error if the device's state is lost for good and the driver reports that without waiting. Called when a
  /// call has failed with `device_fault`, possibly under the backend's locks, and by `health`. Must not invalidate any
  /// capture.
  virtual std::optional<Error> do_fault() const;

 protected:
  DeviceImpl(Backend& backend, int ordinal, std::int64_t native_handle) : Device(backend, ordinal, native_handle) {}
  virtual ~DeviceImpl() = default;
  [[noreturn]] void throw_too_few_units(std::uint32_t compute_units, std::uint32_t left) const;

  /// The backend's constructor fills these in. They do not change afterwards.
  DeviceProperties& mutable_properties() noexcept { return properties_; }
  FeatureTable& mutable_features() noexcept { return features_; }

 private:
  friend class Device;

  std::mutex default_stream_mutex_;
  std::atomic<Stream*> default_stream_{nullptr};
};

/// The base of a backend's partitions. Every `Partition` is one.
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
