// SPDX-License-Identifier: Apache-2.0
//
// DeepSpeed #7898: https://github.com/deepspeedai/DeepSpeed/pull/7898
//
// Wrong: Gradients are copied into a bucket on the stream that reduces them. That stream waits for the default stream.
// But autograd runs each backward step on the stream of its forward step, which need not be the default stream.
// Cost: With PyTorch 2.10 and later, training in bf16 gave NaN in weights after an optimizer step, in other layers and
// on other ranks each time. In older versions of PyTorch, streams were assigned such that the bug had no effect.
// Here: The backward step runs on the current stream, which is not the default one.
// Race: kernel 'backward' reads and writes, then Stream::copy reads
// Shake: 10 of 20 seeds, pct 10; without it 0 of 20 runs
#include "museum.hpp"

namespace {

constexpr unsigned n = 4096;

constexpr const char* source = R"(
extern "C" __global__ void backward(unsigned n, float* gradients) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) gradients[i] = 1;
})";

/// Called when the gradients are computed or at least enqueued.
void add_to_bucket(const weir::Buffer<float>& bucket, const weir::Buffer<float>& gradients, weir::Stream& reduce,
                   bool fixed) {
  weir::Device& device = reduce.device();
  reduce.wait(fixed ? weir::current_stream(device) : device.default_stream());
  reduce.copy(bucket, gradients);
}

void run(weir::Device& device, bool fixed) {
  const auto backward = device.compile(source)->kernel<void(unsigned, float*)>("backward");
  const weir::StreamPtr reduce = device.create_stream(), forward = device.create_stream();
  const auto gradients = device.allocate<float>(n), bucket = device.allocate<float>(n);
  forward->fill(gradients, -1.0F);
  forward->synchronize();

  const weir::StreamScope scope(forward);
  forward->launch(backward, weir::grid_for(n), n, gradients);
  add_to_bucket(bucket, gradients, *reduce, fixed);
  museum::expect(reduce->read(bucket), 1.0F, "bucket");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
