// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <future>
#include <numeric>
#include <stdexcept>
#include <system_error>

#include "tests/kernels/support.hpp"

/// Tests mistakes that the host backend finds when a kernel runs.
namespace weir::test {
namespace {

constexpr const char* source = R"(
__device__ int twice_the_left(int v, int* s) {
  s[threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    __syncthreads();
    return -1;
  } else {
    __syncthreads();
  }
  return 2 * s[threadIdx.x - 1];
}
extern "C" __global__ void skipped(const int* in, int* out) {
  if (in[threadIdx.x] > 0) __syncthreads();
  else __syncthreads();
  out[threadIdx.x] = 1;
}
extern "C" __global__ void skipped_in_a_loop(const int* in, int* out) {
  for (int i = 0; i < in[threadIdx.x]; ++i) __syncthreads();
  __syncthreads();
  out[threadIdx.x] = 1;
}
extern "C" __global__ void skipped_by_return_of_a_function(const int* in, int* out) {
  out[threadIdx.x] = twice_the_left(in[threadIdx.x], out);
}
extern "C" __global__ void named_lanes(const int* in, int* out) {
  int v = 0;
  if (in[threadIdx.x] > 0) v = __shfl_down_sync(0xffffffff, in[threadIdx.x], 1);
  out[threadIdx.x] = v;
}
extern "C" __global__ void last_branch(const int* in, int* out) {
  int v = in[threadIdx.x];
  __syncthreads();
  if (v > 0) {
    v += __shfl_down_sync(0xffffffff, v, 1);
    if (threadIdx.x % 32 < 4) out[threadIdx.x] = v + __popc(__ballot_sync(0xffffffff, v != 1));
  }
}
)";

const ModulePtr& module() {
  static const ModulePtr compiled = compile(source);
  return compiled;
}

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("a barrier that some threads pass by is an error of the stream, which goes on") {
  const auto out = upload(std::vector<int>(64));
  std::vector<int> some(64, 1);
  some[10] = some[20] = 0;
  const Error error = launch_error(module()->untyped_kernel("skipped"), {.grid = {3}, .block = {64}}, upload(some), out);
  CHECK(error.errc() == Errc::device_fault);
  CAPTURE(error.what());
  CHECK(has(error.what(), "kernel 'skipped' on host:0"));
  CHECK(has(error.what(), "kernel.cu:"));
  CHECK(has(error.what(), " of the 64 threads of block ("));
  CHECK(has(error.what(), "reach __syncthreads"));
  launch(module()->untyped_kernel("skipped"), {.grid = {3}, .block = {64}}, upload(std::vector<int>(64, 0)), out);
  CHECK(download(out) == std::vector<int>(64, 1));

  some[10] = 3;
  CHECK(has(
      launch_error(module()->untyped_kernel("skipped_in_a_loop"), {.grid = {1}, .block = {64}}, upload(some), out).what(),
      " of the 64 threads"));
  CHECK(has(launch_error(module()->untyped_kernel("skipped_by_return_of_a_function"), {.grid = {1}, .block = {64}},
                         upload(some), out)
                .what(),
            " of the 64 threads"));
}

TEST_CASE("a callback behind a fault is told of it, until the stream's next synchronize; an exception is no fault") {
  const auto stream = host().create_stream();
  const auto status = [&] {
    std::promise<std::error_code> told;
    stream->add_callback([&](weir::Stream&, std::error_code code) { told.set_value(code); });
    return told.get_future().get();
  };
  stream->launch_host_function([] { throw std::runtime_error("of a host function"); });
  CHECK_FALSE(status());
  CHECK_THROWS_WITH(stream->synchronize(), "of a host function");
  std::vector<int> some(64, 1);
  some[10] = 0;
  const auto in = upload(some), out = upload(std::vector<int>(64));
  stream->launch(module()->untyped_kernel("skipped"), {.grid = {1}, .block = {64}}, in, out);
  CHECK(status() == Errc::device_fault);
  CHECK(status() == Errc::device_fault);
  CHECK_THROWS_AS(stream->synchronize(), Error);
  CHECK_FALSE(status());
}

TEST_CASE("a captured launch keeps its shared memory's size, and its errors are the replaying stream's") {
  const auto stream = host().create_stream();
  const auto kernel = compile(R"(extern "C" __global__ void k(const int* in, int* out) {
  extern __shared__ int s[];
  s[threadIdx.x] = in[threadIdx.x];
  if (in[threadIdx.x] >= 0) __syncthreads();
  else __syncthreads();
  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
})")
                          ->untyped_kernel("k");
  std::vector<int> numbers(128);
  for (int i = 0; i < 128; ++i) numbers[static_cast<std::size_t>(i)] = i;
  const auto in = upload(numbers), out = upload(std::vector<int>(128));
  const auto exec =
      stream
          ->capture([&](Stream& s) { s.launch(kernel, {.grid = {1}, .block = {128}, .shared_memory_bytes = 512}, in, out); })
          ->instantiate();
  exec->launch(*stream);
  stream->synchronize();
  std::reverse(numbers.begin(), numbers.end());
  CHECK(download(out) == numbers);
  in.data()[5] = -1;
  exec->launch(*stream);
  CHECK_THROWS_AS(stream->synchronize(), Error);
  in.data()[5] = 5;
  exec->launch(*stream);
  CHECK_NOTHROW(stream->synchronize());
}

