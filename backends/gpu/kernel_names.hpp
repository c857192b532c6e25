// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "weir/module.hpp"

/// Kernel names and their parameters' types, as in source code and in symbols.
namespace weir::gpu {

/// Converts a symbol to its name in the source: "void blur<float, 3>(float const*, float*)" for "_Z4blurIfLi3EEvPKT_PS0_"; a
/// symbol with C linkage, "scale", stays unchanged.
std::string declaration_of(const std::string& symbol);
/// Only the kernel's name, in the form of kernels::normalized_name: "blur<float,3>".
std::string name_of(const std::string& symbol);
/// Which parameters are floating-point numbers, and which are pointers to `const`, as far as the symbol shows that. A symbol
/// with C linkage shows nothing.
detail::NumberKinds kinds_of(const std::string& symbol);

}  // namespace weir::gpu
