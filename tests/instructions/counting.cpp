// SPDX-License-Identifier: Apache-2.0
#include "tests/instructions/counting.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#if WEIR_HAS_CALLGRIND_HEADER
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
#endif

#include "backends/cuda/api.hpp"
#include "bench/driver_overhead/operations.hpp"

// Counts the instructions of each operation with callgrind.

namespace weir::test {
namespace {

using Pair = bench::Comparison::Pair;

std::uint64_t driver_calls() {
  static const auto count = [] {
    void* const library = ::dlopen(WEIR_TEST_FAKE_CUDA, RTLD_NOW | RTLD_NOLOAD);
    return reinterpret_cast<std::uint64_t (*)()>(::dlsym(library, "weir_calls"));
  }();
  return count();
}

void count(const Pair& pair, const char* side, const std::function<void()>& operation) {
  const std::string name = pair.name + "|" + side;
  const auto run = [&] {
    if (pair.before) pair.before();
    for (int i = 0; i < counted_runs; ++i) operation();
    if (pair.after) pair.after();
    pair.drain();
  };
  run();  // what is made at first is not what is counted
  if (pair.before) pair.before();
  const std::uint64_t calls = driver_calls();
  CALLGRIND_ZERO_STATS;
  for (int i = 0; i < counted_runs; ++i) operation();
  CALLGRIND_DUMP_STATS_AT(name.c_str());
  std::printf("%s|%llu\n", name.c_str(), static_cast<unsigned long long>(driver_calls() - calls));
  if (pair.after) pair.after();
  pair.drain();
}

}  // namespace

int run_counted(const char* filter) try {
  Device& device = weir::device("cuda:0");
  BackendInfo info;
  PluginContext context(info);
  const cuda::Api& api = cuda::Api::load(context);
  const std::vector<std::byte> image(16);  // the stand-in takes any
  bench::Operations<cuda::Api> operations(api, device, device.load_module(image));
  bench::Comparison comparison;
  operations.add_to(comparison);
  CALLGRIND_DUMP_STATS_AT("start");  // unlike ZERO_STATS it takes the counters of other threads, too
  for (const Pair& pair : comparison.pairs()) {
    if (pair.name.find(filter) == std::string::npos) continue;
    count(pair, "weir", pair.weir);
    count(pair, "raw", pair.raw);
  }
  std::fflush(stdout);
  std::_Exit(0);  // what comes now is no operation
} catch (const std::exception& e) {
  std::cerr << e.what() << '\n';
  return 2;
}

}  // namespace weir::test
