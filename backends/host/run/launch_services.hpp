// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel_abi.hpp"

/// The services that compiled kernels call in the process that runs them.
namespace weir::host {

/// A launch whose blocks are running. `BlockRange::launch` points to it.
class RunningLaunch {
 public:
  /// Reports that a block is stuck.
  virtual void fail(const KernelFault& fault) = 0;
  /// Whether a block is stuck. Others that poll may wait for it.
  virtual bool is_stuck() const noexcept = 0;
  /// Waits until all blocks of a cooperative launch have called it. Returns false if some of them cannot; that fault has
  /// been reported already.
  virtual bool sync_grid(const char* place) = 0;
  /// Called when a range of blocks is done whose threads have waited on fibers.
  virtual void has_waited_on_fibers() noexcept = 0;

 protected:
  virtual ~RunningLaunch() = default;
};

const LaunchServices& launch_services() noexcept;

}  // namespace weir::host
