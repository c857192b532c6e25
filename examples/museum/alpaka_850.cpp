// SPDX-License-Identifier: Apache-2.0
//
// alpaka #850: https://github.com/alpaka-group/alpaka/issues/850
//
// Wrong: A blocking queue launches its kernels on a stream of its own, and copies by cudaMemcpy, which works on the
// default stream. The queue's stream was made with cudaStreamNonBlocking: the default stream does not wait for it.
// Cost: A user's program had data races between copies and kernels. The last release also had the bug and got its
// own fix.
// Here: The queue copies, scales, and copies back.
// Race: kernel 'scale' reads and writes, then Stream::copy reads
// Shake: 10 of 20 seeds, pct 10; without it 1 of 20 runs
#include "museum.hpp"

namespace {

constexpr unsigned n = 4096;

constexpr const char* source = R"(
extern "C" __global__ void scale(unsigned n, float* x) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
})";

class BlockingQueue {
 public:
  BlockingQueue(weir::Device& device, bool fixed)
      : kernels_(device.create_stream({.blocking = fixed})),  // whether it waits for the default stream
        default_(device.default_stream()),
        scale_(device.compile(source)->kernel<void(unsigned, float*)>("scale")) {}

  void copy(const weir::Buffer<float>& destination, const weir::Buffer<float>& from) {
    default_->copy(destination, from);
    default_->synchronize();
  }
  void scale(const weir::Buffer<float>& x) { kernels_->launch(scale_, weir::grid_for(n), n, x); }

 private:
  weir::StreamPtr kernels_, default_;
  weir::TypedKernel<void(unsigned, float*)> scale_;
};

void run(weir::Device& device, bool fixed) {
  BlockingQueue queue(device, fixed);
  const auto x = device.allocate<float>(n);
  const auto on_host = device.allocate<float>(n, weir::MemoryKind::pinned);
  for (float& value : on_host.host()) value = 1;

  queue.copy(x, on_host);
  queue.scale(x);
  queue.copy(on_host, x);
  museum::expect(on_host.host(), 2.0F, "x");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
