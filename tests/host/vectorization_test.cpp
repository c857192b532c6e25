// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "backends/host/child_process.hpp"
#include "backends/host/compiler.hpp"
#include "backends/host/kernel_source.hpp"
#include "backends/host/temporary_folder.hpp"
#include "tests/host/support.hpp"

/// That the loop over threads becomes packed instructions, seen in the assembly.
namespace weir::host {
namespace {

std::string assembly(const std::string& source) {
  const Compiler compiler = find_compiler();
  CompileOptions options;
  // GCC splits the loop at the kernel's guard, and so does without masked stores; Clang needs them. Neither gets scatters.
  options.extra = {"-march=x86-64", compiler.is_gcc ? "-msse2" : "-mavx2"};
  const auto flags = compiler_flags(compiler, "native", options);
  const TemporaryFolder folder;
  const auto run = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), compiler.path);
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const ChildOutcome outcome = run_child(arguments, folder.path(), compiler_environment(arguments[0]));
    CAPTURE(outcome.output);
    REQUIRE(outcome.status == 0);
  };
  const auto read = [&](const char* name) {
    std::ifstream file(folder.path() + "/" + name);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  std::ofstream(folder.path() + "/unit.cpp") << compose_unit(source, options, 32);
  run({"-E", "-x", "c++", "unit.cpp", "-o", "unit.ii"});
  std::ofstream(folder.path() + "/rewritten.ii") << rewrite_kernels(read("unit.ii"), true).text;
  run({"-S", "-x", "c++-cpp-output", "rewritten.ii", "-o", "kernel.s"});
  return read("kernel.s");
}

// How many instructions work on four numbers at once.
std::ptrdiff_t packed(const std::string& kernel) {
#if defined(__x86_64__)
  const std::regex instruction("\\n\\tv?mulps\\t");
  const std::string text = assembly(kernel);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), instruction), std::sregex_iterator());
#else
  (void)kernel;
  return 1;
#endif
}

TEST_CASE("kernels as people write them are vectorized") {
  for (const char* body : {
           "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2.5f * x[i] + y[i];",
           "unsigned i = threadIdx.x; y[i] = 2.5f * x[i];",
           "int i = blockDim.x * blockIdx.x + threadIdx.x; if (i >= n) return; y[i] = fmaxf(x[i] * 2.5f, 0.0f);",
           "int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y; if (i < n && j < m) "
           "y[j * n + i] = 2.5f * x[j * n + i];",
           "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = twice(x[i]);",
           "int i = index(); if (i < n) y[i] = 2.5f * x[i];",
       }) {
    CAPTURE(std::string(body));
    CHECK(packed("__device__ float twice(float v) { return v * 2.5f; }\n"
                 "__device__ int index() { return blockIdx.x * blockDim.x + threadIdx.x; }\n"
                 "extern \"C\" __global__ void k(const float* x, float* y, int n, int m) { " +
                 std::string(body) + " }") > 0);
  }
}

TEST_CASE("what cannot be vectorized shows that the check can fail") {
#if defined(__x86_64__)
  CHECK(packed("extern \"C\" __global__ void k(const int* x, float* y) { y[x[threadIdx.x]] *= 2.5f; }") == 0);
#endif
}

}  // namespace
}  // namespace weir::host
