// SPDX-License-Identifier: Apache-2.0
// C++17 in kernels and host code; C++14 and 20 compile the parts that they have.
#include <type_traits>
#include <vector>
#if __cplusplus >= 201703L
#include <optional>
#include <string_view>
#endif

#include "check.h"

template <class T>
__global__ void kinds(int* out, T value) {
  const auto generic = [](auto a, auto b) { return a + b; };
  int sum = int(generic(value, 1));
#if __cplusplus >= 201703L
  if constexpr (std::is_integral_v<T>) {
    sum += 100;
  } else {
    sum += 200;
  }
  const int pair[2] = {1, 2};
  const auto [a, b] = pair;
  sum += a + b;
  if (const int doubled = sum * 2; doubled > 0) sum += 1;
#endif
#if __cplusplus >= 202002L
  const auto typed = []<class U>(U x) { return x + U(1); };
  sum += typed(0) - 1;
#endif
  *out = sum;
}
#if __cplusplus >= 201703L
template <class... T>
__host__ __device__ auto total(T... x) {
  return (x + ...);
}
inline constexpr int answer = 42;
template <auto value>
__global__ void constant(int* out) {
  *out = total(int(value), answer, 1);
}
#endif
#if __cplusplus >= 202002L
template <class T>
concept Number = std::is_arithmetic_v<T>;
template <class T>
requires Number<T> __global__ void constrained(T* out) {
  struct Point {
    int x, y;
  };
  const Point point{.x = 3, .y = 4};
  *out = T(point.x + point.y);
}
#endif

int main() {
  Numbers<int, 1> out;
  kinds<<<1, 1>>>(out.device, 5);
  CHECK(out.read()[0] == (__cplusplus >= 201703L ? 110 : 6));
  kinds<<<1, 1>>>(out.device, 5.5);
  CHECK(out.read()[0] == (__cplusplus >= 201703L ? 210 : 6));
#if __cplusplus >= 201703L
  constant<7><<<1, 1>>>(out.device);
  CHECK(out.read()[0] == 50 && total(1, 2, 3) == 6);
  const std::optional<int> maybe = 3;
  const std::string_view text = "text";
  std::vector v{1, 2, 3};
  CHECK(*maybe == 3 && text.size() == 4 && v.size() == 3);
#endif
#if __cplusplus >= 202002L
  constrained<<<1, 1>>>(out.device);
  CHECK(out.read()[0] == 7);
#endif
  CHECK_KERNEL();
  return 0;
}
