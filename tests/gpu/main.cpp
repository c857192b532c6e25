// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdio>

#include "weir/weir.hpp"

// The main function of the tests for CUDA. The exit status is 77 if there is no CUDA device.

int main(int argc, char** argv) {
  const weir::BackendInfo& cuda = weir::Registry::instance().probe("cuda");
  if (cuda.state != weir::BackendState::usable) {
    std::fprintf(stderr, "skipped: %s\n", cuda.reason.c_str());
    return 77;
  }
  return doctest::Context(argc, argv).run();
}
