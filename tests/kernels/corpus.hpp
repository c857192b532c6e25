// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "weir/weir.hpp"

/// The corpus: typical kernels in corpus/*.cu, which run on any backend, and helpers for their tests.
namespace weir::test {

struct CorpusFile {
  std::string_view name;  ///< the name, such as "scans"
  std::string_view text;
};
/// Returns all of them. CMake writes this function.
std::span<const CorpusFile> corpus_files();

/// Returns the device for the corpus: --device, or the first host device.
Device& target();
/// Returns the module of corpus/NAME.cu on that device, compiled once.
const ModulePtr& corpus(std::string_view name);

inline unsigned warp_size() { return static_cast<unsigned>(target().properties().warp_size); }

/// Launches a kernel and waits for it.
template <class... Args>
void launch(const KernelPtr& kernel, const LaunchConfig& config, const Args&... args) {
  const StreamPtr stream = target().create_stream();
  stream->launch(kernel, config, args...);
  stream->synchronize();
}

/// Returns a buffer with this content, which the host can read and write.
template <class T>
Buffer<T> upload(const std::vector<T>& values) {
  auto buffer = target().allocate<T>(values.size(), MemoryKind::managed);
  std::copy(values.begin(), values.end(), buffer.data());
  return buffer;
}

template <class T>
std::vector<T> download(const Buffer<T>& buffer) {
  return {buffer.data(), buffer.data() + buffer.size()};
}

/// Return inputs that look random and are the same each time.
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

/// Returns the greatest difference as a fraction of the greatest number.
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

}  // namespace weir::test
