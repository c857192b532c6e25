// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/kernels/support.hpp"

/// Tests functions that the C library lacks, with arguments for which a simple formula fails. The allowed errors are those
/// of the CUDA C++ Programming Guide.
namespace weir::test::accuracy_test {
namespace {

constexpr const char* source = R"(
extern "C" __global__ void of_one(int what, int n, const double* x, double* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double d = x[i];
  const float f = (float)d;
  double s, c;
  float sf, cf;
  sincospi(d, &s, &c);
  sincospif(f, &sf, &cf);
  switch (what) {
    case 0: y[i] = sinpi(d); break;
    case 1: y[i] = cospi(d); break;
    case 2: y[i] = sinpif(f); break;
    case 3: y[i] = cospif(f); break;
    case 4: y[i] = s; break;
    case 5: y[i] = c; break;
    case 6: y[i] = sf; break;
    case 7: y[i] = cf; break;
    case 8: y[i] = normcdf(d); break;
    case 9: y[i] = normcdff(f); break;
    case 10: y[i] = rcbrt(d); break;
    case 11: y[i] = rcbrtf(f); break;
    case 12: y[i] = norm3d(d, d, d); break;
    case 13: y[i] = norm4d(d, d, d, d); break;
    case 14: y[i] = rnorm3d(d, d, d); break;
    case 15: y[i] = rhypot(d, d); break;
    case 16: y[i] = norm3df(f, f, f); break;
    case 17: y[i] = norm4df(f, f, f, f); break;
    case 18: y[i] = rnorm4df(f, f, f, f); break;
    default: y[i] = rhypotf(f, f); break;
  }
}
)";

std::vector<double> of_one(int what, const std::vector<double>& x) {
  static const ModulePtr module = compile(source);
  const auto y = upload(std::vector<double>(x.size()));
  launch(module->untyped_kernel("of_one"), grid_for(x.size()), what, static_cast<int>(x.size()), upload(x), y);
  return download(y);
}

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// The distance in units of the last place of a float or a double.
double ulps(double given, long double expected, bool is_float) {
  const auto rounded = is_float ? static_cast<double>(static_cast<float>(expected)) : static_cast<double>(expected);
  if (std::isnan(given) || std::isnan(rounded)) return std::isnan(given) && std::isnan(rounded) ? 0 : 1e9;
  if (given == rounded) return 0;
  if (std::isinf(given) || std::isinf(rounded)) return 1e9;
  int exponent = 0;
  std::frexp(rounded, &exponent);
  const int last = is_float ? std::max(exponent - 24, -149) : std::max(exponent - 53, -1074);
  return std::fabs(static_cast<double>((static_cast<long double>(given) - expected) / std::ldexp(1.0L, last)));
}

void check(int what, const std::vector<double>& x, bool is_float, double bound, long double (*expected)(long double)) {
  const std::vector<double> y = of_one(what, x);
  double worst = 0, at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double argument = is_float ? static_cast<double>(static_cast<float>(x[i])) : x[i];
    const double off = ulps(y[i], expected(argument), is_float);
    if (off > worst) worst = off, at = argument;
  }
  CAPTURE(what);
  CAPTURE(at);
  CHECK(worst <= bound);
}

std::vector<double> arguments(double least, double greatest) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> some(least, greatest);
  std::vector<double> x(20000);
  for (double& v : x) v = some(random);
  return x;
}

long double sine(long double x) { return std::sin(3.14159265358979323846264338327950288L * x); }
long double cosine(long double x) { return std::cos(3.14159265358979323846264338327950288L * x); }

