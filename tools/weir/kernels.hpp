// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// `weir kernels`: lists kernels that were compiled ahead of time.
namespace weir::tool {

/// Describes the bundles in a file: a bundle, or a program, shared library or archive that contains bundles. Throws
/// std::runtime_error if the file cannot be read, contains no bundle, or a bundle is damaged.
std::string inspect_kernels(const std::string& file);

}  // namespace weir::tool
