// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "plan.hpp"

/// The entropy of each part of a file.
namespace entropy {

using Histogram = std::array<std::uint64_t, 256>;

/// Returns the Shannon entropy of a histogram in bits per byte: 0 if all bytes are equal, 8 if all values are equally
/// frequent, 0 for an empty histogram.
double entropy_bits(const Histogram& histogram);

/// The entropy of a file along its length. The number of cells has a limit, however long the file is. A cell is one block
/// or, in a large file, the mean of several blocks; their number is a power of two.
class EntropyMap {
 public:
  static constexpr std::uint64_t most_cells = std::uint64_t{1} << 20;

  explicit EntropyMap(const Plan& plan);

  /// Adds the entropies of consecutive blocks. Add each block once, in any order.
  void add(std::uint64_t first_block, std::span<const float> entropies);

  std::uint64_t block_count() const noexcept { return blocks_; }
  std::uint64_t blocks_per_cell() const noexcept { return blocks_per_cell_; }
  std::uint64_t bytes_per_cell() const noexcept { return blocks_per_cell_ * block_bytes_; }
  std::uint64_t file_bytes() const noexcept { return file_bytes_; }
  std::uint32_t block_bytes() const noexcept { return block_bytes_; }
  std::size_t cell_count() const noexcept { return sums_.size(); }
  /// Returns the mean entropy of a cell's blocks.
  double cell(std::size_t index) const;
  /// Returns the mean over cells `[first, last)`, weighted by the cells' shares of the file. The range must not be empty.
  double mean(std::size_t first, std::size_t last) const;

 private:
  std::uint64_t blocks_of_cell(std::size_t index) const noexcept;

  std::uint64_t file_bytes_;
  std::uint64_t blocks_;
  std::uint64_t blocks_per_cell_;
  std::uint32_t block_bytes_;
  std::vector<double> sums_;
};

/// The results for a file.
struct Findings {
  Histogram histogram{};
  EntropyMap map;

  double entropy() const { return entropy_bits(histogram); }
};

}  // namespace entropy
