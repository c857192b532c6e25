// SPDX-License-Identifier: Apache-2.0
//
// How do I launch a kernel whose arguments I only know at run time?
//
// `launch_raw` takes the arguments' addresses and sizes, like cuLaunchKernel. The arguments are copied before the call
// returns. `Kernel::parameters` has the sizes that the kernel expects, if the driver reports them.
#include <vector>
#include <weir/weir.hpp>

constexpr const char* source = R"(
extern "C" __global__ void scale(float factor, float* x) { x[threadIdx.x] *= factor; })";

int main() {
  weir::Device& device = weir::default_device();
  const auto kernel = device.compile(source)->untyped_kernel("scale");
  const auto stream = device.create_stream();
  const auto x = device.allocate<float>(32);
  stream->fill(x, 3.0F);

  float factor = 2.0F;
  void* pointer = x.data();
  const std::vector<void*> arguments = {&factor, &pointer};
  const std::vector<weir::Parameter> parameters = {{sizeof(factor), weir::ParameterKind::floating},
                                                   {sizeof(pointer), weir::ParameterKind::address}};
  stream->launch_raw(*kernel, {1, 32}, arguments, parameters);
  return stream->read(x) == std::vector<float>(32, 6.0F) ? 0 : 1;
}
