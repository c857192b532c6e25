// SPDX-License-Identifier: Apache-2.0
#include "bench/driver_overhead/comparison.hpp"

#include <algorithm>
#include <cstdio>
#include <map>

namespace weir::bench {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  if (n == 0) return 0;
  return n % 2 != 0 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// Returns why a run ended early, or "". Google Benchmark renamed this member in release 1.8.
template <class Run>
std::string error_of(const Run& run) {
  if constexpr (requires { run.error_occurred; }) {
    return run.error_occurred ? run.error_message : "";
  } else {
    return run.skipped != decltype(run.skipped){} ? run.skip_message : "";
  }
}

// Stores each repetition's time for the table at the end.
class Collector final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& context) override {
    PrintBasicContext(&GetErrorStream(), context);
    return true;
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const std::string error = error_of(run);
      if (!error.empty()) std::fprintf(stderr, "%s: %s\n", run.benchmark_name().c_str(), error.c_str());
      if (run.run_type == Run::RT_Iteration) times[run.run_name.function_name].push_back(run.GetAdjustedRealTime());
    }
  }
  std::map<std::string, std::vector<double>> times;  // ns per operation
};

void time_it(benchmark::State& state, const std::function<void()>& operation, const Comparison::Pair& pair) {
  operation();  // untimed: the first call has one-time costs
  if (pair.drain) pair.drain();
  if (pair.before) pair.before();
  for (auto _ : state) operation();
  if (pair.after) pair.after();
  if (pair.drain) pair.drain();
}

}  // namespace

int Comparison::run(int argc, char** argv) {
  // The second of two adjacent benchmarks profits from warm caches and clocks, so run them in random order.
  std::vector<std::string> arguments(argv, argv + argc);
  arguments.insert(arguments.begin() + 1, {"--benchmark_enable_random_interleaving=true", "--benchmark_repetitions=101"});
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  int count = static_cast<int>(pointers.size());
  benchmark::Initialize(&count, pointers.data());
  if (benchmark::ReportUnrecognizedArguments(count, pointers.data())) return 1;
  for (const Pair& pair : pairs_) {
    for (const auto& [side, operation] : {std::pair{"/weir", &pair.weir}, {"/raw", &pair.raw}}) {
      benchmark::RegisterBenchmark(
          (pair.name + side).c_str(),
          [operation = operation, &pair](benchmark::State& state) { time_it(state, *operation, pair); })
          ->Iterations(pair.iterations)
          ->UseRealTime();
    }
  }
  Collector collector;
  benchmark::RunSpecifiedBenchmarks(&collector);

  int over = 0;
  std::printf("%-34s %10s %10s %9s %7s %10s\n", "operation", "weir ns", "raw ns", "diff ns", "ratio", "allowed");
  for (const Pair& pair : pairs_) {
    const double ours = median(collector.times[pair.name + "/weir"]), raw = median(collector.times[pair.name + "/raw"]);
    if (ours == 0 || raw == 0) continue;  // one side was filtered out
    const double allowed = std::max(raw * pair.limit.ratio, raw + pair.limit.extra_ns);
    const bool within = ours <= (pair.limit.ratio < 1 ? raw * pair.limit.ratio : allowed);
    std::printf("%-34s %10.1f %10.1f %+9.1f %7.3f %10.1f%s\n", pair.name.c_str(), ours, raw, ours - raw, ours / raw,
                pair.limit.ratio < 1 ? raw * pair.limit.ratio : allowed, within ? "" : "  OVER");
    over += within ? 0 : 1;
  }
  if (over != 0) std::printf("%d operations cost more than is allowed (OVER), so the exit status is 1\n", over);
  benchmark::Shutdown();
  return over;
}

}  // namespace weir::bench
