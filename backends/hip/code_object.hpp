// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "backends/gpu/module_contents.hpp"

namespace weir::hip {

/// What an image says of its kernels: AMD's metadata, in the note of a code object. Of a bundle of clang's, the code object
/// for `architecture` ("gfx90a:sramecc+:xnack-") is read. Nothing where the image is neither, or does not hold together:
/// then it is the runtime's to say what is wrong.
std::vector<gpu::ImageKernel> kernels_of(std::span<const std::byte> image, std::string_view architecture);

}  // namespace weir::hip
