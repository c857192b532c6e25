// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
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

/// Returns the nearest number with a significand of `bits`, ties to even.
inline double rounded(double v, int bits, int least_exponent = -1000, double greatest = std::numeric_limits<double>::max()) {
  if (v == 0 || std::isnan(v) || std::isinf(v)) return v;
  const int exponent = std::max(std::ilogb(v), least_exponent) - (bits - 1);
  const double r = std::ldexp(std::nearbyint(std::ldexp(v, -exponent)), exponent);
  return std::fabs(r) > greatest ? std::copysign(std::numeric_limits<double>::infinity(), v) : r;
}
/// Return the nearest number of half precision, with its smallest steps and its infinity; its bits; and the number of bits.
inline double half(double v) { return rounded(v, 11, -14, 65504); }
inline std::uint16_t half_bits(float f) {
  const double v = half(static_cast<double>(f));
  const std::uint16_t sign = std::signbit(f) ? 0x8000 : 0;
  if (v == 0) return sign;
  if (std::isinf(v)) return static_cast<std::uint16_t>(sign | 0x7c00);
  const int exponent = std::max(std::ilogb(v), -14);
  const auto mantissa = static_cast<int>(std::ldexp(std::fabs(v), 10 - exponent));
  return static_cast<std::uint16_t>(sign | (mantissa >= 1024 ? ((exponent + 15) << 10) + (mantissa - 1024) : mantissa));
}
inline double of_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double v = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return bits >> 15 ? -v : v;
}

inline double at(const std::vector<float>& v, std::size_t i) { return static_cast<double>(v[i]); }

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
