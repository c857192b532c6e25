// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "entropy_map.hpp"
#include "input_file.hpp"
#include "plan.hpp"

/// The reference results, computed on the CPU.
namespace entropy {

/// The allowed difference between an entropy from a device and the reference, in bits per byte. (Counts are integers and
/// must be equal.) An entropy is a sum of up to 256 terms in single precision. Each addition rounds by up to 2^-24 of a
/// partial sum of at most 8, so the limit is 256 * 8 * 2^-24 = 1.2e-4. A logarithm that is wrong by one or two ulps adds
/// little.
inline constexpr double tolerance_bits = 2e-4;

/// Computes the same results by a plain loop on one CPU core, in double precision. Reads the file itself. Calls
/// `progress(bytes)` with the number of bytes done so far.
Findings measure_on_cpu(const InputFile& file, const Plan& plan, const std::function<void(std::uint64_t)>& progress);

struct Comparison {
  bool agrees = false;
  double largest_difference = 0;  ///< the largest difference between two entropies of a cell, in bits per byte
  std::string difference;         ///< the first byte value or cell that differs, with both values; empty if all are equal
};
Comparison compare(const Findings& measured, const Findings& reference);

}  // namespace entropy
