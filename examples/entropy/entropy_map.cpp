// SPDX-License-Identifier: Apache-2.0
#include "entropy_map.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace entropy {

double entropy_bits(const Histogram& histogram) {
  const auto total = static_cast<double>(std::accumulate(histogram.begin(), histogram.end(), std::uint64_t{0}));
  double bits = 0;
  for (const std::uint64_t count : histogram) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / total;
    bits -= share * std::log2(share);
  }
  return bits > 0 ? bits : 0;  // for a single value, the result would be -0
}

EntropyMap::EntropyMap(const Plan& plan)
    : file_bytes_(plan.file_bytes), blocks_(plan.blocks()), block_bytes_(plan.block_bytes) {
  blocks_per_cell_ = std::bit_ceil((blocks_ + most_cells - 1) / most_cells);
  sums_.resize(static_cast<std::size_t>((blocks_ + blocks_per_cell_ - 1) / blocks_per_cell_));
}

void EntropyMap::add(std::uint64_t first_block, std::span<const float> entropies) {
  for (std::size_t i = 0; i < entropies.size(); ++i) {
    sums_[static_cast<std::size_t>((first_block + i) / blocks_per_cell_)] += static_cast<double>(entropies[i]);
  }
}

std::uint64_t EntropyMap::blocks_of_cell(std::size_t index) const noexcept {
  return std::min<std::uint64_t>(blocks_per_cell_, blocks_ - index * blocks_per_cell_);
}

double EntropyMap::cell(std::size_t index) const { return sums_[index] / static_cast<double>(blocks_of_cell(index)); }

double EntropyMap::mean(std::size_t first, std::size_t last) const {
  const double sum = std::accumulate(sums_.begin() + static_cast<std::ptrdiff_t>(first),
                                     sums_.begin() + static_cast<std::ptrdiff_t>(last), 0.0);
  const std::uint64_t blocks = std::min(last * blocks_per_cell_, blocks_) - first * blocks_per_cell_;
  return sum / static_cast<double>(blocks);
}

}  // namespace entropy
