// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weir/weir.hpp"

namespace entropy {

/// The two kernels, compiled for a device, and the layout of their shared data.
struct Kernels {
  /// Block size in threads.
  static constexpr std::uint32_t threads = 64;
  /// The number of partial sums of each bin that `sum_totals` computes; the host adds them up.
  static constexpr std::uint32_t parts = 32;

  weir::KernelPtr block_entropy;
  weir::KernelPtr sum_totals;
  /// Whether totals of one bin from neighbouring threads are contiguous, which is faster on a GPU; otherwise one thread's
  /// bins are.
  bool interleaved = false;

  explicit Kernels(weir::Device& device);
};

}  // namespace entropy
