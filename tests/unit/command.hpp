// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "subprocess.hpp"

namespace weir::test {

/// Runs the command `weir` like a user.
inline Outcome weir_command(const std::vector<std::string>& arguments, Environment environment = {}) {
  environment.try_emplace("WEIR_PLUGIN_PATH", WEIR_TEST_PLUGINS);
  return run(WEIR_TEST_COMMAND, arguments, environment);
}

}  // namespace weir::test
