// SPDX-License-Identifier: Apache-2.0
// Tests bundles with the same name in a program and in two static libraries, and two bundles in one file. Each launch must
// run the kernel of its own bundle.
#include <cstdio>

#include "weir/weir.hpp"

weir::KernelBundle left_bundle();
weir::KernelBundle right_bundle();

int main() {
  weir::Device& device = weir::device("host");
  const weir::StreamPtr stream = device.create_stream();
  const auto x = device.allocate<float>(1);
  int failures = 0;
  const auto check = [&](const char* what, const weir::KernelBundle& bundle, float expected) {
    stream->fill(x, 10.0F);
    const auto kernel = device.load(bundle)->kernel<void(int, float*)>("apply");
    stream->launch(kernel, weir::grid_for(1), 1, x);
    const float result = stream->read(x)[0];
    if (result == expected) return;
    std::printf("%s: %g instead of %g\n", what, result, expected);
    ++failures;
  };
  check("the library 'left'", left_bundle(), 11);
  check("the library 'right'", right_bundle(), 110);
  check("the program's first bundle", weir_kernels(apply), 20);
  check("the program's second bundle", weir_kernels(subtract), 7);
  return failures == 0 ? 0 : 1;
}
