// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace weir::gpu {

/// A kernel as an image describes it.
struct ImageKernel {
  std::string name;  ///< as the linker knows it
  std::vector<std::size_t> parameter_sizes;
};

}  // namespace weir::gpu
