// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  ::setenv("WEIR_BACKEND", "host", 0);
  return doctest::Context(argc, argv).run();
}
