// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// `weir kernels`: kernels that were compiled ahead of time.
namespace weir::tool {

/// The bundles in a file, for people: in a bundle's own file, or wherever they stand in a program, a shared library or an
/// archive. Throws std::runtime_error if the file cannot be read, if it has none, or if one is damaged.
std::string inspect_kernels(const std::string& file);

}  // namespace weir::tool
