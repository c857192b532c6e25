// SPDX-License-Identifier: Apache-2.0
//
// quadrants #649: https://github.com/Genesis-Embodied-AI/quadrants/pull/649
//
// Wrong: A compiled kernel keeps one buffer on the GPU for its arguments, and each launch copies them there.
// Launches may be on any stream, so the arguments of the next one may arrive while the last one still reads its own.
// Cost: Corrupted data, as soon as users could choose streams; tests of streams failed.
// Here: One kernel on two streams.
// Race: kernel 'add' reads, then Stream::copy writes
// Shake: 8 of 20 seeds, pct 2; without it 2 of 20 runs
#include "museum.hpp"

namespace {

constexpr unsigned n = 4096;

constexpr const char* source = R"(
extern "C" __global__ void add(unsigned n, const int* arguments, int* x) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += arguments[0];
})";

class CompiledKernel {
 public:
  explicit CompiledKernel(weir::Device& device)
      : add_(device.compile(source)->kernel<void(unsigned, const int*, int*)>("add")), arguments_(device.allocate<int>(1)) {}

  /// Adds a value in host memory to all elements.
  void operator()(weir::Stream& stream, weir::Span<int> value, const weir::Buffer<int>& x, bool fixed) const {
    const auto own = fixed ? stream.allocate_async<int>(1) : arguments_.share();  // the stream frees it after the launch
    stream.copy(own, value);
    stream.launch(add_, weir::grid_for(n), n, own, x);
  }

 private:
  weir::TypedKernel<void(unsigned, const int*, int*)> add_;
  weir::Buffer<int> arguments_;
};

void run(weir::Device& device, bool fixed) {
  const CompiledKernel add(device);
  const weir::StreamPtr a = device.create_stream(), b = device.create_stream();
  const auto x = device.allocate<int>(n), y = device.allocate<int>(n);
  const auto values = device.allocate<int>(2, weir::MemoryKind::pinned);
  values.host()[0] = 1;
  values.host()[1] = 2;
  a->zero(x);
  b->zero(y);

  add(*a, values.subspan(0, 1), x, fixed);
  add(*b, values.subspan(1, 1), y, fixed);
  museum::expect(a->read(x), 1, "x");
  museum::expect(b->read(y), 2, "y");
}

}  // namespace

int main(int argc, char** argv) { return museum::run(argc, argv, run); }
