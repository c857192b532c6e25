// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace weir::kernels {

/// Returns a kernel's name in one canonical spelling: `::blur< unsigned int, 3u >` becomes `blur<unsigned,3>`.
std::string normalized_name(std::string_view name);

}  // namespace weir::kernels
