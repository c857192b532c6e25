// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "entropy_map.hpp"
#include "image.hpp"

namespace entropy {

/// Draws the entropy of a file. A map along a Hilbert curve shows neighbouring parts of the file close together. To the
/// right of it is the profile from the file's start to its end, below it the colour scale.
Image draw(const Findings& findings, const std::string& file_name);

/// Returns a size with a unit, such as "1.84 MiB"; below one KiB, the number of bytes.
std::string format_bytes(std::uint64_t bytes);

}  // namespace entropy
