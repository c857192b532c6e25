// SPDX-License-Identifier: Apache-2.0
// constexpr functions without a mark, constants and types of the standard library in kernels.
#include <array>
#include <cfloat>
#include <climits>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "check.h"

constexpr int square(int x) { return x * x; }
template <class T>
constexpr T clamped(T x, T least, T most) {
  return std::min(std::max(x, least), most);
}
struct Size {
  int w, h;
  constexpr Size(int a, int b) : w(a), h(b) {}
  constexpr int area() const { return w * h; }
};
constexpr Size size(4, 5);
constexpr int first = 2;
static const int second = 3;
enum { tile = square(4) };

template <class T, std::enable_if_t<std::is_floating_point<T>::value, int> = 0>
__device__ T least() {
  return std::numeric_limits<T>::lowest();
}
__global__ void run(int* out, int n) {
  __shared__ int memory[tile + size.area()];
  memory[threadIdx.x] = 0;
  out[0] = square(n) + tile;
  out[1] = clamped(n, 0, 2) + int(sizeof(memory) / sizeof(int));
  out[2] = size.area() + first + second;
  out[3] = std::numeric_limits<int>::max() == INT_MAX && least<float>() == -FLT_MAX;
  const std::pair<int, float> pair(3, 0.5f);
  out[4] = pair.first + int(pair.second * 2);
  out[5] = std::get<1>(std::make_tuple(1, 7));
  int table[4];
  for (int& x : table) x = n;
  out[6] = table[0] + table[3];
}

int main() {
  Numbers<int, 7> out;
  run<<<1, 1>>>(out.device, 6);
  CHECK_KERNEL();
  const int expected[] = {52, 2 + 36, 25, 1, 4, 7, 12};
  for (int i = 0; i < 7; ++i) CHECK(out.read()[i] == expected[i]);
  return 0;
}
