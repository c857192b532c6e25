// SPDX-License-Identifier: Apache-2.0
#include <sys/sysinfo.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "backends/host/run/kernel.hpp"
#include "backends/host/runtime/device.hpp"
#include "kernels/kernel_abi.hpp"

namespace weir::host {
namespace {

/// Returns the value of a line "key : value" in a file under /proc; empty if there is none.
std::string proc_value(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const std::size_t colon = line.find(':');
    const std::size_t start = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

std::size_t cache_size(int name) {
  const long size = sysconf(name);
  return size > 0 ? static_cast<std::size_t>(size) : 0;
}

std::size_t total_memory() {
  struct sysinfo info{};
  return sysinfo(&info) == 0 ? std::size_t{info.totalram} * info.mem_unit : 0;
}

}  // namespace

void describe_properties(DeviceProperties& p, int ordinal, int threads) {
  p.name = proc_value("/proc/cpuinfo", "model name");
  if (p.name.empty()) p.name = "CPU";
#if defined(__x86_64__)
  p.architecture = "x86-64";
#elif defined(__aarch64__)
  p.architecture = "aarch64";
#endif
  p.uuid = "host-" + std::to_string(ordinal);
  p.total_memory = total_memory();
  p.multiprocessor_count = threads;
  p.warp_size = warp_size();
  p.max_threads_per_block = 1024;
  p.max_threads_per_multiprocessor = 1024;
  p.shared_memory_per_block = std::size_t{48} << 10U;
  p.shared_memory_per_block_optin = most_shared_bytes;
  p.max_block = {1024, 1024, 64};
  p.max_grid = {0x7FFFFFFF, 65535, 65535};
  p.l2_cache_size = cache_size(_SC_LEVEL2_CACHE_SIZE);
  p.async_engine_count = threads;
  p.integrated = true;
  p.unified_addressing = true;
}

MemoryInfo HostDevice::do_memory_info() const {
  // The memory that is available without swapping. The kernel writes it as "12345 kB".
  const std::string available = proc_value("/proc/meminfo", "MemAvailable");
  const std::size_t free = available.empty() ? 0 : std::stoull(available) * 1024;
  return {.free = free, .total = properties().total_memory};
}

void describe_features(FeatureTable& t, bool has_compiler, const std::string& compiler) {
  for (const Feature feature : {Feature::stream_priorities,
                                Feature::per_thread_default_stream,
                                Feature::stream_id,
                                Feature::synchronization_policy,
                                Feature::host_functions,
                                Feature::stream_callbacks,
                                Feature::event_timing,
                                Feature::blocking_sync_events,
                                Feature::graph_capture,
                                Feature::capture_into_graph,
                                Feature::host_functions_in_capture,
                                Feature::memory_operations_in_capture,
                                Feature::graph_update,
                                Feature::graph_upload,
                                Feature::graph_debug_dot,
                                Feature::graph_clone,
                                Feature::graph_memory_nodes,
                                Feature::graph_child_nodes,
                                Feature::graph_conditional_nodes,
                                Feature::external_events,
                                Feature::write_value_32,
                                Feature::write_value_64,
                                Feature::wait_value_32,
                                Feature::wait_value_64,
                                Feature::wait_value_geq,
                                Feature::wait_value_nor,
                                Feature::wait_value_flush,
                                Feature::batch_memory_operations,
                                Feature::async_allocation,
                                Feature::memory_pools,
                                Feature::memory_pool_max_size,
                                Feature::managed_memory,
                                Feature::concurrent_managed_access,
                                Feature::managed_attach,
                                Feature::managed_prefetch,
                                Feature::host_registration,
                                Feature::peer_access,
                                Feature::modules,
                                Feature::block_cooperation,
                                Feature::cooperative_launch,
                                Feature::graph_node_changes,
                                Feature::graph_switch_nodes,
                                Feature::launch_priority,
                                Feature::cross_device_capture}) {
    t.native(feature);
  }
  if (has_compiler) {
    t.native(Feature::runtime_compilation);
  } else {
    t.absent(Feature::runtime_compilation, compiler);
  }
  t.emulated(Feature::partitions, "a partition's kernels run on so many workers each, but not always on the same ones");
  t.emulated(Feature::programmatic_launch, "the kernel begins once the one before it has ended");
  t.absent(Feature::cluster_launch, "blocks of this backend do not see each other's shared memory");
  t.emulated(Feature::batch_copies, "one copy each: the CPU has no call that makes many");
  t.absent(Feature::native_context, "the host backend has no contexts; a device's streams share one address space");
  t.absent(Feature::access_policy_window, "no processor lets a program reserve part of its cache for a stream");
  t.absent(Feature::interprocess_events, "queues of the host backend live in one process; use a pipe or a futex");
  t.absent(Feature::interprocess_memory, "memory of the host backend lives in one process; use shm_open and register_host");
}

}  // namespace weir::host
