// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <string>

#include "tests/host/support.hpp"

/// Tests integer divisions that trap on x86 but not on a GPU.
namespace weir::test {
namespace {

// All combinations of some dividends and divisors, with the divisor in a register and in memory, and constants on either
// side; for all types at once.
ModulePtr division_module(bool debug) {
  CompileOptions options;
  options.debug = debug;
  return host().compile(R"(
#define DIVISIONS(T, NAME) \
extern "C" __global__ void divide_##NAME(const T* a, const T* b, T* quotients, T* remainders, T* others, int n) { \
  const int i = blockIdx.x * blockDim.x + threadIdx.x; \
  if (i >= n * n) return; \
  quotients[i] = a[i / n] / b[i % n]; \
  remainders[i] = a[i / n] % b[i % n]; \
  T quotient = a[i / n]; \
  quotient /= b[i % n]; \
  T remainder = a[i / n]; \
  remainder %= b[i % n]; \
  others[i] = quotient - quotients[i] + (remainder - remainders[i]); \
} \
extern "C" __global__ void constants_##NAME(const T* a, T* results) { \
  results[0] = a[0] / (T)-1; \
  results[1] = a[0] % (T)-1; \
  results[2] = a[0] / 7; \
  results[3] = (T)100 / a[1]; \
}
DIVISIONS(signed char, int8)
DIVISIONS(short, int16)
DIVISIONS(int, int32)
DIVISIONS(long long, int64)
DIVISIONS(unsigned char, uint8)
DIVISIONS(unsigned short, uint16)
DIVISIONS(unsigned int, uint32)
DIVISIONS(unsigned long long, uint64)
)",
                        options);
}

template <class T>
void check_divisions(const ModulePtr& module, const std::string& type) {
  CAPTURE(type);
  constexpr T least = std::numeric_limits<T>::min(), greatest = std::numeric_limits<T>::max();
  const std::vector<T> values = {
      least,   static_cast<T>(least + 1), static_cast<T>(-7), static_cast<T>(-1), 0, 1, 2, 7, static_cast<T>(greatest - 1),
      greatest};
  const int n = static_cast<int>(values.size());
  const auto operands = upload(values);
  const auto quotients = upload(std::vector<T>(n * n)), remainders = upload(std::vector<T>(n * n));
  const auto others = upload(std::vector<T>(n * n, 1));
  launch(module->untyped_kernel("divide_" + type), {.block = {128, 1, 1}}, operands, operands, quotients, remainders, others,
         n);
  for (int i = 0; i < n * n; ++i) {
    const T a = values[i / n], b = values[i % n];
    CAPTURE(+a);
    CAPTURE(+b);
    CHECK(others.data()[i] == 0);
    if (b == 0) continue;  // any number, on a GPU, too
    const bool overflows = std::is_signed_v<T> && a == least && b == static_cast<T>(-1);
    CHECK(quotients.data()[i] == (overflows ? least : static_cast<T>(a / b)));
    CHECK(remainders.data()[i] == (overflows ? T{0} : static_cast<T>(a % b)));
  }
  const auto results = upload(std::vector<T>(4));
  launch(module->untyped_kernel("constants_" + type), {}, upload(std::vector<T>{least, 3}), results);
  CHECK(download(results) == std::vector<T>{std::is_signed_v<T> ? least : T{0}, T{0}, static_cast<T>(least / 7), T{33}});
}

TEST_CASE("the least number divided by -1 is itself, with remainder 0, where the compiler sees that they meet") {
  const auto kernel = host().compile(R"(
extern "C" __global__ void k(int* quotients, long long* remainders) {
  const unsigned t = threadIdx.x;
  const int a = t & 1 ? -2147483647 - 1 : 7, b = t & 2 ? -1 : 2;
  quotients[t] = a / b;
  const long long c = t & 1 ? -9223372036854775807LL - 1 : 7, d = t & 2 ? -1 : 2;
  remainders[t] = c % d + 5;
})")->untyped_kernel("k");
  const auto quotients = upload(std::vector<int>(4, 1));
  const auto remainders = upload(std::vector<long long>(4, 1));
  launch(kernel, {.grid = {1}, .block = {4}}, quotients, remainders);
  CHECK(download(quotients) == std::vector<int>{3, -1073741824, -7, std::numeric_limits<int>::min()});
  CHECK(download(remainders) == std::vector<long long>{6, 5, 5, 5});
}

TEST_CASE("no integer division ends the process, and all that have a result give it") {
  for (const bool debug : {false, true}) {
    CAPTURE(debug);
    const ModulePtr module = division_module(debug);
    check_divisions<std::int8_t>(module, "int8");
    check_divisions<std::int16_t>(module, "int16");
    check_divisions<std::int32_t>(module, "int32");
    check_divisions<std::int64_t>(module, "int64");
    check_divisions<std::uint8_t>(module, "uint8");
    check_divisions<std::uint16_t>(module, "uint16");
    check_divisions<std::uint32_t>(module, "uint32");
    check_divisions<std::uint64_t>(module, "uint64");
  }
}

}  // namespace
}  // namespace weir::test
