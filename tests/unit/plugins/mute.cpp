// SPDX-License-Identifier: Apache-2.0

// A shared object that is no plugin. Its code must not run.
#include <cstdio>

namespace {
[[maybe_unused]] const int constructed = std::puts("a constructor ran");
}
