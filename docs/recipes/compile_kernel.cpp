// SPDX-License-Identifier: Apache-2.0
//
// How do I compile a kernel at run time, and see the compiler's errors?
//
// The source is a string of CUDA C++. `CompileOptions` means the same to NVRTC, HIPRTC and the host's compiler.
// `defines` are macros (-D), with values that may be computed at run time; `include_directories` are folders of headers
// (-I). A source that does not compile throws `compilation_failed`, whose text has the whole log, with the file's `name`
// and the lines of the source.
#include <cstdio>
#include <string>
#include <vector>
#include <weir/weir.hpp>

constexpr const char* source = R"(
extern "C" __global__ void power(float* x) {
  float result = 1;
  for (int i = 0; i < EXPONENT; ++i) result *= x[threadIdx.x];
  x[threadIdx.x] = result;
})";

int main() {
  weir::Device& device = weir::default_device();
  const auto stream = device.create_stream();
  const auto power = device.compile(source, {.name = "power.cu", .defines = {{"EXPONENT", "3"}}})->untyped_kernel("power");
  const auto x = device.allocate<float>(32);
  stream->fill(x, 2.0F);
  stream->launch(power, {1, 32}, x);
  if (stream->read(x) != std::vector<float>(32, 8.0F)) return 1;

  try {
    (void)device.compile(source, {.name = "power.cu"});  // without EXPONENT
  } catch (const weir::Error& error) {
    std::printf("%s\n", error.what());
    return error.errc() == weir::Errc::compilation_failed && std::string(error.what()).find("power.cu") != std::string::npos
               ? 0
               : 1;
  }
  return 1;
}
