// SPDX-License-Identifier: Apache-2.0
//
// fastfields-lib #88: https://github.com/fastfields/fastfields-lib/issues/88
//
// Wrong: A library runs a kernel on its caller's stream, and copies the result on the default stream. Only cudaFree
// orders the two, because it happens to wait for the whole device. In a caller such as PyTorch nothing else does:
// its streams do not wait for the default stream, nor the default stream for them.
// Cost: Nothing yet: it was found by reading. It breaks when the temporary memory comes from a pool, because
// cudaFreeAsync does not wait.
// Here: The temporary memory is stream-ordered, so freeing it does not block.
// Race: kernel 'distances' reads and writes, then Stream::copy reads
// Shake: 13 of 20 seeds, pct 10; without it 2 of 20 runs
#include "museum.hpp"

namespace {

constexpr unsigned n = 4096;

constexpr const char* source = R"(
extern "C" __global__ void distances(unsigned n, const float* points, float* result) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) result[i] = points[i] * points[i];
})";
using Distances = weir::TypedKernel<void(unsigned, const float*, float*)>;

/// The library's function. Its result must be complete when the function returns.
weir::Buffer<float> distances_on_host(weir::Stream& caller, const Distances& distances, bool fixed) {
  weir::Device& device = caller.device();
  const auto result = device.allocate<float>(n);
  auto on_host = device.allocate<float>(n, weir::MemoryKind::pinned);
  {
    const auto points = caller.allocate_async<float>(n);
    caller.fill(points, 3.0F);
    caller.launch(distances, weir::grid_for(n), n, points, result);
  }
  const weir::StreamPtr legacy = device.default_stream();
  weir::Stream& copies = fixed ? caller : *legacy;
  copies.copy(on_host, result);
  copies.synchronize();
  return on_host;
}

void run(weir::Device& device, bool fixed) {
  const auto distances = device.compile(source)->kernel<void(unsigned, const float*, float*)>("distances");
  const weir::StreamPtr caller = device.create_stream();
  const auto result = distances_on_host(*caller, distances, fixed);
  museum::expect(result.host(), 9.0F, "result");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
