// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

// The main function of the tests of the work-group pass.

int main(int argc, char** argv) { return doctest::Context(argc, argv).run(); }
