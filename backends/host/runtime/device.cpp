// SPDX-License-Identifier: Apache-2.0
#include "backends/host/runtime/device.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "backends/host/compile/compile.hpp"
#include "backends/host/compile/load.hpp"
#include "backends/host/run/kernel.hpp"
#include "backends/host/run/module.hpp"
#include "backends/host/runtime/stream.hpp"
#include "backends/host/schedule/scheduled_memory.hpp"
#include "weir/backend.hpp"
#include "weir/error.hpp"

namespace weir::host {

HostDevice::HostDevice(Backend& backend, int ordinal, bool has_compiler, const std::string& compiler)
    : DeviceImpl(backend, ordinal, ordinal) {
  describe_properties(mutable_properties(), ordinal, Scheduler::instance().threads());
  describe_features(mutable_features(), has_compiler, compiler);
  memory_pool_ = make_ptr<HostMemoryPool>(*this, MemoryPoolOptions{.release_threshold = std::size_t{64} << 20U});
}

// --- Streams ----------------------------------------------------------------------------------------------------------

StreamPtr HostDevice::do_create_stream(bool blocking, int priority) {
  const auto role = blocking ? Queue::Role::blocking : Queue::Role::non_blocking;
  return make_ptr<HostStream>(*this, make_ptr<Queue>(engine_, role, priority), StreamKind::owned);
}

namespace {

/// A partition is a number of workers: at most that many workers run one of its kernels, whichever they are.
class HostPartition final : public PartitionImpl {
 public:
  HostPartition(HostDevice& device, Engine& engine, std::uint32_t workers)
      : PartitionImpl(device, nullptr, workers), device_(device), engine_(engine) {}

 protected:
  ~HostPartition() override { device_.give_workers_back(compute_units()); }
  StreamPtr do_create_stream(int priority) override {
    return make_ptr<HostStream>(device_, make_ptr<Queue>(engine_, Queue::Role::non_blocking, priority, compute_units()),
                                StreamKind::owned, std::make_shared<PartitionPtr>(this));
  }
  Disposal disposal() const noexcept override { return Disposal::anywhere; }

