// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace weir::gpu {

/// A kernel as an image describes it.
struct ImageKernel {
  std::string name;  ///< its symbol
  std::vector<std::size_t> parameter_sizes;
};

/// Facts about a module's kernels that the driver does not provide.
struct ModuleContents {
  std::vector<ImageKernel> kernels;            ///< from the image's metadata; empty without it
  std::map<std::string, std::string> symbols;  ///< by normalized expression, for kernels requested by an expression
};

}  // namespace weir::gpu
