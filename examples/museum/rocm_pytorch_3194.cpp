// SPDX-License-Identifier: Apache-2.0
//
// ROCm/pytorch #3194: https://github.com/ROCm/pytorch/issues/3194
//
// Wrong: Weights are copied to the GPU on a transfer stream (`copy_(…, non_blocking=True)`), and a matmul on the
// default stream uses them at once. PyTorch's streams do not wait for the default stream, nor the default stream for
// them.
// Cost: On five RX 7800 XT, about 98 % of the iterations computed with the former weights; a maintainer saw 99 of 100 on
// an MI250X. It was reported as a bug of ROCm; the answer was that CUDA promises no more.
// Here: Until the copy is complete, the layer's memory contains the weights of the previous layer.
// Race: Stream::copy writes, then kernel 'multiply' reads
// Shake: 10 of 20 seeds, pct 10; without it 1 of 20 runs
#include "museum.hpp"

namespace {

constexpr unsigned n = 4096;

// Stands for the matmul.
constexpr const char* source = R"(
extern "C" __global__ void multiply(unsigned n, const float* weights, float x, float* y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = weights[i] * x;
})";

void run(weir::Device& device, bool fixed) {
  const auto multiply = device.compile(source)->kernel<void(unsigned, const float*, float, float*)>("multiply");
  const weir::StreamPtr transfer = device.create_stream(), compute = device.default_stream();
  const auto weights = device.allocate<float>(n), y = device.allocate<float>(n);
  const auto offloaded = device.allocate<float>(n, weir::MemoryKind::pinned);
  for (float& weight : offloaded.host()) weight = 2;
  compute->fill(weights, 1.0F);
  compute->synchronize();

  transfer->copy(weights, offloaded);
  if (fixed) compute->wait(*transfer);
  compute->launch(multiply, weir::grid_for(n), n, weights, 3.0F, y);
  museum::expect(compute->read(y), 6.0F, "y");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
