// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/kernels/support.hpp"

/// Measures the errors of the functions in the table of docs/kernels-accuracy.md, over random and hard arguments: zeros,
/// poles, halves, subnormal numbers, those that overflow on the way, infinities and NaN.
namespace weir::test::accuracy_test {
namespace {

using Real = long double;
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr Real pi = 3.14159265358979323846264338327950288L, root2 = 1.41421356237309504880168872420969808L;

Real sine_of_pi(Real x) {
  if (std::isfinite(x) && x == std::trunc(x)) return std::copysign(0.0L, x);
  const Real r = std::remainder(x, 2.0L);  // exact, as is the distance to the nearest zero
  return std::sin(pi * (std::fabs(r) > 0.5L ? std::copysign(1.0L, r) - r : r));
}

// Newton's method from a value that is near, for erfc(y) = x, or erf(y) = 1 - x where that is more exact.
Real inverse_of_erfc(Real x, Real rest, Real near) {
  for (int i = 0; i < 4 && std::isfinite(near); ++i) {
    const Real off = x < 0.5L ? std::erfc(near) - x : rest - std::erf(near);
    near += off / (2 / std::sqrt(pi) * std::exp(-near * near));
  }
  return near;
}

Real scaled_erfc(Real x) {
  if (!(x >= 50)) return std::exp(x * x) * std::erfc(x);
  const Real r = 0.5L / (x * x);
  return (1 - r * (1 - 3 * r * (1 - 5 * r * (1 - 7 * r)))) / (x * std::sqrt(pi));
}

Real norm(Real a, Real b, Real c = 0, Real d = 0) {
  return std::isinf(a) || std::isinf(b) ? inf : std::sqrt(a * a + b * b + c * c + d * d);
}

// The power series, whose terms have one sign.
Real bessel_i(int n, Real x) {
  if (!(x < 2000)) return x * inf;
  Real term = n == 0 ? 1 : x / 2, sum = term;
  for (Real k = 1; term > sum * 1e-25L; ++k) sum += term *= x / 2 * (x / 2) / (k * (k + static_cast<Real>(n)));
  return sum;
}

struct Function {
  double least, greatest;  // of the random arguments
  Real (*of)(Real x, Real y, Real given);
  double least_y = 0, greatest_y = 0;
  const char* arguments = "x";
};
#define WEIR_ONE(name, least, greatest) \
  {#name, {least, greatest, [](Real x, Real, Real) { return static_cast<Real>(std::name(x)); }}}
#define WEIR_TWO(name, least, greatest, least_y, greatest_y) \
  {#name,                                                    \
   {least, greatest, [](Real x, Real y, Real) { return static_cast<Real>(std::name(x, y)); }, least_y, greatest_y, "x, y"}}
const std::map<std::string, Function> functions = {
    WEIR_ONE(sqrt, 0, 1e6), WEIR_ONE(cbrt, -1e6, 1e6), WEIR_ONE(exp, -104, 89), WEIR_ONE(exp2, -150, 128),
    WEIR_ONE(expm1, -20, 89), WEIR_ONE(log, 0, 1e6), WEIR_ONE(log2, 0, 4), WEIR_ONE(log10, 0, 1e6), WEIR_ONE(log1p, -1, 10),
    WEIR_ONE(sin, -100, 100), WEIR_ONE(cos, -100, 100), WEIR_ONE(tan, -100, 100), WEIR_ONE(asin, -1, 1),
    WEIR_ONE(acos, -1, 1), WEIR_ONE(atan, -10, 10), WEIR_ONE(sinh, -89, 89), WEIR_ONE(cosh, -89, 89), WEIR_ONE(tanh, -9, 9),
    WEIR_ONE(asinh, -100, 100), WEIR_ONE(acosh, 1, 100), WEIR_ONE(atanh, -1, 1), WEIR_ONE(erf, -4, 4),
    WEIR_ONE(erfc, -4, 10), WEIR_ONE(tgamma, 0.1, 34), WEIR_ONE(lgamma, 0.1, 100), WEIR_ONE(floor, -9, 9),
    WEIR_ONE(ceil, -9, 9), WEIR_ONE(trunc, -9, 9), WEIR_ONE(round, -9, 9), WEIR_ONE(rint, -9, 9),
    WEIR_ONE(nearbyint, -9, 9), WEIR_ONE(logb, -9, 9), WEIR_TWO(pow, 0, 10, -30, 30), WEIR_TWO(atan2, -9, 9, -9, 9),
    WEIR_TWO(hypot, -1e3, 1e3, -1e3, 1e3), WEIR_TWO(fmod, -1e5, 1e5, -9, 9), WEIR_TWO(remainder, -1e5, 1e5, -9, 9),
    WEIR_TWO(fdim, -9, 9, -9, 9), WEIR_TWO(fmin, -9, 9, -9, 9), WEIR_TWO(fmax, -9, 9, -9, 9),
    {"exp10", {-45, 38, [](Real x, Real, Real) { return std::pow(10.0L, x); }}},
    {"rsqrt", {0, 1e6, [](Real x, Real, Real) { return 1 / std::sqrt(x); }}},
    {"rcbrt", {-1e6, 1e6, [](Real x, Real, Real) { return 1 / std::cbrt(x); }}},
    {"sinpi", {-9, 9, [](Real x, Real, Real) { return sine_of_pi(x); }}},
    {"cospi", {-9, 9, [](Real x, Real, Real) { return sine_of_pi(0.5L - std::fabs(std::remainder(x, 2.0L))); }}},
    {"erfinv", {-1, 1, [](Real x, Real, Real given) {
       const Real a = std::fabs(x);
       return a < 1 ? std::copysign(inverse_of_erfc(1 - a, a, std::fabs(given)), x) : a == 1 ? x * inf : nan;
     }}},
    {"erfcinv", {0, 2, [](Real x, Real, Real given) {
       if (!(x > 0 && x < 2)) return x == 0 || x == 2 ? (1 - x) * inf : static_cast<Real>(nan);
       return x > 1 ? -inverse_of_erfc(2 - x, x - 1, -given) : inverse_of_erfc(x, 1 - x, given);
     }}},
    {"normcdfinv", {0, 1, [](Real x, Real, Real given) {
       if (!(x > 0 && x < 1)) return x == 0 || x == 1 ? (2 * x - 1) * inf : static_cast<Real>(nan);
       if (x > 0.5L) return root2 * inverse_of_erfc(2 - 2 * x, 2 * x - 1, given / root2);
       return -root2 * inverse_of_erfc(2 * x, 1 - 2 * x, -given / root2);
     }}},
    {"erfcx", {-5, 100, [](Real x, Real, Real) { return scaled_erfc(x); }}},
    {"normcdf", {-37, 9, [](Real x, Real, Real) { return 0.5L * std::erfc(-x / root2); }}},
    {"cyl_bessel_i0", {-50, 50, [](Real x, Real, Real) { return bessel_i(0, std::fabs(x)); }}},
    {"cyl_bessel_i1", {-50, 50, [](Real x, Real, Real) { return std::copysign(bessel_i(1, std::fabs(x)), x); }}},
    {"rhypot", {-1e3, 1e3, [](Real x, Real y, Real) { return 1 / norm(x, y); }, -1e3, 1e3, "x, y"}},
    {"norm3d", {-1e3, 1e3, [](Real x, Real y, Real) { return norm(x, y, x); }, -1e3, 1e3, "x, y, x"}},
    {"rnorm3d", {-1e3, 1e3, [](Real x, Real y, Real) { return 1 / norm(x, y, x); }, -1e3, 1e3, "x, y, x"}},
    {"norm4d", {-1e3, 1e3, [](Real x, Real y, Real) { return norm(x, y, x, y); }, -1e3, 1e3, "x, y, x, y"}},
    {"rnorm4d", {-1e3, 1e3, [](Real x, Real y, Real) { return 1 / norm(x, y, x, y); }, -1e3, 1e3, "x, y, x, y"}},
};
#undef WEIR_ONE
#undef WEIR_TWO

// A row of the table: CUDA's bound, and the greatest error that was found here.
struct Row {
  std::string name;
  bool is_float = false;
  double cuda = 0, found = 0;
};

std::vector<Row> read_table() {
  std::vector<Row> rows;
  std::ifstream page(WEIR_ACCURACY_PAGE);
  for (std::string line, bar; std::getline(page, line);) {
    Row row;
    std::istringstream words(line);
    double cuda = 0, found = 0;
    words >> bar >> row.name >> bar >> row.cuda >> bar >> row.found >> bar >> cuda >> bar >> found;
    if (!line.starts_with("| `") || words.fail()) continue;
    row.name = row.name.substr(1, row.name.size() - 2);
    rows.push_back({row.name, true, row.cuda, row.found});
    rows.push_back({row.name, false, cuda, found});
  }
  return rows;
}

std::vector<double> hard(const Function& function, bool second) {
  std::vector<double> x = {0.0, -0.0, inf, -inf, nan, 1e-310, -1e-310, 1e-40, 2.5e-308, 1.7e308, 3e38, 1e300, 1e30, 1e-30};
  for (int i = -18; i <= 18; ++i) x.push_back(i * 0.5);
  for (double d = 1e-2; d > 1e-16; d /= 7) x.insert(x.end(), {d, -d, 1 + d, 1 - d, 0.5 + d, -1 + d, 2 - d});
  std::mt19937 random(second ? 2 : 1);
  std::uniform_real_distribution<double> some(second ? function.least_y : function.least,
                                              second ? function.greatest_y : function.greatest);
  while (x.size() < 4096) x.push_back(some(random));
  if (second) std::shuffle(x.begin(), x.end() - 2048, random);
  return x;
}

// By CUDA's definition: the difference to the rounded result in units of its last place. A thousandth is for the error of
// `expected`.
double ulps(double given, Real expected, bool is_float) {
  const double rounded = is_float ? static_cast<double>(static_cast<float>(expected)) : static_cast<double>(expected);
  if (std::isnan(given) || std::isnan(rounded)) return std::isnan(given) && std::isnan(rounded) ? 0 : inf;
  if (given == rounded) return 0;
  if (std::isinf(given) || std::isinf(rounded)) return inf;
  int exponent = 0;
  std::frexp(rounded, &exponent);
  const int last = is_float ? std::max(exponent - 24, -149) : std::max(exponent - 53, -1074);
  const Real off = std::fabs((static_cast<Real>(given) - expected) / std::ldexp(1.0L, last));
  return std::ceil(static_cast<double>(off) - 0.501);
}

TEST_CASE("functions are as exact as the table of docs/kernels-accuracy.md") {
  const std::vector<Row> rows = read_table();
  REQUIRE(rows.size() == 2 * functions.size());
  std::string source;
  for (const Row& row : rows) {
    source += fmt::format(
        "extern \"C\" __global__ void {0}_of_{1}(int n, const double* xs, const double* ys, double* out) {{\n"
        "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n) {{ const {1} x = ({1})xs[i], y = ({1})ys[i]; (void)y; out[i] = {0}{2}({3}); }}\n}}\n",
        row.name, row.is_float ? "float" : "double", row.is_float ? "f" : "", functions.at(row.name).arguments);
  }
  const ModulePtr module = compile(source.c_str());
  for (const Row& row : rows) {
    const Function& function = functions.at(row.name);
    const std::vector<double> x = hard(function, false), y = hard(function, true);
    const auto out = upload(std::vector<double>(x.size()));
    launch(module->untyped_kernel(fmt::format("{}_of_{}", row.name, row.is_float ? "float" : "double")), grid_for(x.size()),
           static_cast<int>(x.size()), upload(x), upload(y), out);
    const std::vector<double> given = download(out);
    double worst = 0, at = 0, at_y = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double a = row.is_float ? static_cast<double>(static_cast<float>(x[i])) : x[i];
      const double b = row.is_float ? static_cast<double>(static_cast<float>(y[i])) : y[i];
      // CUDA's bound is not that of the zeros of lgamma.
      if ((row.name == "lgamma" && a < 0) || (row.name == "tgamma" && a < -2)) continue;
      const double off = ulps(given[i], function.of(a, b, given[i]), row.is_float);
      if (!(off <= worst)) worst = off, at = a, at_y = b;
    }
    INFO(row.name, row.is_float ? "f(" : "(", at, ", ", at_y, ") is ", worst, " ulp off");
    CHECK(worst <= std::max(row.cuda, row.found));
    if (std::getenv("WEIR_PRINT_ACCURACY") != nullptr) fmt::print("{} {} {} {}\n", row.name, row.is_float, worst, at);
  }
}

// A row of the second table: the errors in an interval that contains zeros, in ulp or absolute.
struct NearZeros {
  std::string name;
  double least = 0, greatest = 0;
  struct Bound {
    double most = 0;
    std::string unit;
  } bounds[2];  // with float, and with double
};

std::vector<NearZeros> read_second_table() {
  std::vector<NearZeros> rows;
  std::ifstream page(WEIR_ACCURACY_PAGE);
  for (std::string line; std::getline(page, line);) {
    std::vector<std::string> cells;
    std::istringstream words(line);
    for (std::string cell; std::getline(words, cell, '|');) cells.push_back(cell);
    NearZeros row;
    std::string is_less, x;
    if (cells.size() != 7) continue;
    std::istringstream interval(cells[2]);
    if (!(interval >> row.least >> is_less >> x >> is_less >> row.greatest)) continue;
    std::istringstream(cells[1]) >> row.name;
    for (const int type : {0, 1}) {
      std::istringstream cell(cells[type == 0 ? 4 : 6]);
      cell >> row.bounds[type].most >> row.bounds[type].unit;
    }
    rows.push_back(row);
  }
  return rows;
}

// Numbers everywhere in the interval, and those next to each zero.
std::vector<double> around_zeros(const NearZeros& row, Real (*of)(Real), bool is_float) {
  constexpr int count = 20000;
  std::vector<double> x;
  for (int i = 0; i < count; ++i) {
    const Real step = (static_cast<Real>(row.greatest) - row.least) / (count + 1), begin = row.least + (i + 0.37L) * step;
    x.push_back(static_cast<double>(begin));
    Real low = begin, high = begin + step;
    if ((of(low) < 0) == (of(high) < 0) || std::floor(low) != std::floor(high)) continue;  // no zero, or a pole
    const bool begins_below = of(low) < 0;
    for (int k = 0; k < 70; ++k) {
      const Real middle = (low + high) / 2;
      ((of(middle) < 0) == begins_below ? low : high) = middle;
    }
    const double zero = is_float ? static_cast<double>(static_cast<float>(low)) : static_cast<double>(low);
    const double last = std::ldexp(1.0, std::ilogb(zero) - (is_float ? 23 : 52));
    for (int k = -20; k <= 20; ++k) x.push_back(zero + k * last);
  }
  return x;
}

TEST_CASE("near zeros, functions are as exact as the second table of docs/kernels-accuracy.md") {
  const std::map<std::string, Real (*)(Real)> exact = {
      {"j0", ::j0l}, {"j1", ::j1l}, {"y0", ::y0l}, {"y1", ::y1l}, {"lgamma", ::lgammal}};
  const std::vector<NearZeros> rows = read_second_table();
  REQUIRE(rows.size() == 9);
  std::string source;
  for (const auto& [name, of] : exact) {
    for (const std::string type : {"float", "double"}) {
      source += fmt::format(
          "extern \"C\" __global__ void {0}_of_{1}(int n, const double* x, double* out) {{\n"
          "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) out[i] = {0}{2}(({1})x[i]);\n}}\n",
          name, type, type == "float" ? "f" : "");
    }
  }
  const ModulePtr module = compile(source.c_str());
  for (const NearZeros& row : rows) {
    for (const bool is_float : {true, false}) {
      Real (*const of)(Real) = exact.at(row.name);
      const NearZeros::Bound& bound = row.bounds[is_float ? 0 : 1];
      const std::vector<double> x = around_zeros(row, of, is_float);
      const auto out = upload(std::vector<double>(x.size()));
      launch(module->untyped_kernel(fmt::format("{}_of_{}", row.name, is_float ? "float" : "double")), grid_for(x.size()),
             static_cast<int>(x.size()), upload(x), out);
      const std::vector<double> given = download(out);
      double worst = 0, at = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const Real expected = of(is_float ? static_cast<Real>(static_cast<float>(x[i])) : static_cast<Real>(x[i]));
        const Real apart = std::fabs(static_cast<Real>(given[i]) - expected) / std::max(1.0L, std::fabs(expected));
        const double off = bound.unit == "ulp" ? ulps(given[i], expected, is_float) : static_cast<double>(apart);
        if (!(off <= worst)) worst = off, at = x[i];
      }
      INFO(row.name, is_float ? "f(" : "(", at, ") is ", worst, " ", bound.unit, " off");
      CHECK(worst <= bound.most);
      CHECK(worst >= bound.most / 10);  // the table has what was found
    }
  }
}

constexpr const char* of_pi = R"(
extern "C" __global__ void of_pi(int what, int n, const double* x, double* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double s, c;
  float sf, cf;
  sincospi(x[i], &s, &c);
  sincospif((float)x[i], &sf, &cf);
  const double results[] = {sinpi(x[i]), cospi(x[i]), sinpif((float)x[i]), cospif((float)x[i]), s, c, sf, cf};
  y[i] = results[what];
}
)";

TEST_CASE("sinpi, cospi and sincospi are exact at multiples of a half, for large arguments and zeros of either sign") {
  std::vector<double> x = {0.0, -0.0, inf, -inf, nan};
  for (int i = -9; i <= 9; ++i) x.push_back(i * 0.5);
  for (const double large : {1e6 + 0.5, 8388607.5, 16777216.0, 16777217.0, 4503599627370497.0, 9007199254740993.0, 1e300})
    for (const double v : {large, -large}) x.push_back(v);
  const ModulePtr module = compile(of_pi);
  for (const int what : {0, 2, 4, 6, 1, 3, 5, 7}) {
    const bool is_float = what % 4 >= 2, is_sine = what % 2 == 0;
    const auto results = upload(std::vector<double>(x.size()));
    launch(module->untyped_kernel("of_pi"), grid_for(x.size()), what, static_cast<int>(x.size()), upload(x), results);
    const std::vector<double> y = download(results);
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

}  // namespace
}  // namespace weir::test::accuracy_test
