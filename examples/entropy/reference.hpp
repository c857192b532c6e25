// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "entropy_map.hpp"
#include "input_file.hpp"
#include "plan.hpp"

namespace entropy {

/// How far an entropy computed on a device may be from the same computed here, in bits per byte. Counts are integers and
/// have to agree exactly. An entropy is a sum of up to 256 terms in single precision, each rounded by up to 2^-24 of a
/// partial sum of at most 8: 256 * 8 * 2^-24 = 1.2e-4, and a logarithm that is off by an ulp or two changes little.
inline constexpr double tolerance_bits = 2e-4;

/// The same findings by a plain loop on one CPU core, in double precision, from its own reading of the file.
/// `progress(bytes)` is called with the bytes done so far.
Findings measure_on_cpu(const InputFile& file, const Plan& plan, const std::function<void(std::uint64_t)>& progress);

struct Comparison {
  bool agrees = false;
  double largest_difference = 0;  ///< of a cell's entropy, in bits per byte
  std::string difference;         ///< where they do not agree: the first byte value or cell, with both sides
};
Comparison compare(const Findings& measured, const Findings& reference);

}  // namespace entropy
