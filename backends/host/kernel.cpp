// SPDX-License-Identifier: Apache-2.0
#include "backends/host/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "weir/backend_support.hpp"
#include "weir/device.hpp"

namespace weir::host {

HostKernel::HostKernel(ModulePtr module, std::string name, const KernelRecord& record)
    : Kernel(std::move(module), std::move(name), reinterpret_cast<void*>(record.run),
             std::vector<std::size_t>(record.parameter_sizes, record.parameter_sizes + record.parameter_count),
             {record.known_kinds, record.floating_kinds, record.constant_kinds}),
      run_(record.run),
      max_threads_per_block_(static_cast<std::uint32_t>(device().properties().max_threads_per_block)) {
  if (record.max_threads_per_block != 0)
    max_threads_per_block_ = std::min(max_threads_per_block_, record.max_threads_per_block);
}

KernelProperties HostKernel::do_properties() const { return {.max_threads_per_block = max_threads_per_block_}; }

// A worker runs one block at a time.
int HostKernel::do_max_active_blocks(std::uint32_t block_threads, std::size_t shared_memory_bytes) const {
  const bool fits = block_threads != 0 && block_threads <= max_threads_per_block_ &&
                    shared_memory_bytes <= device().properties().shared_memory_per_block_optin;
  return fits ? 1 : 0;
}

// A block is a loop of a worker's: long enough that its beginning costs nothing, and short enough that its threads' arrays
// stay in the nearest cache.
std::uint32_t HostKernel::do_suggested_block_size(std::size_t) const {
  return std::min<std::uint32_t>(256, max_threads_per_block_);
}

int warp_size() {
  constexpr const char* variable = "WEIR_HOST_WARP_SIZE";
  const long size = support::environment_number(variable, 32, 32, 64);
  if (size != 32 && size != 64) {
    throw Error(Errc::invalid_environment, fmt::format("reading {}='{}'", variable, size), "",
                "a warp has 32 or 64 threads here; set one of them");
  }
  return static_cast<int>(size);
}

Error fault_error(const HostKernel& kernel, const KernelFault& fault) {
  const std::string block = fmt::format("block ({}, {}, {})", fault.block[0], fault.block[1], fault.block[2]);
  std::string cause;
  if (fault.function == std::string_view("sync of a grid_group") && fault.expected == 0) {
    cause = "blocks can wait for each other in a cooperative launch alone; give LaunchConfig{.cooperative = true}";
  } else if (fault.function == std::string_view("sync of a grid_group") && fault.thread == whole_grid) {
    cause = fmt::format("{} of the {} blocks reach {}, and the others have returned; let all blocks reach it", fault.here,
                        fault.expected, fault.function);
  } else if (fault.expected != 0) {
    cause = fmt::format(
        "{} of the {} threads of {} that have not returned reach {}, and the others do not; let all of them reach it, or "
        "return before it",
        fault.here, fault.expected, block, fault.function);
  } else if (fault.missing_lanes != 0) {
    cause = fmt::format("thread {} of {} calls {} for lanes that do not call it (0x{:x}); name in the mask those that do",
                        fault.thread, block, fault.function, fault.missing_lanes);
  } else {
    cause = fmt::format("thread {} of {} calls {} with a mask that does not name its own lane", fault.thread, block,
                        fault.function);
  }
  return {Errc::device_fault, "Stream::launch", fmt::format("kernel '{}' on {}", kernel.name(), kernel.device().describe()),
          fmt::format("{}: {}", fault.place, cause)};
}

}  // namespace weir::host
