// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace weir::gpu {

/// A kernel as an image describes it.
struct ImageKernel {
  std::string name;  ///< as the linker knows it
  std::vector<std::size_t> parameter_sizes;
};

/// What is known of a module's kernels, beside what the driver tells.
struct ModuleContents {
  std::vector<ImageKernel> kernels;            ///< as the image describes them; empty where it does not
  std::map<std::string, std::string> symbols;  ///< of those that were asked for by an expression, normalized
};

}  // namespace weir::gpu
