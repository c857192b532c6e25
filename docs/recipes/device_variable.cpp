// SPDX-License-Identifier: Apache-2.0
//
// How do I set a constant or a global variable of a kernel?
//
// `Module::global` (cudaGetSymbolAddress) returns the memory of a `__constant__` or `__device__` variable as bytes. Copy
// to it as to any other memory. Each module has its own variables.
#include <span>
#include <vector>
#include <weir/weir.hpp>

constexpr const char* source = R"(
__constant__ float weights[4];
extern "C" __global__ void weigh(float* x) { x[threadIdx.x] *= weights[threadIdx.x]; })";

int main() {
  weir::Device& device = weir::default_device();
  const auto module = device.compile(source);
  const auto stream = device.create_stream();
  const std::vector<float> weights = {1, 2, 3, 4};
  const auto x = device.allocate<float>(4);

  stream->copy(module->global("weights"), std::as_bytes(std::span(weights)));
  stream->fill(x, 10.0F);
  stream->launch(module->untyped_kernel("weigh"), {1, 4}, x);
  return stream->read(x) == std::vector<float>{10, 20, 30, 40} ? 0 : 1;
}
