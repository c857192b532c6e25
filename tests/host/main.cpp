// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <stdlib.h>

#include <cstdio>
#include <initializer_list>
#include <string_view>

#include "core/base/temporary_folder.hpp"
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
  for (const char* variable : {"WEIR_BACKEND", "WEIR_DEVICE", "WEIR_DISABLE_FEATURES", "WEIR_HOST_DEVICES"})
    ::unsetenv(variable);
  if (argc == 3 && std::string_view(argv[1]) == "--compile-and-run") return compile_and_run(argv[2]);
  const weir::detail::TemporaryFolder cache;
  ::setenv("WEIR_CACHE_DIR", cache.path().c_str(), 1);
  return doctest::Context(argc, argv).run();
}