 private:
  HostDevice& device_;
  Engine& engine_;
};

}  // namespace

PartitionPtr HostDevice::do_partition(std::uint32_t workers) {
  const std::lock_guard lock(partition_mutex_);
  const std::uint32_t left = static_cast<std::uint32_t>(properties().multiprocessor_count) - partitioned_;
  if (workers > left) throw_too_few_units(workers, left);
  PartitionPtr partition = make_ptr<HostPartition>(*this, engine_, workers);
  partitioned_ += workers;
  return partition;
}

void HostDevice::give_workers_back(std::uint32_t count) noexcept {
  const std::lock_guard lock(partition_mutex_);
  partitioned_ -= count;
}

StreamPtr HostDevice::do_create_default_stream() {
  return make_ptr<HostStream>(*this, Ptr<Queue>(&engine_.default_queue()), StreamKind::legacy_default);
}

StreamPtr HostDevice::do_create_per_thread_stream() {
  return make_ptr<HostStream>(*this, make_ptr<Queue>(engine_, Queue::Role::per_thread, 0), StreamKind::per_thread_default);
}

StreamPtr HostDevice::do_wrap_stream(void* handle, Ownership ownership, std::shared_ptr<const void> keep_alive) {
  Queue& queue = handle == nullptr ? engine_.default_queue() : Queue::from_handle(engine_, handle);
  if (&queue == &engine_.default_queue()) {
    return make_ptr<HostStream>(*this, Ptr<Queue>(&engine_.default_queue()), StreamKind::legacy_default,
                                std::move(keep_alive));
  }
  if (queue.role() == Queue::Role::per_thread) {
    return make_ptr<HostStream>(*this, Ptr<Queue>(&queue), StreamKind::per_thread_default, std::move(keep_alive));
  }
  if (ownership == Ownership::adopt) {
    if (!queue.take_from_caller()) {
      throw Error(Errc::invalid_argument, "Device::wrap_stream", describe(),
                  "the handle already has an owner, which would destroy the stream a second time; adopt only a handle from "
                  "release_handle, once, or borrow it");
    }
    const Ptr<Queue> owned = Ptr<Queue>::attach(&queue);
    try {
      return make_ptr<HostStream>(*this, owned, StreamKind::adopted, std::move(keep_alive));
    } catch (...) {
      queue.release_to_caller();
      throw;
    }
  }
  return make_ptr<HostStream>(*this, Ptr<Queue>(&queue), StreamKind::borrowed, std::move(keep_alive));
}

PriorityRange HostDevice::do_priority_range() const { return {.least = 1, .greatest = -1}; }

EventPtr HostDevice::do_create_event(const EventOptions& options) { return events_.take(*this, options); }

// --- Memory -----------------------------------------------------------------------------------------------------------

void* HostDevice::do_allocate(std::size_t bytes, MemoryKind) {
  wait_for_room();
  void* const memory = allocate_aligned(*this, "Device::allocate", bytes);
  watch_memory(memory, bytes, Watch::owned);
  return memory;
}

void HostDevice::do_deallocate(void* memory, MemoryKind) { free_behind_work(memory); }

void HostDevice::do_copy(void* destination, const void* source, std::size_t bytes) {
  std::memmove(destination, source, bytes);
}

void* HostDevice::do_register_host(void* data, std::size_t bytes) {
  // There is nothing to do. But the call must fail for memory that does not exist, as on a GPU. msync fails for unmapped
  // pages and otherwise has no effect here.
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t end = first + bytes;
  if (end < first || ::msync(reinterpret_cast<void*>(first / page * page), end - first / page * page, MS_ASYNC) != 0) {
    throw Error(Errc::invalid_argument, "Device::register_host", describe(),
                "the " + std::to_string(bytes) +
                    " bytes are not all memory of this process; pass the address and the size of existing memory");
  }
  watch_memory(data, bytes, Watch::registered);
  return data;
}

void HostDevice::do_unregister_host(void* data) { unwatch_memory(data); }

MemoryPoolPtr HostDevice::do_create_memory_pool(const MemoryPoolOptions& options) {
  return make_ptr<HostMemoryPool>(*this, options);
}

MemoryPoolPtr HostDevice::do_default_memory_pool() { return memory_pool_; }

bool HostDevice::do_can_access_peer(const Device&) const { return true; }
void HostDevice::do_enable_peer_access(const Device&) {}
void HostDevice::do_disable_peer_access(const Device&) {}

// --- Modules ----------------------------------------------------------------------------------------------------------

namespace {

/// With WEIR_SCHEDULE: adds the module's variables to the program's memory, which the witness compares.
ModulePtr with_watched_variables(ModulePtr module) {
  struct WatchedVariables {
    std::vector<void*> variables;
    ~WatchedVariables() {
      for (void* const variable : variables) unwatch_memory(variable);
    }
  };
  if (!Scheduler::instance().has_policy()) return module;
  auto& host_module = static_cast<HostModule&>(*module);
  auto watched = std::make_shared<WatchedVariables>();
  for (const HostModule::Variable& variable : host_module.variables()) {
    watched->variables.push_back(variable.memory.data());
    watch_memory(variable.memory.data(), variable.memory.size_bytes(), Watch::registered);
  }
  host_module.attach(std::move(watched));
  return module;
}

}  // namespace

ModulePtr HostDevice::do_load_module(std::span<const std::byte> image) {
  return with_watched_variables(host::load_module(*this, image.data(), image.size()));
}

ModulePtr HostDevice::do_compile(std::string_view source, const CompileOptions& options) {
  return with_watched_variables(compile_module(*this, source, options));
}

int HostDevice::do_rank_image(std::string_view, std::span<const std::byte> code) const { return rank_image(*this, code); }

void HostDevice::do_synchronize() {
  const auto mine = [this](const Queue& queue) { return &queue.device() == this; };
  for (const Ptr<Queue>& queue : BusyQueues::instance().matching(mine))
    queue->wait_on_host(queue->submitted(), SynchronizationPolicy::automatic);
}

bool HostDevice::do_synchronize_until(std::chrono::steady_clock::time_point deadline) {
  const auto mine = [this](const Queue& queue) { return &queue.device() == this; };
  const std::vector<Ptr<Queue>> busy = BusyQueues::instance().matching(mine);
  std::vector<std::uint64_t> points;
  for (const Ptr<Queue>& queue : busy) points.push_back(queue->submitted());
  for (std::size_t i = 0; i < busy.size(); ++i) {
    if (!busy[i]->wait_on_host_until(points[i], deadline)) return false;
  }
  return true;
}

}  // namespace weir::host
