// SPDX-License-Identifier: Apache-2.0
#include "backends/host/run/launch_services.hpp"

#include <link.h>

#include "backends/host/run/fibers.hpp"
#include "backends/host/run/kernel_crash.hpp"
#include "backends/host/run/worker_memory.hpp"

namespace weir::host {
namespace {

int is_in_object(dl_phdr_info* object, std::size_t, void* data) {
  char** const range = static_cast<char**>(data);
  auto* const begin = static_cast<char*>(object->dlpi_tls_data);  // null if this thread has no such memory yet
  for (unsigned i = 0; begin != nullptr && i < object->dlpi_phnum; ++i) {
    const auto& part = object->dlpi_phdr[i];
    const auto at = reinterpret_cast<std::uintptr_t>(range) - reinterpret_cast<std::uintptr_t>(begin);
    if (part.p_type != PT_TLS || at >= part.p_memsz) continue;
    range[0] = begin;
    range[1] = begin + part.p_memsz;
    return 1;
  }
  return 0;
}

void find_thread_memory(char** range) { ::dl_iterate_phdr(&is_in_object, range); }

}  // namespace

const LaunchServices& launch_services() noexcept {
  static constexpr LaunchServices services = {
      [](std::size_t bytes) { return WorkerMemory::mine().take(bytes); },
      [](void* memory) { WorkerMemory::mine().give_back(memory); },
      [](void* launch, const KernelFault& fault) { static_cast<RunningLaunch*>(launch)->fail(fault); },
      [](void* launch, const char* place) { return static_cast<RunningLaunch*>(launch)->sync_grid(place); },
      &run_fibers,
      &wait_on_fiber,
      [](const char* condition, const char* file, std::uint32_t line) {
        KernelSection::current().leave(
            {.cause = KernelCrash::Cause::assertion, .file = file, .line = line, .condition = condition});
      },
      &find_thread_memory};
  return services;
}

}  // namespace weir::host
