// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstring>
#include <vector>

#include "weir/weir.hpp"

// A program that is compiled without exceptions, and gets errors as return values.

namespace {

int failures = 0;

void expect(bool right, const char* what) {
  if (right) return;
  failures += 1;
  std::fprintf(stderr, "wrong: %s\n", what);
}

constexpr const char* source = R"(
extern "C" __global__ void scale(int n, float a, float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= a;
})";

}  // namespace

int main(int argc, char** argv) {
  weir::Device& device = weir::default_device();
  const weir::StreamPtr stream = device.create_stream();
  const weir::Result<weir::Buffer<float>> x = weir::attempt([&] { return device.allocate<float>(1000); });
  expect(x.has_value(), "memory");
  std::vector<float> host(1000, 2.0F);
  expect(weir::attempt([&] { stream->copy(*x, host); }).has_value(), "copy");
  const auto module = weir::attempt([&] { return device.compile(source); });
  if (module) {
    const auto scale = (*module)->kernel<void(int, float, float*)>("scale");
    expect(weir::attempt([&] { stream->launch(scale, {4, 256}, 1000, 3.0F, *x); }).has_value(), "launch");
    expect(weir::attempt([&] { stream->copy(host, *x); }).has_value(), "copy back");
    expect(weir::attempt([&] { stream->synchronize(); }).has_value(), "synchronize");
    expect(host[999] == 6.0F, "result");
    const auto refused = weir::attempt([&] { stream->launch(scale, {0, 256}, 1000, 3.0F, *x); });
    expect(!refused && refused.error().errc() == weir::Errc::invalid_argument, "an empty grid");
  } else {
    expect(module.error().errc() == weir::Errc::compiler_not_found, module.error().what());
  }
  const weir::StreamPtr other = device.create_stream();
  other->close();
  const weir::Result<void> closed = weir::attempt([&] { other->synchronize(); });
  expect(!closed && closed.error().errc() == weir::Errc::stream_closed, "a closed stream");
  if (argc > 1 && std::strcmp(argv[1], "unexpected") == 0) other->synchronize();
  return failures == 0 ? 0 : 1;
}
