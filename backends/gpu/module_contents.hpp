// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

/// Facts about the kernels of an image that come from the image or the compiler, not from the driver.
namespace weir::gpu {

/// A kernel in the metadata of an image.
struct ImageKernel {
  std::string name;  ///< its symbol
  std::vector<std::size_t> parameter_sizes;
};

/// Facts about a module's kernels that the driver cannot report.
struct ModuleContents {
  std::vector<ImageKernel> kernels;  ///< from the image's metadata; empty without it
  /// Symbols of kernels that were requested by an expression; the key is the normalized expression.
  std::map<std::string, std::string> symbols;
};

}  // namespace weir::gpu
