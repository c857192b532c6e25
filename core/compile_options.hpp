// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace weir {
struct CompileOptions;
}

namespace weir::detail {

/// Throws `invalid_argument`, naming what is wrong, for options that no compiler can take.
void check_options(const CompileOptions& options, const char* operation, const std::string& object);

}  // namespace weir::detail
