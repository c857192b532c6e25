// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <numeric>

#include "tests/kernels/support.hpp"

// Tests crashes of kernels on the CPU.

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which want the signals themselves

/// Kernels whose code crashes: the launch fails, the process and the stream go on.
namespace weir::test {
namespace {

constexpr const char* source = R"(struct Many { int numbers[1000]; };
__device__ int at(const int* p) { return *p; }
extern "C" __global__ void read(const int* p, int* out) {
  if (threadIdx.x == 5 && blockIdx.x == 1)
    out[0] = at(p);
}
extern "C" __global__ void write(int* out, int* p) {
  if (blockIdx.x == 1) p[threadIdx.x] = 1;
}
extern "C" __global__ void divide(int* out, int by) {
  const __int128 large = ((__int128)out[blockIdx.x] << 64) + 1, small = blockIdx.x == 1 ? by : large;
  out[blockIdx.x] = (int)(large / small);
}
extern "C" __global__ void trap(int* out, int of) {
  __syncthreads();
  if (blockIdx.x == 1 && threadIdx.x == of) __trap();
}
extern "C" __global__ void call(int* out, int (*function)(int)) {
  if (blockIdx.x == 1) out[0] = function(1);
}
extern "C" __global__ void copy(Many* out, const Many* p) {
  if (blockIdx.x == 1) memcpy(out, p, sizeof(Many));
}
extern "C" __global__ void check(int* out, int limit) {
  assert(blockIdx.x * blockDim.x + threadIdx.x < limit);
  out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
extern "C" __global__ void each(int* out) { out[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
)";

const ModulePtr& module() {
  static const ModulePtr compiled = compile(source);
  return compiled;
}

constexpr LaunchConfig two_blocks{.grid = {2}, .block = {8}};
int* const nowhere = nullptr;

TEST_CASE("a fault in a kernel is an error of the stream that names kernel, block and line") {
  const auto out = upload(std::vector<int>(1000));
  const auto says = [&](const char* kernel, const char* place, const char* cause, const auto& argument) {
    CAPTURE(kernel);
    const Error error = launch_error(module()->untyped_kernel(kernel), two_blocks, out, argument);
    CAPTURE(error.what());
    CHECK(error.errc() == Errc::device_fault);
    CHECK(has(error.what(), "kernel '" + std::string(kernel) + "' on host:0"));
    CHECK(has(error.what(), place));
    CHECK(has(error.what(), " of block (1, 0, 0)"));
    CHECK(has(error.what(), cause));
  };
  auto* const wild = reinterpret_cast<int*>(std::uintptr_t{1} << 62U);
  says("write", "kernel.cu:8: ", "accesses address 0", nowhere);
  says("write", "kernel.cu:8: ", "accesses an invalid address", wild);
  says("divide", "module + 0x", "divides an integer by zero", 0);  // by the compiler's library, which has no lines
  says("trap", "kernel.cu:16: ", "executes a trap", 3);
  says("call", "kernel.cu:19: ", "accesses address 0", static_cast<int (*)(int)>(nullptr));
  says("copy", "kernel.cu:22: ", "accesses address 0", static_cast<const void*>(nullptr));
  says("check", "kernel.cu:25: ", "the assertion 'blockIdx.x * blockDim.x + threadIdx.x < limit' of ", 12);

  const Error inlined = launch_error(module()->untyped_kernel("read"), two_blocks, static_cast<const int*>(nullptr), out);
  CAPTURE(inlined.what());
  CHECK(has(inlined.what(), "kernel.cu:2: "));
  CompileOptions options;
  options.debug = true;
  const ModulePtr for_debugger = host().compile(source, options);
  const Error debugged = launch_error(for_debugger->untyped_kernel("write"), two_blocks, out, nowhere);
  CAPTURE(debugged.what());
  CHECK(has(debugged.what(), "host:0: kernel.cu:8: thread 0 of block (1, 0, 0)"));
  const Error joined = launch_error(module()->untyped_kernel("each"), LaunchConfig{.grid = {4096}, .block = {8}}, nowhere);
  CAPTURE(joined.what());
  CHECK(has(joined.what(), "kernel.cu:28: "));
  if (module()->untyped_kernel("each")->properties().tier == "workgroup")
    CHECK(has(joined.what(), ", or of a later block up to ("));
  launch(module()->untyped_kernel("check"), two_blocks, out, 16);
  CHECK(std::accumulate(out.data(), out.data() + 16, 0) == 16);
}

TEST_CASE("a thread beyond the number of threads of its cub::BlockScan is an error of the stream") {
  const auto kernel = compile(R"(#include <cub/cub.cuh>
extern "C" __global__ void scan(int* out) {
  __shared__ cub::BlockScan<int, 256>::TempStorage memory;
  const int t = threadIdx.y * blockDim.x + threadIdx.x;
  cub::BlockScan<int, 256>(memory).InclusiveSum(t, out[t]);
})")->untyped_kernel("scan");
  const auto out = upload(std::vector<int>(1024));
  for (const Dim3 block : {Dim3{16, 16}, Dim3{64, 4}, Dim3{257}}) {
    const Error error = launch_error(kernel, {.grid = {1}, .block = block}, out);
    CAPTURE(error.what());
    CHECK(error.errc() == Errc::device_fault);
    CHECK(has(error.what(), "'cub::BlockReduce or cub::BlockScan has this thread' of "));
  }
  launch(kernel, {.grid = {1}, .block = {256}}, out);
  CHECK(out.data()[255] == 255 * 256 / 2);
}

TEST_CASE("faults on all workers at once are one error, and the next launch works") {
  const auto out = upload(std::vector<int>(64 * 8));
  const StreamPtr stream = host().create_stream();
  for (int i = 0; i < 20; ++i) {
    stream->launch(module()->untyped_kernel("check"), {.grid = {64}, .block = {8}}, out, 0);
    CHECK_THROWS_AS(stream->synchronize(), Error);
    stream->launch(module()->untyped_kernel("write"), {.grid = {64}, .block = {8}}, out, nowhere);
    CHECK_THROWS_AS(stream->synchronize(), Error);
    stream->launch(module()->untyped_kernel("check"), {.grid = {64}, .block = {8}}, out, 64 * 8);
    CHECK_NOTHROW(stream->synchronize());
  }
  CHECK(download(out) == std::vector<int>(64 * 8, 1));
}

TEST_CASE("after a fault no more blocks begin, and those that wait for the one that failed end") {
  const auto kernels = compile(R"(
extern "C" __global__ void many(int* out, int* p) {
  if (blockIdx.x == 0) *p = 1;
  for (int i = 0; i < 1000; ++i) atomicAdd(out, 1);
}
extern "C" __global__ void chain(int* out, int* p) {
  if (blockIdx.x == 0) *p = 1;
  while (atomicAdd(out, 0) == 0) {}
})");
  const auto out = upload(std::vector<int>(1));
  constexpr int blocks = 200000;
  CHECK(has(launch_error(kernels->untyped_kernel("many"), {.grid = {blocks}}, out, nowhere).what(), "kernel.cu:3: "));
  CHECK(out.data()[0] < blocks * 1000);
  out.data()[0] = 0;
  CHECK(has(launch_error(kernels->untyped_kernel("chain"), {.grid = {16}}, out, nowhere).what(), "kernel.cu:7: "));
}

TEST_CASE("a block of a cooperative launch that crashes does not keep the others waiting") {
  const auto kernel = compile(R"(#include <cooperative_groups.h>
extern "C" __global__ void k(int* out, int* p) {
  if (blockIdx.x == 2) *p = 1;
  cooperative_groups::this_grid().sync();
})")->untyped_kernel("k");
  const auto out = upload(std::vector<int>(1));
  const Error error = launch_error(kernel, {.grid = {4}, .block = {4}, .cooperative = true}, out, nowhere);
  CAPTURE(error.what());
  CHECK(has(error.what(), "kernel.cu:3: "));
  CHECK(has(error.what(), "block (2, 0, 0)"));
}

TEST_CASE("a crash within a graph is an error of the stream that replays it") {
  const auto out = upload(std::vector<int>(16));
  const StreamPtr stream = host().create_stream();
  const auto graph = stream
                         ->capture([&](Stream& s) {
                           s.launch(module()->untyped_kernel("write"), two_blocks, out, nowhere);
                           s.launch(module()->untyped_kernel("check"), two_blocks, out, 16);
                         })
                         ->instantiate();
  for (int i = 0; i < 3; ++i) {
    graph->launch(*stream);
    CHECK_THROWS_WITH_AS(stream->synchronize(), doctest::Contains("kernel.cu:8: "), Error);
  }
  stream->fill(out, 7);
  CHECK_NOTHROW(stream->synchronize());
}

}  // namespace
}  // namespace weir::test

#endif
