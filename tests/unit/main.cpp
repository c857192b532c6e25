// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdlib>
#include <initializer_list>

// The process of the tests uses the plugin `immediate`, which is linked into it, and ignores the user's settings. Tests that
// depend on the environment run in separate processes: see subprocess.hpp.
int main(int argc, char** argv) {
  for (const char* variable : {"WEIR_BACKEND", "WEIR_DEVICE", "WEIR_DISABLE_FEATURES", "WEIR_LOG"}) ::unsetenv(variable);
  ::setenv("WEIR_PLUGIN_PATH", WEIR_TEST_PLUGINS, 1);
  return doctest::Context(argc, argv).run();
}
