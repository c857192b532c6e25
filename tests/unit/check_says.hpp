// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include "tests/unit/subprocess.hpp"

/// Checks that a program that a test has run printed a text, and shows all that it printed if it did not.
#define CHECK_SAYS(outcome, text)                  \
  do {                                             \
    const ::weir::test::Outcome& said = (outcome); \
    INFO(said.output, said.errors);                \
    CHECK(said.says(text));                        \
  } while (false)