TEST_CASE("HIP's forms without masks, and pointers as values") {
  const auto kernel = compile(R"(
extern "C" __global__ void k(const int* in, int* out) {
  int v = in[threadIdx.x];
  for (int o = warpSize / 2; o > 0; o /= 2) v += __shfl_down(v, o);
  v = __shfl(v, 0);
  const int* p = __shfl_xor(in + threadIdx.x, 2);
  out[threadIdx.x] = v + 0 * __shfl_up(v, 1) + 0 * __shfl_xor(v, 1, 8) + *p;
  out[blockDim.x + threadIdx.x] = __any(in[threadIdx.x] == 3) + 2 * __all(in[threadIdx.x] >= 0) + 4 * __popcll(__ballot(1));
})")
                          ->untyped_kernel("k");
  const auto width = static_cast<std::size_t>(host().properties().warp_size), n = 2 * width;
  std::vector<int> in(n);
  for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<int>(i * 7 % 50);
  const auto out = upload(std::vector<int>(2 * n));
  launch(kernel, {.grid = {1}, .block = {static_cast<unsigned>(n)}}, upload(in), out);
  for (std::size_t i = 0; i < n; ++i) {
    const auto first = in.begin() + static_cast<long>(i - i % width), last = first + static_cast<long>(width);
    CHECK(out.data()[i] == std::accumulate(first, last, in[i ^ 2U]));
    CHECK(out.data()[n + i] == (std::find(first, last, 3) != last) + 2 + 4 * static_cast<int>(width));
  }
}

TEST_CASE("an index that wraps around within a row of threads takes the turns that it would take alone") {
  constexpr unsigned threads = 1024, n = 0U - 1000, step = 0U - 1010;  // 0 to 9 and 1010 to 1023 go on behind turn 1
  const auto kernel = compile(R"(
__global__ void turns(unsigned n, unsigned step, unsigned* out) {
  unsigned taken = 0;
  for (unsigned i = threadIdx.x; i < n; i += step) ++taken;
  out[threadIdx.x] = taken;
})")
                          ->untyped_kernel("turns");
  const auto out = upload(std::vector<unsigned>(threads));
  launch(kernel, {.grid = {1}, .block = {threads}}, n, step, out);
  std::vector<unsigned> expected;
  for (unsigned t = 0; t < threads; ++t) {
    unsigned taken = 0;
    for (unsigned i = t; i < n; i += step) ++taken;
    expected.push_back(taken);
  }
  CHECK(expected[9] > 1000);
  CHECK(expected[500] == 1);
  CHECK(download(out) == expected);
}

TEST_SUITE_END();

TEST_CASE("lanes beyond the block's end, and those that have ended, count for no function of a warp that names them") {
  const auto out = upload(std::vector<int>(64));
  std::vector<int> some(64, 1);
  some[33] = 0;
  CHECK_NOTHROW(launch(module()->untyped_kernel("named_lanes"), {.grid = {1}, .block = {20}}, upload(some), out));
  launch(module()->untyped_kernel("last_branch"), {.grid = {1}, .block = {64}}, upload(some), out);
  CHECK(std::vector<int>(out.data(), out.data() + 4) == std::vector<int>{6, 6, 6, 6});
  CHECK(std::vector<int>(out.data() + 32, out.data() + 36) == std::vector<int>{3, 0, 4, 4});
}

TEST_CASE("kernels whose threads work together compile in every standard, with debugging and with fast arithmetic") {
  const auto in = upload(std::vector<int>(64, 1));
  for (const int standard : {14, 17, 20}) {
    for (const bool debug : {false, true}) {
      CompileOptions options;
      options.cxx_standard = standard;
      options.debug = debug;
      options.fast_math = !debug;
      const auto kernel = host()
                              .compile(R"(
template <class T> __device__ T sum(T v) {
  for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffff, v, o);
  return v;
}
extern "C" __global__ void k(const int* in, int* out) {
  __shared__ int s[64];
  auto v = sum(in[threadIdx.x]);
  s[threadIdx.x] = v;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  atomicAdd(&s[0], 1);
  __syncthreads();
  out[threadIdx.x] = s[0] + sum<int>(1);
})",
                                       options)
                              ->untyped_kernel("k");
      const auto out = upload(std::vector<int>(32));
      launch(kernel, {.grid = {1}, .block = {64}}, in, out);
      CHECK(download(out) == std::vector<int>(32, 96));
    }
  }
}

TEST_CASE("a launch with more dynamic shared memory than a block can have is refused") {
  const auto out = upload(std::vector<int>(64));
  const auto kernel = compile(R"(extern __shared__ int outside[];
extern "C" __global__ void k(int* out) {
  outside[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = outside[blockDim.x - 1 - threadIdx.x];
})")
                          ->untyped_kernel("k");
  CHECK_NOTHROW(launch(kernel, {.grid = {1}, .block = {64}, .shared_memory_bytes = 227 * 1024}, out));
  CHECK_THROWS_AS(launch(kernel, {.grid = {1}, .block = {64}, .shared_memory_bytes = 227 * 1024 + 1}, out), Error);
  CHECK(kernel->max_active_blocks(64, 200 * 1024) == 1);
}

TEST_CASE("atomics of a type that no GPU has are refused by name") {
  const Error error = compile_error("extern \"C\" __global__ void k(short* x) {\n  atomicAdd(x, 1);\n}");
  CHECK(has(error.what(), "atomic functions take numbers of 32 or 64 bits"));
}

}  // namespace
}  // namespace weir::test
