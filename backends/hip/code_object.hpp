// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "backends/gpu/module_contents.hpp"

namespace weir::hip {

/// Reads the kernels of an image from AMD's metadata, in the note of a code object. From a Clang bundle it reads the code
/// object for `architecture` ("gfx90a:sramecc+:xnack-"). Returns nothing for another or a damaged image: then the runtime
/// reports the error.
std::vector<gpu::ImageKernel> kernels_of(std::span<const std::byte> image, std::string_view architecture);

}  // namespace weir::hip
