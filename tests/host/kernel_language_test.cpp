// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "backends/host/run/kernel.hpp"
#include "core/base/temporary_folder.hpp"
#include "tests/host/support.hpp"

/// Tests the language features that kernels may use, and their effects.
namespace weir::test {
namespace {

TEST_CASE("parameters of every size and shape") {
  struct Big {
    double values[40];
    char tail;
  };
  const auto module = host().compile(R"(
struct Big { double values[40]; char tail; };
struct alignas(64) Wide { int x; };
extern "C" __global__ void k(char a, short b, int c, long long d, float e, double f, bool g, uint3 h, float4 i, Big j,
                             Wide w, const Big* p, double* out) {
  out[0] = a + b + c + d + e + f + g + h.z + i.w + j.values[39] + j.tail + w.x + p->values[1];
  a = 0; j.values[39] = -1;  // a thread's own copy
})");
  const auto kernel = module->untyped_kernel("k");
  REQUIRE(kernel->has_parameter_sizes());
  std::vector<std::size_t> sizes;
  for (const Parameter& parameter : kernel->parameters()) sizes.push_back(parameter.size);
  CHECK(sizes == std::vector<std::size_t>{1, 2, 4, 8, 4, 8, 1, 12, 16, 328, 64, 8, 8});
  struct Uint3 { unsigned x, y, z; };
  struct Float4 { float x, y, z, w; };
  struct alignas(64) Wide { int x; };
  Big big{};
  big.values[39] = 0.5;
  big.values[1] = 0.25;
  big.tail = 3;
  const auto out = upload(std::vector<double>(1));
  launch(kernel, {.grid = {3, 1, 1}, .block = {5, 1, 1}}, char{1}, short{2}, 3, 4LL, 5.0F, 6.0, true, Uint3{0, 0, 7},
         Float4{0, 0, 0, 8}, big, Wide{9}, static_cast<const Big*>(&big), out);
  CHECK(out.data()[0] == 1 + 2 + 3 + 4 + 5 + 6 + 1 + 7 + 8 + 0.5 + 3 + 9 + 0.25);
}

TEST_CASE("kernels without parameters, and kernels from macros, headers and namespaces") {
  const detail::TemporaryFolder folder;
  std::ofstream(folder.path() + "/kernels.h")
      << "#define ADD(name, n) extern \"C\" __global__ void name(int* x) { x[0] += n; }\nADD(from_header, 1)\n";
  CompileOptions options;
  options.include_directories = {folder.path()};
  options.defines = {{"TEN", "10"}, {"SUM(a, b)", "((a) + (b))"}};
  const auto module = test::host().compile(R"(
#include "kernels.h"
ADD(from_macro, TEN)
__device__ int calls;
extern "C" { __global__ void nothing(void) { ++calls; } __global__ void div(int* x) { x[0] += SUM(100, 0); } }
namespace deep { namespace { extern "C" __global__ void nested(int* x) { x[0] += 1000; } } }
extern "C" __global__ void later(int* x);
extern "C" __global__ void later(int* x) { x[0] += 10000; }
)", options);
  const auto x = upload(std::vector<int>(1));
  for (const char* name : {"from_header", "from_macro", "div", "nested", "later"})
    launch(module->untyped_kernel(name), {}, x);
  CHECK(x.data()[0] == 11111);
  launch(module->untyped_kernel("nothing"), {.block = {4, 1, 1}});
  int calls = 0;
  std::memcpy(&calls, module->global("calls").data(), sizeof(calls));
  CHECK(calls == 4);
}

TEST_CASE("every standard") {
  for (const int standard : {14, 17, 20}) {
    CAPTURE(standard);
    CompileOptions options;
    options.cxx_standard = standard;
    const auto module = test::host().compile(R"(
#include <cstdint>
__device__ int id() { return blockIdx.x * blockDim.x + threadIdx.x; }
extern "C" __global__ void k(long* out) { out[id()] = __cplusplus; })", options);
    const auto out = upload(std::vector<long>(64));
    launch(module->untyped_kernel("k"), {.grid = {2, 1, 1}, .block = {32, 1, 1}}, out);
    const long expected = standard == 14 ? 201402L : standard == 17 ? 201703L : 202002L;
    for (const long value : download(out)) CHECK(value == expected);
  }
}

TEST_CASE("indices of a grid of more than 2^32 threads wrap around as on a GPU, and wide ones do not") {
  const auto kernel = host().compile(R"(extern "C" __global__ void k(unsigned long long* wide, unsigned int* narrow) {
  const unsigned int i = threadIdx.x + (blockIdx.x & 1) * blockDim.x;
  wide[i] = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
  narrow[i] = blockIdx.x * blockDim.x + threadIdx.x;
})")->untyped_kernel("k");
  // Two blocks alone, by the compiled function itself: all of them would take a while.
  const host::LaunchServices services = {[](std::size_t bytes) { return std::aligned_alloc(64, (bytes + 63) / 64 * 64); },
                                         [](void* memory) { std::free(memory); },
                                         nullptr,
                                         nullptr,
                                         [](const host::BlockRange& range, const host::FiberKernel& run) {
                                           for (std::uint64_t b = range.first_block; b < range.last_block; ++b) {
                                             const std::uint32_t block[3] = {static_cast<std::uint32_t>(b), 0, 0};
                                             run.run_threads(run, nullptr, block, 0);
                                           }
                                         },
                                         nullptr};
  const auto run = reinterpret_cast<host::RunBlocks>(kernel->native_handle());
  for (const std::uint64_t first :
       {std::uint64_t{1} << 22U, (std::uint64_t{1} << 21U) - 2, (std::uint64_t{1} << 21U) - 1, std::uint64_t{5}}) {
    std::vector<unsigned long long> wide(2048);
    std::vector<unsigned> narrow(2048);
    void *w = wide.data(), *n = narrow.data();
    const void* const arguments[] = {&w, &n};
    run({{0x7FFFFFFF, 1, 1}, {1024, 1, 1}, first, first + 2, 0, &services, nullptr, false}, arguments);
    for (unsigned t = 0; t < 2048; ++t) {
      const std::uint64_t block = first + (t / 1024 == first % 2 ? 0 : 1);
      REQUIRE(wide[t] == block * 1024 + t % 1024);
      REQUIRE(narrow[t] == static_cast<unsigned>(block * 1024 + t % 1024));
    }
  }
}

TEST_CASE("launch bounds are a limit") {
  const auto module = host().compile(R"(
constexpr int limit = 96;
extern "C" __global__ void __launch_bounds__(limit) bounded(int* x) { x[threadIdx.x] = 1; }
extern "C" __global__ void free_of_bounds(int* x) { x[threadIdx.x] = 1; })");
  CHECK(module->untyped_kernel("bounded")->properties().max_threads_per_block == 96);
  CHECK(module->untyped_kernel("free_of_bounds")->properties().max_threads_per_block ==
        static_cast<unsigned>(host().properties().max_threads_per_block));
  CHECK(module->untyped_kernel("bounded")->max_active_blocks(96) == 1);
  CHECK(module->untyped_kernel("bounded")->max_active_blocks(97) == 0);
}

}  // namespace
}  // namespace weir::test
