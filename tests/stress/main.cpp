// SPDX-License-Identifier: Apache-2.0
// Random programs of streams, events, captures, memory operations and closes, run from many threads and compared with a
// sequential model. Every failure names the seed that brings it back.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "program.hpp"
#include "weir/weir.hpp"

namespace {

using weir::Feature;

/// What of a program the device can do.
stress::Shape fit_to(const weir::Device& device, stress::Shape shape) {
  shape.graphs = device.supports(Feature::graph_capture) && device.supports(Feature::host_functions_in_capture) &&
                 device.supports(Feature::graph_clone);
  shape.kernels = device.supports(Feature::runtime_compilation);
  shape.memory_operations = device.supports(Feature::wait_value_32) && device.supports(Feature::wait_value_geq) &&
                            device.supports(Feature::write_value_32) && device.supports(Feature::batch_memory_operations) &&
                            (!shape.graphs || device.supports(Feature::memory_operations_in_capture));
  shape.allocations = device.supports(Feature::async_allocation) &&
                      (!shape.graphs || device.supports(Feature::graph_memory_nodes));
  shape.early_waits = device.backend().name() == "host";
  // Threads wait for each other by flags in memory.
  if (!shape.memory_operations) shape.threads = 1;
  return shape;
}

}  // namespace

void stress::fail(std::uint64_t seed, const std::string& what) {
  std::fprintf(stderr, "seed %llu: %s\n0 passed, 1 failed\n", static_cast<unsigned long long>(seed), what.c_str());
  std::_Exit(EXIT_FAILURE);
}

int main(int argc, char** argv) {
  CLI::App app{"Runs random stream programs and compares them with a sequential model"};
  double seconds = 10;
  std::uint64_t seed = 1;
  stress::Shape shape;
  app.add_option("--seconds", seconds, "how long to go on")->capture_default_str();
  app.add_option("--seed", seed, "the first program's seed; the next has the next")->capture_default_str();
  app.add_option("--threads", shape.threads, "threads that submit")->capture_default_str()->check(CLI::Range(1, 64));
  app.add_option("--streams", shape.slots)->capture_default_str()->check(CLI::Range(1, 4096));
  app.add_option("--cells", shape.cells)->capture_default_str()->check(CLI::Range(2, 65536));
  app.add_option("--items", shape.items, "length of a program")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::uint64_t programs = 0;
  try {
    shape = fit_to(weir::default_device(), shape);
    do {
      const stress::Program program = stress::make_program(shape, seed);
      const auto expected = stress::expected_cells(program);
      const auto found = stress::run_program(program);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        if (found[i] != expected[i]) {
          stress::fail(seed, "cell " + std::to_string(i) + " is " + std::to_string(found[i]) + " instead of " +
                                 std::to_string(expected[i]));
        }
      }
      ++seed;
      ++programs;
    } while (std::chrono::steady_clock::now() < end);
  } catch (const std::exception& e) {
    stress::fail(seed, e.what());
  }
  std::printf("%llu programs of %u items on %u streams of %s from %u threads\n%llu passed, 0 failed\n",
              static_cast<unsigned long long>(programs), shape.items, shape.slots, weir::default_device().describe().c_str(),
              shape.threads, static_cast<unsigned long long>(programs));
  return EXIT_SUCCESS;
}
