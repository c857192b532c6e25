// SPDX-License-Identifier: Apache-2.0
// Measures the compile time of four standard headers.
#include <algorithm>
#include <array>
#include <functional>
#include <tuple>

extern "C" __global__ void headers(int n, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const std::array<float, 3> near{x[std::max(i - 1, 0)], x[i], x[std::min(i + 1, n - 1)]};
  const std::tuple<float, float> others(near[0], near[2]);
  y[i] = std::plus<float>()(std::get<0>(others), std::get<1>(others)) - 2 * near[1];
}
