// SPDX-License-Identifier: Apache-2.0

// Uses cuBLAS on a Weir stream. A matrix product is captured into a graph, between Weir's own copies, and the graph is
// launched ten times.

#include <cublas_v2.h>

#include <cmath>
#include <random>
#include <vector>

#include "check.hpp"
#include "weir/interop/cuda.hpp"

namespace {

constexpr int n = 256;

bool multiply() {
  weir::Device& device = weir::cuda::device(0);
  CHECK(cudaSetDevice(weir::cuda::device_number(device)));
  const weir::StreamPtr stream = device.create_stream();

  std::mt19937 random(1);
  std::uniform_real_distribution<float> between(-1, 1);
  auto host_a = device.allocate<float>(n * n, weir::MemoryKind::pinned), host_b = device.allocate<float>(n * n, weir::MemoryKind::pinned);
  auto host_c = device.allocate<float>(n * n, weir::MemoryKind::pinned);
  for (float& value : host_a.host()) value = between(random);
  for (float& value : host_b.host()) value = between(random);
  auto a = device.allocate<float>(n * n), b = device.allocate<float>(n * n), c = device.allocate<float>(n * n);
  auto workspace = device.allocate_bytes(32 << 20);

  cublasHandle_t blas = nullptr;
  CHECK(cublasCreate(&blas));
  CHECK(cublasSetStream(blas, weir::cuda::stream(*stream)));  // the only line needed for cuBLAS
  // Otherwise cuBLAS would allocate memory during the capture.
  CHECK(cublasSetWorkspace(blas, workspace->data(), workspace->size_bytes()));

  const float one = 1, zero = 0;
  const weir::GraphPtr graph = stream->capture([&](weir::Stream& s) {
    s.copy(a, host_a);
    s.copy(b, host_b);
    CHECK(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.data(), n, b.data(), n, &zero, c.data(), n));
    s.copy(host_c, c);
  });
  const weir::GraphExecPtr executable = graph->instantiate();
  for (int i = 0; i < 10; ++i) executable->launch(*stream);
  stream->synchronize();
  CHECK(cublasDestroy(blas));

  double worst = 0;
  for (int column = 0; column < n; ++column) {
    for (int row = 0; row < n; ++row) {
      double sum = 0;
      for (int k = 0; k < n; ++k) sum += double{host_a.host()[k * n + row]} * host_b.host()[column * n + k];
      worst = std::fmax(worst, std::fabs(sum - host_c.host()[column * n + row]));
    }
  }
  std::printf("cuBLAS on %s: a %dx%d product in a graph of %zu nodes, largest error %.2g\n", device.properties().name.c_str(), n, n,
              graph->node_count(), worst);
  return worst < 1e-3;
}

}  // namespace

int main() { return run_example(multiply); }
