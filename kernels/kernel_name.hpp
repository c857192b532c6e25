// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace weir::kernels {

/// A kernel's name without what may be written in several ways: `::blur< unsigned int, 3u >` is `blur<unsigned,3>`.
std::string normalized_name(std::string_view name);

}  // namespace weir::kernels
