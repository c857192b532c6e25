// SPDX-License-Identifier: Apache-2.0
//
// How do I run my first kernel?
//
// The kernel is CUDA C++. Weir compiles it when the program runs: with NVRTC on NVIDIA GPUs, with HIPRTC on AMD GPUs, with
// the system's C++ compiler on the CPU. `grid_for(n)` is enough blocks of 256 threads for `n` elements. `read` copies the
// result to the host and waits for it.
#include <cstdio>
#include <exception>
#include <vector>
#include <weir/weir.hpp>

constexpr const char* source = R"(
extern "C" __global__ void square(int n, float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * x[i];
})";

int main() try {
  weir::Device& device = weir::default_device();
  const auto square = device.compile(source)->untyped_kernel("square");

  const int n = 1000;
  const auto stream = device.create_stream();
  const auto x = device.allocate<float>(n);
  stream->fill(x, 3.0F);
  stream->launch(square, weir::grid_for(n), n, x);
  const std::vector<float> result = stream->read(x);

  std::printf("3 squared is %g on %s\n", result.front(), device.properties().name.c_str());
  return result == std::vector<float>(n, 9.0F) ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
