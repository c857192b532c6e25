// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

// The main function of the tests with doctest.

int main(int argc, char** argv) { return doctest::Context(argc, argv).run(); }
