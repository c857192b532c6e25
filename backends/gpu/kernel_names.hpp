// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "weir/module.hpp"

/// Kernel names and their parameters' types, as in source code and in symbols.
namespace weir::gpu {

/// Converts a symbol to its name in the source: "void blur<float, 3>(float const*, float*)" for "_Z4blurIfLi3EEvPKT_PS0_"; a
/// symbol with C linkage, "scale", stays unchanged.
std::string declaration_of(const std::string& symbol);
/// Only the kernel's name, in the form of kernels::normalized_name: "blur<float,3>".
std::string name_of(const std::string& symbol);
/// The parameters without their sizes, as far as the symbol shows them. A symbol with C linkage shows none.
std::vector<Parameter> parameters_of(const std::string& symbol);

}  // namespace weir::gpu
