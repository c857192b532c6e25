// SPDX-License-Identifier: Apache-2.0
//
// How do I catch errors?
//
// Every error is a `weir::Error`. `what()` names the operation, the object, the cause and the remedy; `errc()` is the
// same on every backend; `native()` has the driver's error, if a driver reported one. A call that throws has no effect.
#include <cstdio>
#include <vector>
#include <weir/weir.hpp>

int main() {
  weir::Device& device = weir::default_device();
  const auto stream = device.create_stream();
  const auto x = device.allocate<float>(1000);
  const std::vector<float> input(999);
  try {
    stream->copy(x, input);
  } catch (const weir::Error& error) {
    std::printf("%s\n", error.what());
    std::printf("driver: %s\n", error.native().code == 0 ? "was not asked" : error.native().name.c_str());
    return error.errc() == weir::Errc::length_mismatch && error.operation() == "Stream::copy" ? 0 : 1;
  }
  return 1;
}
