// SPDX-License-Identifier: Apache-2.0
#include "backends/host/kernel.hpp"

#include <utility>

#include "weir/device.hpp"

namespace weir::host {

HostKernel::HostKernel(ModulePtr module, std::string name, RunBlocks run, std::vector<std::size_t> parameter_sizes,
                       std::uint32_t max_threads_per_block)
    : Kernel(std::move(module), std::move(name), reinterpret_cast<void*>(run), std::move(parameter_sizes)),
      run_(run),
      max_threads_per_block_(static_cast<std::uint32_t>(device().properties().max_threads_per_block)) {
  if (max_threads_per_block != 0 && max_threads_per_block < max_threads_per_block_) {
    max_threads_per_block_ = max_threads_per_block;
  }
}

KernelProperties HostKernel::do_properties() const { return {.max_threads_per_block = max_threads_per_block_}; }

// A worker runs one block at a time.
int HostKernel::do_max_active_blocks(std::uint32_t block_threads, std::size_t shared_memory_bytes) const {
  const bool fits = block_threads != 0 && block_threads <= max_threads_per_block_ &&
                    shared_memory_bytes <= device().properties().shared_memory_per_block;
  return fits ? 1 : 0;
}

}  // namespace weir::host
