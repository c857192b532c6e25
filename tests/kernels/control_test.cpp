// SPDX-License-Identifier: Apache-2.0
#include <tuple>
#include <type_traits>

#include "tests/kernels/support.hpp"

/// Control flow around the places where threads meet: branches, loops, returns, functions; and what is an error when it
/// runs.
namespace weir::test {
namespace {

constexpr const char* source = R"(
// A barrier under a condition that differs in its words and not in its value.
extern "C" __global__ void branch_by_data(const int* in, int* out) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  if (in[threadIdx.x] > 0) {
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x];
  } else {
    out[threadIdx.x] = -1;
    __syncthreads();
    out[threadIdx.x] -= s[63 - threadIdx.x];
  }
}

// Break and continue of loops with barriers, by conditions that the block agrees on.
extern "C" __global__ void agreed_jumps(const int* in, int* out, int n) {
  __shared__ int s[64], stop;
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    if (i % 3 == 1) continue;
    s[threadIdx.x] = in[i] + threadIdx.x;
    __syncthreads();
    sum += s[(threadIdx.x + 1) % 64];
    if (threadIdx.x == 0) stop = in[i] == 99;
    __syncthreads();
    if (stop) break;
  }
  out[threadIdx.x] = sum;
}

// Threads leave a loop at different times, meet no one in it by barriers, but by shuffles of those who stay.
extern "C" __global__ void own_jumps(const int* in, int* out) {
  int rounds = in[threadIdx.x], v = threadIdx.x, i = 0;
  for (;; ++i) {
    if (i == rounds) break;
    if ((i + threadIdx.x) % 3 == 0) continue;
    v += 10 * __popc(__activemask() != 0);
  }
  __syncthreads();
  out[threadIdx.x] = v + 1000 * i;
}

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
// Returns in the function, values in and out by reference, a default argument, a call in an expression.
__device__ void rotate(int& v, int by = 1) {
  __shared__ int s[64];
  __syncthreads();
  s[threadIdx.x] = v;
  __syncthreads();
  v = s[(threadIdx.x + by) % blockDim.x];
}
// A pointer to constants is itself a variable.
__device__ void advance(const int*& p, const int& by) {
  __syncthreads();
  p += by;
}
extern "C" __global__ void advanced(const int* in, int* out) {
  static constexpr int steps[] = {1, 2};
  const int more[] = {3, 4};
  const int* p = in + threadIdx.x;
  advance(p, steps[1]);
  advance(p, more[0] + threadIdx.x);
  out[threadIdx.x] = *p;
}
namespace helpers {
template <class T, int n> __device__ T sum_of_next(T v, T* s) {
  s[threadIdx.x] = v;
  __syncthreads();
  T sum = 0;
  for (int i = 0; i < n; ++i) sum += s[(threadIdx.x + i) % blockDim.x];
  __syncthreads();
  return sum;
}
}
extern "C" __global__ void calls(int* out) {
  __shared__ int s[64];
  int v = threadIdx.x;
  rotate(v);
  rotate(v, 2);
  int w = 1 + 2 * helpers::sum_of_next<int, 3>(v, s) - v;
  out[threadIdx.x] = w;
}

// Values of all kinds live across barriers: scalars, arrays, structs, pointers, references, const and auto, lambdas.
struct Point { float x, y; __device__ float sum() const { return x + y; } };
extern "C" __global__ void kept(const float* in, float* out) {
  __shared__ float s[32];
  const int tid = threadIdx.x;
  float a[3] = {in[tid], 2, 3};
  Point p{in[tid], 4.0f};
  const Point q = {1, 2};
  double wide(in[tid]);
  auto product = a[0] * 2;
  const float* where = &in[tid];
  float& mine = s[tid];
  int matrix[2][2];
  for (int i = 0; i < 4; ++i) matrix[i / 2][i % 2] = i + tid;
  float* inner = a;
  auto scaled = [&](float f) { return f * a[1] + tid; };
  unsigned char small = tid, flag = tid % 2;
  long long big = 1ll << 40;
  mine = in[tid];
  __syncthreads();
  inner[2] += 1;
  p.x += s[31 - tid];
  matrix[1][0] *= 2;
  mine += 0;
  __syncthreads();
  out[tid] = a[0] + a[2] + p.sum() + q.sum() + (float)wide + product + *where + mine + matrix[1][0] + matrix[0][1] + scaled(3) + small + flag +
             (float)(big >> 40);
}

