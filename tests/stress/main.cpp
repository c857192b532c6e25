// SPDX-License-Identifier: Apache-2.0
// Runs random programs of streams, events, captures, memory operations and closes on many threads, and compares the results
// with a sequential model. Each failure prints the seed that reproduces it. With --mixture: many threads create, share and
// drop all kinds of objects.
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "mixture.hpp"
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

/// Reads "--NAME=NUMBER" for an option of that name; false if `argument` is another one. Ends the program if the number is
/// not one from `least` to `most`.
template <class T>
bool read_option(std::string_view argument, std::string_view name, T& value, T least, T most) {
  if (!argument.starts_with(name) || !argument.substr(name.size()).starts_with('=')) return false;
  const std::string_view text = argument.substr(name.size() + 1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_within = value >= least && value <= most;  // which what is no number is not
  if (error != std::errc() || end != text.data() + text.size() || !is_within) {
    std::fprintf(stderr, "weir-stress: %.*s takes a number from %s to %s\n", static_cast<int>(name.size()), name.data(),
                 std::to_string(least).c_str(), std::to_string(most).c_str());
    std::exit(2);
  }
  return true;
}

}  // namespace

void stress::fail(std::uint64_t seed, const std::string& what) {
  std::fprintf(stderr, "seed %llu: %s\n0 passed, 1 failed\n", static_cast<unsigned long long>(seed), what.c_str());
  std::_Exit(EXIT_FAILURE);
}

int main(int argc, char** argv) {
  double seconds = 10;
  std::uint64_t seed = 1;
  stress::Shape shape;
  bool is_mixture = false, has_threads = false;
  stress::MixtureOptions mixture;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (read_option(argument, "--seconds", seconds, 0.0, 1e6) ||
        read_option(argument, "--seed", seed, std::uint64_t{0}, UINT64_MAX) ||
        (read_option(argument, "--threads", shape.threads, 1U, 64U) && (has_threads = true)) ||
        read_option(argument, "--streams", shape.slots, 1U, 4096U) ||
        read_option(argument, "--cells", shape.cells, 2U, 65536U) ||
        read_option(argument, "--items", shape.items, 1U, UINT32_MAX)) {
      continue;
    }
    if (argument == "--mixture" || argument.starts_with("--mixture=")) {
      is_mixture = true;
      if (argument != "--mixture") mixture.only = argument.substr(argument.find('=') + 1);
      continue;
    }
    std::fprintf(stderr,
                 "weir-stress: unknown option %s; there are --seconds=10, --seed=1 (the first program's; the next has the "
                 "next), --threads=%u, --streams=%u, --cells=%u and --items=%u (length of a program); or --mixture, with "
                 "--seconds, --seed and --threads=%u, and with some of its cases as in --mixture='pool,shared graph': %s\n",
                 argv[i], shape.threads, shape.slots, shape.cells, shape.items, mixture.threads,
                 stress::mixture_cases().c_str());
    return 2;
  }

  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::uint64_t programs = 0;
  try {
    (void)weir::default_device();
  } catch (const weir::Error& e) {
    std::fprintf(stderr, "weir-stress: skipped: %s\n", e.what());
    return 77;
  }
  try {
    if (is_mixture) {
      mixture.seconds = seconds;
      mixture.seed = seed;
      if (has_threads) mixture.threads = shape.threads;
      std::printf("%s\n1 passed, 0 failed\n", stress::run_mixture(mixture).c_str());
      return EXIT_SUCCESS;
    }
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
