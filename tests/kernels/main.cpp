// SPDX-License-Identifier: Apache-2.0
#include "tests/host/isolated.hpp"

int main(int argc, char** argv) { return weir::test::run_isolated(argc, argv); }
