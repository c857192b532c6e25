// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <stdlib.h>

#include "core/base/temporary_folder.hpp"

// The main function of the kernel tests. It clears the variables that would change their result.

int main(int argc, char** argv) {
  for (const char* variable : {"WEIR_BACKEND", "WEIR_DEVICE", "WEIR_DISABLE_FEATURES", "WEIR_HOST_DEVICES"})
    ::unsetenv(variable);
  const weir::detail::TemporaryFolder cache;
  ::setenv("WEIR_CACHE_DIR", cache.path().c_str(), 1);
  return doctest::Context(argc, argv).run();
}
