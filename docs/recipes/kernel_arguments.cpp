// SPDX-License-Identifier: Apache-2.0
//
// How do I pass arguments to a kernel?
//
// By value, in the kernel's order: numbers, structures that are trivially copyable, and a `Buffer` or `Span` for each
// pointer. If you give the kernel its type, the launch converts them like a function call, and an argument that does not
// fit does not compile. Without the type nothing is converted: pass a `float` for a `float`. A wrong number of
// arguments, a wrong size, or a floating-point number for an integer is then `invalid_argument`, if the backend can
// detect it.
#include <vector>
#include <weir/weir.hpp>

struct Line {
  float slope, offset;
};

constexpr const char* source = R"(
struct Line { float slope, offset; };
extern "C" __global__ void apply(unsigned int n, Line line, const float* x, float* y) {
  const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = line.slope * x[i] + line.offset;
})";

int main() {
  weir::Device& device = weir::default_device();
  const auto apply = device.compile(source)->untyped_kernel("apply");
  const auto stream = device.create_stream();
  const unsigned int n = 1000;
  const auto x = device.allocate<float>(n), y = device.allocate<float>(n);
  stream->fill(x, 2.0F);
  stream->launch(apply, weir::grid_for(n), n, Line{3.0F, 1.0F}, x, y);
  if (stream->read(y) != std::vector<float>(n, 7.0F)) return 1;

  const auto typed = device.compile(source)->kernel<void(unsigned int, Line, const float*, float*)>("apply");
  stream->launch(typed, weir::grid_for(n), 1000, Line{3.0F, 1.0F}, x, y);  // 1000 is an int, and a constant that fits
  if (stream->read(y) != std::vector<float>(n, 7.0F)) return 1;

  if (!apply->has_parameter_sizes()) return 0;  // this driver cannot tell
  try {
    stream->launch(apply, weir::grid_for(n), n, Line{}, x);  // y is missing
  } catch (const weir::Error& error) {
    return error.errc() == weir::Errc::invalid_argument ? 0 : 1;
  }
  return 1;
}