// A name that hides another; one that is used again side by side.
extern "C" __global__ void hidden_names(int* out) {
  __shared__ int s[16];
  int i = threadIdx.x, sum = 0;
  s[i] = i;
  {
    int i = 100 + threadIdx.x;
    __syncthreads();
    sum += i;
    {
      int i = s[(threadIdx.x + 1) % 16];
      __syncthreads();
      sum += 1000 * i;
    }
    sum += i;
  }
  for (int i = 0; i < 2; ++i) { __syncthreads(); sum += i; }
  for (int i = 0; i < 3; ++i) { __syncthreads(); sum += i; }
  out[i] = sum + i;
}

// Returns of all threads, of some, in a loop, before and after barriers; a division that only those may reach who stayed.
extern "C" __global__ void returns(const int* in, int* out, int n, int k) {
  __shared__ int s[64];
  if (n == 0) return;
  out[threadIdx.x] = 0;
  if (k == 0) { out[threadIdx.x] = 7; return; }
  const int q = n / k;
  for (int i = 0; i < q; ++i) {
    if (in[threadIdx.x] == i) return;
    out[threadIdx.x] += 1;
  }
  s[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x % 2) return;
  out[threadIdx.x] += 100;
  __syncthreads();
  out[threadIdx.x] += 100;
}

// Loops of the three kinds around barriers, nested, with steps of all sorts.
extern "C" __global__ void loops(int* out, int n) {
  __shared__ int s[32];
  int v = threadIdx.x, count = 0;
  int i = 0;
  while (i < n) {
    int j = 0;
    do {
      s[threadIdx.x] = v;
      __syncthreads();
      v = s[(threadIdx.x + 1 + j) % 32];
      __syncthreads();
      if (++j == 2) continue;
      ++count;
    } while (j < 3);
    i += 2;
  }
  for (int a = 0, b = n; a < b; ++a, b -= 1) {
    s[threadIdx.x] = v + a;
    __syncthreads();
    v = s[31 - threadIdx.x] - b;
    __syncthreads();
  }
  for (int mine = threadIdx.x; mine < 32; mine += 32) {
    s[mine] = v;
    __syncthreads();
    v = s[mine ^ 1];
  }
  out[threadIdx.x] = v + 100000 * count;
}

// threadIdx in functions, in a lambda that captures by a list, in a class.
__device__ int index_in_block() { return threadIdx.x + blockDim.x * threadIdx.y; }
extern "C" __global__ void indices(int* out) {
  __shared__ int s[32];
  struct Reader { __device__ int operator()() const { return threadIdx.y; } };
  s[index_in_block()] = index_in_block() * 10;
  int base = 5;
  __syncthreads();
  auto f = [base](int v) { return base + v + (int)threadIdx.x; };
  out[index_in_block()] = f(s[31 - index_in_block()]) + Reader()();
}
extern "C" __global__ void indices_by_functions(int* out) {
  __shared__ int s[32];
  s[index_in_block()] = index_in_block() * 10;
  __syncthreads();
  if (index_in_block() < 16) { __syncwarp(0xffff); s[index_in_block()] += 1; }
  __syncthreads();
  out[index_in_block()] = s[31 - index_in_block()];
}

// Shared memory that is declared outside of all functions.
extern __shared__ int outside[];
__shared__ int one_outside;
extern "C" __global__ void declared_outside(int* out) {
  outside[threadIdx.x] = threadIdx.x;
  if (threadIdx.x == 0) one_outside = blockIdx.x;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = outside[blockDim.x - 1 - threadIdx.x] + 100 * one_outside;
}

