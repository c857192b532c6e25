// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weir/weir.hpp"

namespace entropy {

/// The two kernels, compiled for a device, and the layout of the data that they share.
struct Kernels {
  /// Block size in threads.
  static constexpr std::uint32_t threads = 64;
  /// The number of partial sums per bin that `sum_totals` computes. The host adds them up.
  static constexpr std::uint32_t parts = 32;

  weir::KernelPtr block_entropy;
  weir::KernelPtr sum_totals;
  /// Whether the totals of one bin from neighbouring threads are contiguous, which is faster on a GPU. Otherwise, all bins
  /// of one thread are contiguous.
  bool interleaved = false;

  explicit Kernels(weir::Device& device);
};

}  // namespace entropy
