// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace weir::kernels {

/// Returns a kernel's name in one canonical spelling: `::blur< unsigned int, 3u >` becomes `blur<unsigned,3>`.
std::string normalized_name(std::string_view name);

/// Returns the symbol of a variable: `image::scale` becomes `_ZN5image5scaleE`, as in the C++ ABI of Clang, GCC and NVRTC. A
/// name without a namespace, or a symbol, stays as it is.
std::string variable_symbol(std::string_view name);

}  // namespace weir::kernels
