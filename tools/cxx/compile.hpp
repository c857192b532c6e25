// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace weir::cxx {

/// Runs `weir c++` with these words after it. Prints messages on standard error. Returns the exit status.
int run(const std::vector<std::string>& words);

}  // namespace weir::cxx
