// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "entropy_map.hpp"
#include "image.hpp"

namespace entropy {

/// The entropy of a file as a picture: a map along a Hilbert curve, on which what is near in the file is near in the
/// picture, too; beside it the profile from the file's start to its end; below both, the scale of their colours.
Image draw(const Findings& findings, const std::string& file_name);

/// "1.84 MiB"; whole bytes below one KiB.
std::string format_bytes(std::uint64_t bytes);

}  // namespace entropy
