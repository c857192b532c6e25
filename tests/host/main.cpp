// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string_view>

#include "tests/host/isolated.hpp"
#include "tests/host/support.hpp"

namespace {

// A program for tests that need a separate process: compiles and runs a kernel, with the cache that the environment selects.
int compile_and_run(const char* summand) {
  using namespace weir;
  CompileOptions options;
  options.defines = {{"SUMMAND", summand}};
  const auto module = test::host().compile("extern \"C\" __global__ void k(int* x) { x[threadIdx.x] += SUMMAND; }", options);
  const auto x = test::upload(std::vector<int>{1, 2, 3, 4});
  test::launch(module->untyped_kernel("k"), {.block = {4, 1, 1}}, x);
  std::printf("%d\n", x.data()[0] + x.data()[3]);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--compile-and-run") return compile_and_run(argv[2]);
  return weir::test::run_isolated(argc, argv);
}
