// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "entropy_map.hpp"
#include "image.hpp"

namespace entropy {

/// Draws the entropy of a file: a map along a Hilbert curve, on which neighbouring parts of the file are close together; to
/// its right the profile from the file's start to its end; below both, the colour scale.
Image draw(const Findings& findings, const std::string& file_name);

/// "1.84 MiB"; below one KiB the number of bytes.
std::string format_bytes(std::uint64_t bytes);

}  // namespace entropy
