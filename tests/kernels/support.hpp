// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "tests/host/support.hpp"

/// What tests of kernels share: inputs that look random and are the same each time, and comparisons with a reference.
namespace weir::test {

inline std::vector<float> random_floats(std::size_t count, unsigned seed, float least = -1.0F, float greatest = 1.0F) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> distribution(least, greatest);
  std::vector<float> values(count);
  for (float& value : values) value = distribution(generator);
  return values;
}

inline std::vector<int> random_ints(std::size_t count, unsigned seed, int least, int greatest) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> distribution(least, greatest);
  std::vector<int> values(count);
  for (int& value : values) value = distribution(generator);
  return values;
}

/// The greatest difference, as a part of the greatest number.
template <class T, class U>
double difference(const std::vector<T>& given, const std::vector<U>& expected) {
  REQUIRE(given.size() == expected.size());
  double scale = 1e-30, worst = 0;
  for (const U& value : expected) scale = std::fmax(scale, std::fabs(static_cast<double>(value)));
  for (std::size_t i = 0; i < given.size(); ++i) {
    const double d = std::fabs(static_cast<double>(given[i]) - static_cast<double>(expected[i]));
    worst = d > worst || std::isnan(d) ? d : worst;
  }
  return worst / scale;
}

inline ModulePtr compile(const char* source, const char* name = "kernel.cu") {
  CompileOptions options;
  options.name = name;
  return host().compile(source, options);
}

inline unsigned warp_size() { return static_cast<unsigned>(host().properties().warp_size); }

/// What a launch's synchronization throws; fails if it throws nothing.
template <class... Args>
Error launch_error(const KernelPtr& kernel, const LaunchConfig& config, const Args&... args) {
  try {
    launch(kernel, config, args...);
  } catch (const Error& error) {
    return error;
  }
  FAIL("launched without an error");
  return {Errc::invalid_argument, "", "", ""};
}

}  // namespace weir::test
