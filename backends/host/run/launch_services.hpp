// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/kernel_abi.hpp"

/// The functions that compiled kernels call.
namespace weir::host {

/// A launch while its blocks run. `BlockRange::launch` points to it.
class RunningLaunch {
 public:
  /// Reports a stuck block.
  virtual void fail(const KernelFault& fault) = 0;
  /// Waits until all blocks of a cooperative launch have called it. Returns false if they cannot; the fault is already
  /// reported.
  virtual bool sync_grid(const char* place) = 0;

 protected:
  virtual ~RunningLaunch() = default;
};

const LaunchServices& launch_services() noexcept;

}  // namespace weir::host
