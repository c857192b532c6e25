// SPDX-License-Identifier: Apache-2.0
//
// How do I build a .cu file into my program?
//
// `weir_add_kernels(program SOURCES smooth.cu NVIDIA 80 90 AMD gfx90a HOST)` in CMake compiles
// [smooth.cu](recipes/smooth.cu) for all of them, without a vendor's compiler driver and without a GPU
// ([ahead of time](ahead-of-time.md)). `weir_kernels(smooth)` is the result; `load` takes the image that fits the
// device, and compiles the source if none does.
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

int main() {
  const weir::KernelBundle bundle = weir_kernels(smooth);
  for (const auto& image : bundle.images()) {
    std::printf("%s %s: %zu bytes\n", std::string(image.backend).c_str(), std::string(image.architecture).c_str(),
                image.code.size());
  }

  weir::Device& device = weir::default_device();
  const auto smooth = device.load(bundle)->untyped_kernel("smooth");
  const auto stream = device.create_stream();
  const auto in = device.allocate<float>(1024), out = device.allocate<float>(1024);
  std::vector<float> values(in.size(), 0.0F);
  values[100] = 6.0F;
  stream->copy(in, values);
  stream->launch(smooth, {16, 64}, in, out);
  stream->copy(values, out);
  stream->synchronize();
  return values[99] == 2.0F && values[100] == 2.0F && values[101] == 2.0F && values[102] == 0.0F ? 0 : 1;
}
