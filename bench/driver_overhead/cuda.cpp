// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/api.hpp"
#include "bench/driver_overhead/operations.hpp"

/// Measures Weir's overhead over calls to the CUDA driver.
int main(int argc, char** argv) { return weir::bench::compare_with_driver<weir::cuda::Api>("cuda:0", argc, argv); }
