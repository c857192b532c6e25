// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

/// `weir run`: another program, with Weir's variables set.
namespace weir::tool {

struct RunOptions {
  std::string backend;               ///< WEIR_BACKEND, or empty: as it is
  std::optional<unsigned> device;    ///< WEIR_DEVICE
  std::string disable_features;      ///< WEIR_DISABLE_FEATURES, or empty
  std::string log;                   ///< WEIR_LOG, or empty
  std::vector<std::string> command;  ///< the program, found as a shell finds it, and its arguments
};

/// Becomes that program. Returns only if that fails, having told why: 127 if there is no such program, else 126.
int run_program(const RunOptions& options);

}  // namespace weir::tool
