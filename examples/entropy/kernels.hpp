// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weir/weir.hpp"

namespace entropy {

/// The two kernels, compiled for a device, and how they lay out what they share.
struct Kernels {
  /// Block size in threads.
  static constexpr std::uint32_t threads = 64;
  /// Partial sums of each bin that `sum_totals` leaves for the host to add up.
  static constexpr std::uint32_t parts = 32;

  weir::KernelPtr block_entropy;
  weir::KernelPtr sum_totals;
  /// Whether neighbouring threads' totals of one bin lie side by side, as a GPU wants it; else one thread's bins do.
  bool interleaved = false;

  explicit Kernels(weir::Device& device);
};

}  // namespace entropy