extern "C" __global__ void skipped(const int* in, int* out) {
  if (in[threadIdx.x] > 0) __syncthreads();
  out[threadIdx.x] = 1;
}
extern "C" __global__ void skipped_in_a_loop(const int* in, int* out) {
  for (int i = 0; i < in[threadIdx.x]; ++i) __syncthreads();
  out[threadIdx.x] = 1;
}
extern "C" __global__ void skipped_by_return_of_a_function(const int* in, int* out) { out[threadIdx.x] = twice_the_left(in[threadIdx.x], out); }
extern "C" __global__ void missing_lanes(const int* in, int* out) {
  int v = 0;
  if (in[threadIdx.x] > 0) v = __shfl_down_sync(0xffffffff, in[threadIdx.x], 1);
  out[threadIdx.x] = v;
}
extern "C" __global__ void unnamed_lane(const int* in, int* out) { out[threadIdx.x] = __any_sync(0xffff, in[threadIdx.x]); }
)";

const ModulePtr& module() {
  static const ModulePtr compiled = compile(source);
  return compiled;
}

template <class... Args>
std::vector<int> ran(const char* kernel, const LaunchConfig& config, std::size_t count, const Args&... args) {
  const auto out = upload(std::vector<int>(count));
  if constexpr (sizeof...(Args) > 0) {
    const auto in = std::get<0>(std::tie(args...));
    if constexpr (std::is_same_v<decltype(in), const std::vector<int>>) {
      std::apply(
          [&](const auto&, const auto&... rest) { launch(module()->kernel(kernel), config, upload(in), out, rest...); },
          std::tie(args...));
    } else {
      launch(module()->kernel(kernel), config, out, args...);
    }
  } else {
    launch(module()->kernel(kernel), config, out);
  }
  return download(out);
}

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("a barrier under a condition that differs, where all threads agree or one side is empty") {
  for (const int sign : {1, -1}) {
    const auto out = ran("branch_by_data", {.grid = {1}, .block = {64}}, 64, std::vector<int>(64, sign));
    for (int i = 0; i < 64; ++i) CHECK(out[static_cast<std::size_t>(i)] == (sign > 0 ? 63 - i : -1 - (63 - i)));
  }
}

TEST_CASE("jumps out of loops with barriers") {
  std::vector<int> in(64);
  for (int i = 0; i < 64; ++i) in[static_cast<std::size_t>(i)] = i == 20 ? 99 : i;
  const auto out = ran("agreed_jumps", {.grid = {1}, .block = {64}}, 64, in, 40);
  int sum = 0, rounds = 0;
  for (int i = 0; i <= 20; ++i) {
    if (i % 3 == 1) continue;
    sum += in[static_cast<std::size_t>(i)];
    ++rounds;
  }
  for (int t = 0; t < 64; ++t) CHECK(out[static_cast<std::size_t>(t)] == sum + rounds * ((t + 1) % 64));

  const auto times = random_ints(96, 1, 0, 20);
  const auto left = ran("own_jumps", {.grid = {1}, .block = {96}}, 96, times);
  for (int t = 0; t < 96; ++t) {
    const int n = times[static_cast<std::size_t>(t)];
    int v = t;
    for (int i = 0; i < n; ++i) v += (i + t) % 3 == 0 ? 0 : 10;
    CHECK(left[static_cast<std::size_t>(t)] == v + 1000 * n);
  }
}

TEST_CASE("functions in which threads meet") {
  const auto out = ran("calls", {.grid = {1}, .block = {64}}, 64);
  for (int t = 0; t < 64; ++t) {
    const auto v = [](int i) { return (i + 3) % 64; };
    CHECK(out[static_cast<std::size_t>(t)] == 1 + 2 * (v(t) + v((t + 1) % 64) + v((t + 2) % 64)) - v(t));
  }
}

