// SPDX-License-Identifier: Apache-2.0
#include "backends/host/run/launch_services.hpp"

#include "backends/host/run/fibers.hpp"
#include "backends/host/run/kernel_crash.hpp"
#include "backends/host/run/worker_memory.hpp"

namespace weir::host {

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
      }};
  return services;
}

}  // namespace weir::host
