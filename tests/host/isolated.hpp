// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>
#include <stdlib.h>

#include "core/base/temporary_folder.hpp"

namespace weir::test {

/// Runs the tests of a program with an empty cache of kernels, and without the variables that would change their results.
inline int run_isolated(int argc, char** argv) {
  for (const char* variable : {"WEIR_BACKEND", "WEIR_DEVICE", "WEIR_DISABLE_FEATURES", "WEIR_HOST_DEVICES"})
    ::unsetenv(variable);
  const detail::TemporaryFolder cache;
  ::setenv("WEIR_CACHE_DIR", cache.path().c_str(), 1);
  return doctest::Context(argc, argv).run();
}

}  // namespace weir::test
