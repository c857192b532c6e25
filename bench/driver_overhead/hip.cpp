// SPDX-License-Identifier: Apache-2.0
#include "backends/hip/api.hpp"
#include "bench/driver_overhead/operations.hpp"

/// Measures Weir's overhead over calls to the HIP runtime.
int main(int argc, char** argv) { return weir::bench::compare_with_driver<weir::hip::Api>("hip:0", argc, argv); }
