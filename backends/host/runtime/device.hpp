// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>

#include "backends/host/engine/engine.hpp"
#include "backends/host/engine/waits.hpp"
#include "backends/host/runtime/event.hpp"
#include "backends/host/runtime/memory.hpp"
#include "weir/plugin/device.hpp"

namespace weir::host {

/// One of the host devices, which all run on the same CPU. All devices share the workers and the memory. Each device has its
/// own streams, its own default stream and its own thread for host functions.
class HostDevice final : public DeviceImpl {
 public:
  HostDevice(Backend& backend, int ordinal, bool has_compiler, const std::string& compiler);

  EventPool& events() noexcept { return events_; }
  /// Called when a partition is destroyed: returns its workers.
  void give_workers_back(std::uint32_t count) noexcept;
  HostMemoryPool& memory_pool() const noexcept { return *memory_pool_; }

 protected:
  StreamPtr do_create_stream(bool blocking, int priority) override;
  PartitionPtr do_partition(std::uint32_t compute_units) override;
  StreamPtr do_create_default_stream() override;
  StreamPtr do_create_per_thread_stream() override;
  StreamPtr do_wrap_stream(void* handle, Ownership ownership, std::shared_ptr<const void> keep_alive) override;
  PriorityRange do_priority_range() const override;
  EventPtr do_create_event(const EventOptions& options) override;
  void* do_allocate(std::size_t bytes, MemoryKind kind) override;
  void do_deallocate(void* memory, MemoryKind kind) override;
  MemoryInfo do_memory_info() const override;
  void do_copy(void* destination, const void* source, std::size_t bytes) override;
  void* do_register_host(void* data, std::size_t bytes) override;
  void do_unregister_host(void* data) override;
  MemoryPoolPtr do_create_memory_pool(const MemoryPoolOptions& options) override;
  MemoryPoolPtr do_default_memory_pool() override;
  bool do_can_access_peer(const Device& peer) const override;
  void do_enable_peer_access(const Device& peer) override;
  void do_disable_peer_access(const Device& peer) override;
  ModulePtr do_load_module(std::span<const std::byte> image) override;
  ModulePtr do_compile(std::string_view source, const CompileOptions& options) override;
  int do_rank_image(std::string_view architecture, std::span<const std::byte> code) const override;
  void do_synchronize() override;
  bool do_synchronize_until(std::chrono::steady_clock::time_point deadline) override;
  std::vector<BusyStream> do_busy_streams() const override { return busy_streams(*this); }
  std::vector<ValueWriter> do_writers_of(const MemoryOperation& wait) const override { return writers_of(*this, wait); }

 private:
  EventPool events_;
  Engine engine_{*this};
  std::mutex partition_mutex_;  // guards the members below
  std::uint32_t partitioned_ = 0;
  Ptr<HostMemoryPool> memory_pool_;
};

/// Sets the features that devices of the host backend have.
void describe_features(FeatureTable& features, bool has_compiler, const std::string& compiler);
void describe_properties(DeviceProperties& properties, int ordinal, int threads);

}  // namespace weir::host