TEST_CASE("a function moves a pointer to constants that it takes by reference") {
  std::vector<int> in(200);
  for (int i = 0; i < 200; ++i) in[static_cast<std::size_t>(i)] = i;
  const auto out = ran("advanced", {.grid = {1}, .block = {64}}, 64, in);
  for (int t = 0; t < 64; ++t) CHECK(out[static_cast<std::size_t>(t)] == 2 * t + 5);
}

TEST_CASE("values of all kinds live across barriers") {
  std::vector<float> in(32);
  for (std::size_t i = 0; i < 32; ++i) in[i] = static_cast<float>(i * i);
  const auto out = upload(std::vector<float>(32));
  launch(module()->kernel("kept"), {.grid = {1}, .block = {32}}, upload(in), out);
  for (std::size_t i = 0; i < 32; ++i) {
    const auto t = static_cast<float>(i);
    const float expected = in[i] + 4 + (in[i] + in[31 - i] + 4) + 3 + in[i] + 2 * in[i] + in[i] + in[i] + 2 * (2 + t) +
                           (1 + t) + (6 + t) + t + static_cast<float>(i % 2) + 1;
    CHECK(out.data()[i] == expected);
  }
}

TEST_CASE("names that hide others") {
  const auto out = ran("hidden_names", {.grid = {1}, .block = {16}}, 16);
  for (int t = 0; t < 16; ++t) CHECK(out[static_cast<std::size_t>(t)] == 2 * (100 + t) + 1000 * ((t + 1) % 16) + 1 + 3 + t);
}

TEST_CASE("threads return at different places") {
  const auto in = random_ints(64, 2, -3, 12);
  CHECK(ran("returns", {.grid = {1}, .block = {64}}, 64, in, 0, 5) == std::vector<int>(64, 0));
  CHECK(ran("returns", {.grid = {1}, .block = {64}}, 64, in, 5, 0) == std::vector<int>(64, 7));
  const auto out = ran("returns", {.grid = {1}, .block = {64}}, 64, in, 20, 2);
  for (std::size_t t = 0; t < 64; ++t) {
    const bool early = in[t] >= 0 && in[t] < 10;
    CHECK(out[t] == (early ? in[t] : t % 2 == 1 ? 10 : 210));
  }
}

TEST_CASE("loops of all kinds") {
  const int n = 5;
  const auto out = ran("loops", {.grid = {1}, .block = {32}}, 32, n);
  std::vector<int> v(32), s(32);
  for (std::size_t t = 0; t < 32; ++t) v[t] = static_cast<int>(t);
  int count = 0;
  for (int i = 0; i < n; i += 2) {
    for (std::size_t j = 0; j < 3; ++j) {
      s = v;
      for (std::size_t t = 0; t < 32; ++t) v[t] = s[(t + 1 + j) % 32];
      count += j + 1 == 2 ? 0 : 1;
    }
  }
  for (int a = 0, b = n; a < b; ++a, --b) {
    for (std::size_t t = 0; t < 32; ++t) s[t] = v[t] + a;
    for (std::size_t t = 0; t < 32; ++t) v[t] = s[31 - t] - b;
  }
  s = v;
  for (std::size_t t = 0; t < 32; ++t) CHECK(out[t] == s[t ^ 1U] + 100000 * count);
}

TEST_CASE("threadIdx in functions, lambdas and classes") {
  const auto out = ran("indices", {.grid = {1}, .block = {8, 4}}, 32);
  for (int t = 0; t < 32; ++t) CHECK(out[static_cast<std::size_t>(t)] == 5 + (31 - t) * 10 + t % 8 + t / 8);
  const auto more = ran("indices_by_functions", {.grid = {1}, .block = {8, 4}}, 32);
  for (int t = 0; t < 32; ++t) CHECK(more[static_cast<std::size_t>(t)] == (31 - t) * 10 + (31 - t < 16 ? 1 : 0));
}

