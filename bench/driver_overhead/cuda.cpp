// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "backends/cuda/api.hpp"
#include "bench/driver_overhead/operations.hpp"

/// What Weir adds to the CUDA driver's own calls. Takes Google Benchmark's options; with --benchmark_out=FILE
/// --benchmark_out_format=json it writes every repetition. The exit code is 1 if an operation costs more than it may.
int main(int argc, char** argv) try {
  weir::Device& device = weir::device("cuda:0");
  weir::BackendInfo info;
  weir::PluginContext context(info);
  const weir::cuda::Api& api = weir::cuda::Api::load(context);
  std::cout << device.properties().name << ", driver for CUDA " << device.backend().versions().driver << "\n";
  auto* const operations = new weir::bench::Operations<weir::cuda::Api>(api, device, device.compile(weir::bench::kernel_source));
  weir::bench::Comparison comparison;
  operations->add_to(comparison);
  const int over = comparison.run(argc, argv);
  delete operations;
  return over == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::cerr << e.what() << '\n';
  return 2;
}
