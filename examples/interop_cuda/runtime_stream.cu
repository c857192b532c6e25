// SPDX-License-Identifier: Apache-2.0

// Uses a stream, an event and a capture of the CUDA runtime with Weir.

#include <memory>

#include "check.hpp"
#include "weir/interop/cuda.hpp"

namespace {

__global__ void add_one(unsigned* values, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += 1;
}

constexpr unsigned n = 1 << 16;

bool work_together() {
  weir::Device& device = weir::cuda::device(0);
  CHECK(cudaSetDevice(weir::cuda::device_number(device)));

  // The runtime's stream has an owner, which destroys it. Weir keeps the shared pointer as long as it uses the stream.
  cudaStream_t native = nullptr;
  CHECK(cudaStreamCreateWithFlags(&native, cudaStreamNonBlocking));
  const auto owner = std::shared_ptr<CUstream_st>(native, [](cudaStream_t s) { cudaStreamDestroy(s); });
  // the only line needed for the runtime's stream
  const weir::StreamPtr stream = weir::cuda::wrap(device, native, weir::Ownership::borrow, owner);

  auto values = device.allocate<unsigned>(n);
  auto result = device.allocate<unsigned>(n, weir::MemoryKind::pinned);
  stream->fill(values, 40U);                               // by Weir
  add_one<<<n / 256, 256, 0, native>>>(values.data(), n);  // by the runtime, after Weir's fill
  CHECK(cudaGetLastError());

  // The runtime records Weir's event, and another Weir stream waits for it.
  const weir::EventPtr done = device.create_event();
  CHECK(cudaEventRecord(weir::cuda::event(*done), native));
  const weir::StreamPtr other = device.create_stream();
  other->wait(*done);

  // The runtime begins a capture, and Weir's work becomes part of it.
  cudaStream_t const capturing = weir::cuda::stream(*other);
  CHECK(cudaStreamSynchronize(capturing));
  CHECK(cudaStreamBeginCapture(capturing, cudaStreamCaptureModeThreadLocal));
  add_one<<<n / 256, 256, 0, capturing>>>(values.data(), n);
  other->copy(result, values);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(capturing, &graph));
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(cudaGraphLaunch(executable, capturing));
  other->synchronize();
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));

  bool right = true;
  for (const unsigned value : result.host()) right = right && value == 42;
  std::printf("a runtime stream on %s: every value is %s\n", device.properties().name.c_str(), right ? "42" : "WRONG");
  return right;
}

}  // namespace

int main() { return run_example(work_together); }
