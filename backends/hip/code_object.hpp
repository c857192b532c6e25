// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "backends/gpu/module_contents.hpp"

namespace weir::hip {

/// Returns the kernels that an image describes in its AMD metadata, a note in the code object. If the image is a Clang
/// bundle, reads its code object for `architecture` ("gfx90a:sramecc+:xnack-"). Empty if the image is damaged or of another
/// kind; the runtime then reports the error when it loads the image.
std::vector<gpu::ImageKernel> kernels_of(std::span<const std::byte> image, std::string_view architecture);

}  // namespace weir::hip
