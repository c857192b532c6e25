// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "weir/module.hpp"

/// Converts kernel symbols to the names and parameter types in the source.
namespace weir::gpu {

/// Demangles a symbol: "_Z4blurIfLi3EEvPKT_PS0_" becomes "void blur<float, 3>(float const*, float*)". A symbol with C
/// linkage, such as "scale", stays unchanged.
std::string declaration_of(const std::string& symbol);
/// The kernel's name alone, spelled as by `kernels::normalized_name`: "blur<float,3>".
std::string name_of(const std::string& symbol);
/// The kernel's parameters without their sizes, as far as the symbol encodes them. A symbol with C linkage encodes none.
std::vector<Parameter> parameters_of(const std::string& symbol);

}  // namespace weir::gpu
