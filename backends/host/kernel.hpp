// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/host/kernel_abi.hpp"
#include "weir/error.hpp"
#include "weir/module.hpp"

/// A kernel compiled for the CPU, as the stream engine runs it.
namespace weir::host {

class HostKernel final : public Kernel {
 public:
  /// `max_threads_per_block`: the kernel's own limit (`__launch_bounds__`), or 0.
  HostKernel(ModulePtr module, std::string name, RunBlocks run, std::vector<std::size_t> parameter_sizes,
             std::uint32_t max_threads_per_block = 0);

  RunBlocks run_blocks() const noexcept { return run_; }
  /// The lower one of the device's and the kernel's limit. A larger launch is an error, as on a GPU.
  std::uint32_t max_threads_per_block() const noexcept { return max_threads_per_block_; }

 protected:
  KernelProperties do_properties() const override;
  int do_max_active_blocks(std::uint32_t block_threads, std::size_t shared_memory_bytes) const override;

 private:
  RunBlocks run_;
  std::uint32_t max_threads_per_block_;
};

/// `Device::compile` on the host: the system's C++ compiler, a cache keyed by content, and the loader.
ModulePtr compile_module(Device& device, std::string_view source, const CompileOptions& options);
/// `Device::load_module` on the host: the bytes of a shared object made by `compile_module`.
ModulePtr load_module(Device& device, const std::byte* image, std::size_t size);
/// How many threads of a block make a warp: 32, or 64 if WEIR_HOST_WARP_SIZE says so. Throws `invalid_environment`.
int warp_size();
/// The error of a launch with a block that could not go on.
Error fault_error(const HostKernel& kernel, const KernelFault& fault);
/// The compiler and its version, or why there is none: for BackendVersions::compiler.
/// `found` tells whether there is one.
std::string describe_compiler(bool& found);

}  // namespace weir::host
