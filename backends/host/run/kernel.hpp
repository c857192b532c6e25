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

/// A kernel compiled for the CPU, as the stream engine runs it.
namespace weir::host {

class HostModule;

class HostKernel final : public KernelImpl {
 public:
  /// `record` must live as long as the module.
  HostKernel(Ptr<HostModule> module, std::string name, const KernelRecord& record);

  RunBlocks run_blocks() const noexcept { return run_; }
  /// The loaded code of its whole module.
  std::span<const std::byte> code() const noexcept { return code_; }
  /// The lower of the device's and the kernel's limit. A larger launch is an error, as on a GPU.
  std::uint32_t max_threads_per_block() const noexcept { return max_threads_per_block_; }
  /// Measured on its launches; a step is a block.
  StepTime& step_time() const noexcept { return step_time_; }
  /// The same kernel on fibers, for comparing launches; or null.
  const Ptr<const HostKernel>& reference() const noexcept { return reference_; }
  void set_reference(Ptr<const HostKernel> reference) noexcept { reference_ = std::move(reference); }

 protected:
  KernelProperties do_properties() const override;
  int do_max_active_blocks(std::uint32_t block_threads, std::size_t shared_memory_bytes) const override;
  std::uint32_t do_suggested_block_size(std::size_t shared_memory_bytes) const override;

 private:
  RunBlocks run_;
  std::span<const std::byte> code_;
  std::uint32_t max_threads_per_block_;
  KernelTier tier_;
  Ptr<const HostKernel> reference_;
  alignas(64) mutable StepTime step_time_;  // written by each launch, while other threads read the rest
};

/// The number of threads in a warp: 32, or 64 with WEIR_HOST_WARP_SIZE=64. Throws `invalid_environment`.
int warp_size();
/// The error of a launch with a stuck block.
Error fault_error(const HostKernel& kernel, const KernelFault& fault);
/// The error of a launch with a crashed thread, in the block of that index, or in one from there to the last.
Error crash_error(const HostKernel& kernel, const KernelCrash& crash, const Dim3& block, const Dim3& last_block);
/// The error of a launch that had no memory for some blocks.
Error out_of_memory_error(const HostKernel& kernel);

}  // namespace weir::host
