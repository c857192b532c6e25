// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "weir/module.hpp"

/// Kernels' names and the types of their parameters, as source and linker write them.
namespace weir::gpu {

/// What a symbol is called in the source: "void blur<float, 3>(float const*, float*)" for "_Z4blurIfLi3EEvPKT_PS0_"; the
/// symbol itself, "scale", where it has C linkage.
std::string declaration_of(const std::string& symbol);
/// The name in it alone, as kernels::normalized_name has it: "blur<float,3>".
std::string name_of(const std::string& symbol);
/// Which parameters are floating-point numbers, and which are pointers to `const`, as far as the symbol tells: nothing of
/// one with C linkage.
detail::NumberKinds kinds_of(const std::string& symbol);

}  // namespace weir::gpu
