// SPDX-License-Identifier: Apache-2.0
// The framework's own code, once for all test programs.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
