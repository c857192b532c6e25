// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

/// The hash at the end of an image for the CPU.
namespace weir::cache {

/// Appends a hash to an image. The system's loader ignores these bytes and does not check its input, so `flaw_of_seal`
/// checks the hash first: a damaged image is never loaded.
void seal(std::vector<std::byte>& image);

/// Returns what is wrong with the hash at the image's end; null if it is correct.
const char* flaw_of_seal(std::span<const std::byte> image);

}  // namespace weir::cache