TEST_CASE("sinpi, cospi and sincospi are exact at multiples of a half, for large arguments and zeros of either sign") {
  std::vector<double> x = {0.0, -0.0, inf, -inf, nan};
  for (int i = -9; i <= 9; ++i) x.push_back(i * 0.5);
  for (const double large : {1e6 + 0.5, 8388607.5, 16777216.0, 16777217.0, 4503599627370497.0, 9007199254740993.0, 1e300})
    for (const double v : {large, -large}) x.push_back(v);
  for (const int what : {0, 2, 4, 6, 1, 3, 5, 7}) {
    const bool is_float = what % 4 >= 2, is_sine = what % 2 == 0;
    const std::vector<double> y = of_one(what, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double v = is_float ? static_cast<double>(static_cast<float>(x[i])) : x[i];
      CAPTURE(what);
      CAPTURE(v);
      if (!std::isfinite(v)) {
        CHECK(std::isnan(y[i]));
        continue;
      }
      const double turns = std::fmod(v, 2.0), quarter = (turns < 0 ? turns + 2 : turns) * 2;  // 0, 1, 2 or 3
      const double peak = is_sine ? 1 : 0;
      const double expected = quarter == peak ? 1 : quarter == peak + 2 ? -1 : 0;
      CHECK(y[i] == expected);
      if (v == 0.0 && is_sine) CHECK(std::signbit(y[i]) == std::signbit(v));
    }
  }
}

TEST_CASE("sinpi and cospi are within CUDA's bounds, near their zeros too") {
  std::vector<double> x = arguments(-1.0, 1.0);
  for (const double zero : {0.0, 0.5, 1.0}) {
    for (double d = 1e-3; d > 1e-12; d /= 3) x.insert(x.end(), {zero + d, zero - d});
  }
  std::vector<double> sines, cosines;  // where the argument of a long double's sine is near no zero but 0
  for (const double v : x) {
    if (std::fabs(v) <= 0.75) sines.push_back(v);
    if (std::fabs(v) <= 0.45) cosines.push_back(v);
  }
  check(0, sines, false, 2, sine);
  check(1, cosines, false, 2, cosine);
  check(2, sines, true, 1, sine);
  check(3, cosines, true, 1, cosine);
}

TEST_CASE("norms do not overflow or underflow on the way") {
  std::vector<double> x = {0.0, 1e30, 1e-30, 1e-42, -1e30, inf, -inf, nan, 3.0}, wide = {1e300, 1e-300, 1e-310, 7.0};
  check(12, x, false, 1, [](long double v) { return std::fabs(v) * std::sqrt(3.0L); });
  check(12, wide, false, 1, [](long double v) { return std::fabs(v) * std::sqrt(3.0L); });
  check(13, wide, false, 2, [](long double v) { return std::fabs(v) * 2.0L; });
  check(14, wide, false, 1, [](long double v) { return 1.0L / (std::fabs(v) * std::sqrt(3.0L)); });
  check(15, {1.7e308, 1e-300, 2.0}, false, 1, [](long double v) { return 1.0L / (std::fabs(v) * std::sqrt(2.0L)); });
  check(16, x, true, 2, [](long double v) { return std::fabs(v) * std::sqrt(3.0L); });
  check(17, x, true, 2, [](long double v) { return std::fabs(v) * 2.0L; });
  check(18, x, true, 2, [](long double v) { return 1.0L / (std::fabs(v) * 2.0L); });
  check(19, x, true, 2, [](long double v) { return 1.0L / (std::fabs(v) * std::sqrt(2.0L)); });
}

TEST_CASE("normcdf and rcbrt are within CUDA's bounds") {
  const auto cdf = [](long double v) { return 0.5L * std::erfc(-v / std::sqrt(2.0L)); };
  std::vector<double> x = arguments(-37.0, 9.0);
  x.insert(x.end(), {0.0, -12.0, inf, -inf, nan});
  check(8, x, false, 7, cdf);
  x = arguments(-12.5, 6.0);
  x.insert(x.end(), {-12.0, inf, -inf, nan});
  check(9, x, true, 5, cdf);
  x = arguments(-100.0, 100.0);
  x.insert(x.end(), {-0.141, 1e-300, 5e-324, 1e300, 0.0, -0.0, inf, -inf, nan});
  check(10, x, false, 1, [](long double v) { return 1.0L / std::cbrt(v); });
  check(11, x, true, 1, [](long double v) { return 1.0L / std::cbrt(v); });
}

}  // namespace
}  // namespace weir::test::accuracy_test
