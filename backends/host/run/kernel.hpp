// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/host/run/kernel_crash.hpp"
#include "backends/host/run/step_time.hpp"
#include "kernels/kernel_abi.hpp"
#include "weir/error.hpp"
#include "weir/plugin/module.hpp"

/// A kernel that was compiled for the CPU, in the form in which the stream engine runs it.
namespace weir::host {

class HostModule;

class HostKernel final : public KernelImpl {
 public:
  /// `record`: must live as long as the module.
  HostKernel(Ptr<HostModule> module, std::string name, const KernelRecord& record);

  RunBlocks run_blocks() const noexcept { return run_; }
  /// The loaded machine code of the kernel's module.
  std::span<const std::byte> code() const noexcept { return code_; }
  /// The lower of the device's limit and the kernel's own limit. A launch with larger blocks is an error, as on a GPU.
  std::uint32_t max_threads_per_block() const noexcept { return max_threads_per_block_; }
  /// Measurements of this kernel's launches; a step is one block.
  StepTime& step_time() const noexcept { return step_time_; }
  /// Logs one warning in a process, if kernels that wait are slow because the compiler, which compiled this one in this
  /// process, lacks the work-group pass.
  void warn_of_fibers() const noexcept;

 protected:
  KernelProperties do_properties() const override;
  int do_max_active_blocks(std::uint32_t block_threads, std::size_t shared_memory_bytes) const override;
  std::uint32_t do_suggested_block_size(std::size_t shared_memory_bytes) const override;

 private:
  RunBlocks run_;
  std::span<const std::byte> code_;
  std::uint32_t max_threads_per_block_;
  KernelTier tier_;
  bool is_compiled_here_;
  alignas(64) mutable StepTime step_time_;  // each launch writes it, while other threads read the other members
};

/// The number of threads in a warp: 32, or 64 if WEIR_HOST_WARP_SIZE=64. Throws `invalid_environment`.
int warp_size();
/// Returns the error for a launch with a stuck block.
Error fault_error(const HostKernel& kernel, const KernelFault& fault);
/// Returns the error for a launch with a crashed thread. The thread belongs to `block`, or, if several blocks ran as one, to
/// one of the blocks from there to `last_block`.
Error crash_error(const HostKernel& kernel, const KernelCrash& crash, const Dim3& block, const Dim3& last_block);
/// Returns the error for a launch that had no memory for some of its blocks.
Error out_of_memory_error(const HostKernel& kernel);

}  // namespace weir::host
