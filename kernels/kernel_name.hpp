// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace weir::kernels {

/// Returns a kernel's name in a canonical spelling: `::blur< unsigned int, 3u >` becomes `blur<unsigned,3>`.
std::string normalized_name(std::string_view name);

/// Returns the symbol of a variable, as the C++ ABI of Clang, GCC and NVRTC defines it: `image::scale` becomes
/// `_ZN5image5scaleE`. A name without a namespace stays unchanged, and so does a symbol.
std::string variable_symbol(std::string_view name);

}  // namespace weir::kernels
