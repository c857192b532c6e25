// SPDX-License-Identifier: Apache-2.0
// Compiles doctest's own code, once for all test programs.
#include <doctest/doctest.h>
// Its handlers, which it sets anew for each case, would take the faults of kernels from Weir.
#undef DOCTEST_CONFIG_POSIX_SIGNALS
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