TEST_CASE("shared memory that is declared outside of functions") {
  const auto out = ran("declared_outside", {.grid = {4}, .block = {32}, .shared_memory_bytes = 128}, 128);
  for (int i = 0; i < 128; ++i) CHECK(out[static_cast<std::size_t>(i)] == 31 - i % 32 + 100 * (i / 32));
}

TEST_CASE("a barrier that some threads skip is an error of the stream, which goes on") {
  const auto out = upload(std::vector<int>(64));
  std::vector<int> some(64, 1);
  some[10] = some[20] = 0;
  const Error error = launch_error(module()->kernel("skipped"), {.grid = {3}, .block = {64}}, upload(some), out);
  CHECK(error.errc() == Errc::device_fault);
  CAPTURE(error.what());
  CHECK(has(error.what(), "kernel 'skipped' on host:0"));
  CHECK(has(error.what(), "kernel.cu:"));
  CHECK(has(error.what(), "62 of the 64 threads of block ("));
  CHECK(has(error.what(), "reach __syncthreads"));
  launch(module()->kernel("skipped"), {.grid = {3}, .block = {64}}, upload(std::vector<int>(64, 0)), out);
  CHECK(download(out) == std::vector<int>(64, 1));

  some[10] = 3;
  CHECK(has(launch_error(module()->kernel("skipped_in_a_loop"), {.grid = {1}, .block = {64}}, upload(some), out).what(),
            "63 of the 64 threads"));
  CHECK(
      has(launch_error(module()->kernel("skipped_by_return_of_a_function"), {.grid = {1}, .block = {64}}, upload(some), out)
              .what(),
          "1 of the 64 threads"));
}

TEST_SUITE_END();

TEST_CASE("a warp's function without the lanes that it names is an error") {
  const auto out = upload(std::vector<int>(64));
  std::vector<int> some(64, 1);
  some[33] = 0;
  const Error missing = launch_error(module()->kernel("missing_lanes"), {.grid = {1}, .block = {64}}, upload(some), out);
  CAPTURE(missing.what());
  CHECK(has(missing.what(), "thread 32 of block (0, 0, 0) calls __shfl_down_sync for lanes that do not call it (0x2)"));
  const Error unnamed = launch_error(module()->kernel("unnamed_lane"), {.grid = {1}, .block = {64}}, upload(some), out);
  CHECK(has(unnamed.what(), "thread 16 of block (0, 0, 0) calls __any_sync with a mask that does not name its own lane"));
  // Lanes beyond the block's end count as gone.
  CHECK_NOTHROW(launch(module()->kernel("missing_lanes"), {.grid = {1}, .block = {20}}, upload(some), out));
}

TEST_CASE("kernels that are split compile in every standard, with debugging and with fast arithmetic") {
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
                              ->kernel("k");
      const auto out = upload(std::vector<int>(32));
      launch(kernel, {.grid = {1}, .block = {64}}, in, out);
      CHECK(download(out) == std::vector<int>(32, 96));
    }
  }
}

TEST_CASE("more shared memory than a block can have is refused, declared or dynamic") {
  const Error error = compile_error(
      "extern \"C\" __global__ void k(int* x) {\n  __shared__ int s[60000];\n  s[0] = 1;\n  __syncthreads();\n  x[0] = "
      "s[0];\n}");
  CHECK(has(error.what(), "kernel.cu:2"));
  CHECK(has(error.what(), "at most 227 KiB of shared memory"));
  const auto out = upload(std::vector<int>(64));
  const auto kernel = module()->kernel("declared_outside");
  CHECK_NOTHROW(launch(kernel, {.grid = {1}, .block = {64}, .shared_memory_bytes = 227 * 1024}, out));
  CHECK_THROWS_AS(launch(kernel, {.grid = {1}, .block = {64}, .shared_memory_bytes = 227 * 1024 + 1}, out), Error);
  CHECK(kernel->max_active_blocks(64, 200 * 1024) == 1);
}

}  // namespace
}  // namespace weir::test
