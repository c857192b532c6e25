// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <iterator>
#include <numeric>
#include <regex>
#include <string>
#include <vector>

#include "tests/kernels/support.hpp"

/// Tests that kernels have the meaning of their source, and that threads can wait for each other in all of CUDA's ways.
namespace weir::test {
namespace {

std::vector<int> counted(int n) {
  std::vector<int> numbers(static_cast<std::size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// What kernel k writes with 64 threads.
std::vector<int> ran(const std::string& source, unsigned threads = 64) {
  const auto out = upload(std::vector<int>(threads, -7));
  launch(compile(source.c_str())->untyped_kernel("k"), {.grid = {1}, .block = {threads}}, out);
  return download(out);
}

TEST_SUITE_BEGIN("any warp width");

TEST_CASE("a kernel means what C++ says, however its types, names and effects are spelled: each thread writes its index") {
  const std::string set = "r = threadIdx.x; __syncthreads(); out[threadIdx.x] = x; }";
  const std::string head = "extern \"C\" __global__ void k(int* out) { ";
  const std::string call = "__syncthreads(); out[threadIdx.x] = ";
  const std::string lane_class = "struct lane_t { int v; __device__ lane_t(int o) : v(threadIdx.x + o) {} };\n";
  const std::string stride = "for (int i = threadIdx.x; i < 64; i += blockDim.x) out[i] = ";
  const std::string sources[] = {
      head + "using R = int&; int x = 0; R r = x; " + set,
      "template <class T> struct ref_of { using type = T&; };\n" + head + "int x = 0; ref_of<int>::type r = x; " + set,
      head + "int x = 0; decltype((x)) r = x; " + set,
      "using Out = int&; __device__ void set(Out o) { o = threadIdx.x; }\n" + head + "int x = 0; set(x); " + call + "x; }",
      "template <class T> __device__ void set(T o) { o = threadIdx.x; }\n" + head + "int x = 0; set<int&>(x); " + call +
          "x; }",
      "template <class T> struct Holder { T ref; __device__ Holder(T r) : ref(r) {} };\n" + head +
          "int x = 0; Holder<int&> h(x); h.ref = threadIdx.x; " + call + "x; }",
      head + "int x = 0; std::reference_wrapper<int> r(x); r.get() = threadIdx.x; " + call + "x; }",
      head + "int x = 0; std::tuple<int&> r(x); std::get<0>(r) = threadIdx.x; " + call + "x; }",
      "enum class Axis { row, column };\n__device__ int column() { return threadIdx.x; }\n" + head + "int c = column(); " +
          call + "c; }",
      "namespace a { constexpr int n = 3; } namespace b { __device__ int n() { return threadIdx.x; } }\n" + head +
          "int c = b::n(); " + call + "c; }",
      lane_class + head + "lane_t l = 0; " + call + "l.v; }",
      "struct Lane { int o; __device__ operator int() const { return threadIdx.x + o; } };\n" + head +
          "const Lane lane = {0}; int v = lane; " + call + "v; }",
      "namespace row { __device__ int round() { return threadIdx.x; } }\n" + head + "int v = row::round(); " + call + "v; }",
      "struct P { __device__ int operator+(int) const { return threadIdx.x; } };\n" + head +
          "constexpr P base{}; int v = base + 0; " + call + "v; }",
      "struct Block { static __device__ unsigned thread_rank() { return threadIdx.x; } };\n" + head +
          "int v = Block::thread_rank(); " + call + "v; }",
      "__device__ int lane(int l = threadIdx.x) { return l; }\n" + head + "int l = lane(); " + call + "l; }",
      head + "int x = threadIdx.x, v = 0; if (x > 5) [[likely]] { v = x; } else [[unlikely]] { v = x; } " + call + "v; }",
      head + "int x = 0; if (threadIdx.x > 0) [[unlikely]] { x = threadIdx.x; } " + call + "x; }",
      "__device__ float lerp(float a, float b, float t) { return a + t * (b - a); }\n" + head +
          "int v = 0; for (int i : {-1, 1, 0}) v += i; " + call + "v + (int)lerp(0, 2 * (float)threadIdx.x, 0.5f); }",
      head + "int v = 7; size_t p = (const size_t)&v; __syncthreads(); out[threadIdx.x] = *(int*)p + threadIdx.x - 7; }",
      // Without a barrier.
      "enum class Axis { row, column };\n__device__ int column() { return threadIdx.x; }\n" + head + "int c = column(); " +
          stride + "c; }",
      "enum class Axis { row, column };\n__device__ int column() { return threadIdx.x; }\n" + head +
          "int c = column(); int sum = 0; for (int j = 0; j < 100 * (int)gridDim.x; ++j) sum += out[c] + 8; out[c] = c + "
          "sum - 100; }",
      "using Out = int&; __device__ void set(Out o) { o = threadIdx.x; }\n" + head + "int x = 0; set(x); " + stride + "x; }",
      "template <class T> __device__ void set(T o) { o = threadIdx.x; }\n" + head + "int x = 0; set<int&>(x); " + stride +
          "x; }",
      "struct Block { static __device__ unsigned thread_rank() { return threadIdx.x; } };\n" + head +
          "int v = Block::thread_rank(); " + stride + "v; }",
      // Functions that wait, by other ways than their plain name.
      "__device__ int f(int v) { __syncthreads(); return v; }\ntemplate <int (*F)(int)> __device__ int g(int v) { "
      "return "
      "F(v); }\n" +
          head + "int (*p)(int) = f; int v = g<f>(threadIdx.x); v = (f)(v); v = ::N::f(v); out[threadIdx.x] = p(v); }",
      "struct Sum {};\ntemplate <class Op = Sum> __device__ int red(int v, Op = Op()) { __syncthreads(); return v; }\n" +
          head + "out[threadIdx.x] = red(threadIdx.x); }",
      "template <class D> struct Base { __device__ int run(int v) { return static_cast<D*>(this)->step(v); } };\n"
      "struct Leaf : Base<Leaf> { __device__ int step(int v) { __syncthreads(); return v; } };\n" +
          head + "Leaf l; out[threadIdx.x] = l.run(threadIdx.x); }",
      head +
          "__shared__ int s[64 + (64 >> 4)]; s[threadIdx.x] = threadIdx.x; __syncthreads(); out[threadIdx.x] = "
          "s[threadIdx.x]; }",
      "__global__ void __launch_bounds__(64) k(int*, int);\n" + head + "__syncthreads(); out[threadIdx.x] = threadIdx.x; }",
      "extern \"C\" __global__ void k(int* result);\n" + head + "__syncthreads(); out[threadIdx.x] = threadIdx.x; }",
      "struct V { virtual __device__ int f() const { __syncthreads(); return threadIdx.x; } };\n" + head +
          "V v; const V* p = &v; out[threadIdx.x] = p->f(); }",
      "__device__ int down(int n) { __syncthreads(); return n == 0 ? threadIdx.x : down(n - 1); }\n" + head +
          "out[threadIdx.x] = down(9); }",
  };
  // One module with a namespace for each, and a kernel of another name in it.
  std::string all = "#include <functional>\n#include <tuple>\n";
  for (std::size_t i = 0; i < std::size(sources); ++i) {
    const std::string renamed = std::regex_replace(sources[i], std::regex(" k\\("), fmt::format(" k{}(", i));
    all += fmt::format("namespace n{} {{\n{}\n}}\n", i,
                       std::regex_replace(renamed, std::regex("N::"), fmt::format("n{}::", i)));
  }
  const ModulePtr module = compile(all.c_str());
  for (std::size_t i = 0; i < std::size(sources); ++i) {
    CAPTURE(sources[i]);
    const auto out = upload(std::vector<int>(64, -7));
    launch(module->untyped_kernel(fmt::format("k{}", i)), {.grid = {1}, .block = {64}}, out);
    CHECK(download(out) == counted(64));
  }
  const std::vector<int> tickets =
      ran("__device__ int next; struct lane_t { int v; __device__ lane_t(int o) : v(atomicAdd(&next, 1) + o) {} };\n" +
          head + "lane_t l = 0; " + call + "l.v; }");
  CHECK(std::accumulate(tickets.begin(), tickets.end(), 0) == 63 * 64 / 2);
}

TEST_CASE("dynamic and static shared memory of classes, templates and lambdas") {
  const auto kernel = compile(R"(
template <class T> struct SharedMemory { __device__ T* get() { extern __shared__ T dynamic[]; return dynamic; } };
template <class T, int n> __device__ T rotated(T v) {
  __shared__ T s[n];
  auto put = [&](int i) { s[i] = v; };
  put(threadIdx.x);
  __syncthreads();
  return s[(threadIdx.x + 1) % n];
}
extern "C" __global__ void k(int* out) {
  int* const d = SharedMemory<int>().get();
  d[threadIdx.x] = rotated<int, 64>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = d[(threadIdx.x + 63) % 64];
})")
                          ->untyped_kernel("k");
  const auto out = upload(std::vector<int>(64));
  launch(kernel, {.grid = {3}, .block = {64}, .shared_memory_bytes = 64 * sizeof(int)}, out);
  CHECK(download(out) == counted(64));
  CHECK_THROWS_AS(compile("extern \"C\" __global__ void k(int* x) { __shared__ int s = 5; x[0] = s; using T = int; }"),
                  Error);
}

// They are initialized while the module is loaded, by no thread of a block.
TEST_CASE("a module's variables may be initialized by volatile ones") {
  CHECK(
      ran("static volatile int a = 3; int b = a + 1;\nextern \"C\" __global__ void k(int* out) { out[threadIdx.x] = 4; }") ==
      std::vector<int>(64, 4));
}

TEST_CASE("dynamic shared memory has a name in each namespace, and attributes of C++ may follow the keywords") {
  const auto kernel = compile(R"(
namespace a { namespace b {
extern __shared__ alignas(16) float floats[];
__device__ [[nodiscard]] inline float other(int i) { return floats[i ^ 1]; }
} }
extern "C" __global__ void k(int* out) {
  struct Line { float v[8]; };
  __shared__ alignas(Line) unsigned char line[sizeof(Line)];
  extern __shared__ int ints[];
  a::b::floats[threadIdx.x] = threadIdx.x ^ 1;
  line[threadIdx.x % sizeof(line)] = 1;
  ints[64] = 0;
  __syncthreads();
  out[threadIdx.x] = a::b::other(threadIdx.x) + ((size_t)line % alignof(Line) != 0) + ints[64];
})")
                          ->untyped_kernel("k");
  const auto out = upload(std::vector<int>(64));
  launch(kernel, {.grid = {1}, .block = {64}, .shared_memory_bytes = 65 * sizeof(float)}, out);
  CHECK(download(out) == counted(64));
}

TEST_CASE("functions that say nothing are device code, and built-in variables may be copied") {
  CHECK(ran(R"(
int plain(uint3 a, dim3 b, const uint3& c) { return a.x + b.y - c.z - 1; }
template <class F> auto called(F f) { return f(); }
extern "C" __global__ void k(int* out) {
  struct Local { int get() const { return threadIdx.x; } };
  auto index = threadIdx;
  index.x += blockDim.x;
  int v = plain(index, blockDim, blockIdx) - 64 + called([&] { return Local().get(); });
  __syncthreads();
  out[threadIdx.x] = v / 2;
})") == counted(64));
}

TEST_CASE("printf returns the number of its arguments") {
  const auto out = ran(R"(extern "C" __global__ void k(int* out) {
    if (threadIdx.x != 0) return;
    out[0] = printf("%d of %s %%\n", 1, "two");
    out[1] = printf("none\n");
    out[2] = printf("%*d %-5.2f|%lld %.*f\n", 3, 4, 1.5, 7ll, 1, 2.0);
    out[3] = printf(nullptr);
  })");
  CHECK(std::vector<int>(out.begin(), out.begin() + 4) == std::vector<int>{2, 0, 6, -1});
}

TEST_CASE("specializations of a kernel template that is only declared are kernels") {
  CompileOptions options;
  options.kernels = {"f<float>", "f<int>"};
  const ModulePtr module = host().compile(
      "template <class T> __global__ void f(T* x);\n"
      "template <> __global__ void f<float>(float* x) { x[0] = 1.5f; }\n"
      "template <> __global__ void f<int>(int* x) { x[0] = 2; }\n",
      options);
  const auto x = upload(std::vector<float>(1));
  launch(module->untyped_kernel("f<float>"), {.grid = {1}, .block = {1}}, x);
  CHECK(download(x) == std::vector<float>{1.5F});
  const auto n = upload(std::vector<int>(1));
  launch(module->untyped_kernel("f<int>"), {.grid = {1}, .block = {1}}, n);
  CHECK(download(n) == std::vector<int>{2});
}

TEST_CASE("headers of the standard library may be included, and what is constexpr in C++20 be called") {
  std::string source;
  for (const char* const name : {"algorithm",  "array",   "atomic",  "bitset",      "cassert", "cfloat",        "chrono",
                                 "cmath",      "complex", "cstdint", "cstdio",      "cstdlib", "deque",         "fstream",
                                 "functional", "limits",  "map",     "memory",      "mutex",   "new",           "numeric",
                                 "random",     "string",  "tuple",   "type_traits", "utility", "unordered_map", "vector"}) {
    source += std::string("#include <") + name + ">\n";
  }
  source += R"(
extern "C" __global__ void k(int* out) {
  int next = 1, index = threadIdx.x;
  std::swap(next, index);
  std::reference_wrapper<int> r(next);
  r.get() += (int)std::sqrt(std::exp(0.0f)) - std::max(1, std::min(2, 1)) + (std::isnan(std::abs(-1.0)) ? 1 : 0);
  __syncthreads();
  out[threadIdx.x] = std::accumulate(&next, &next + 1, 0);
})";
  CompileOptions options;
  for (const int standard : {14, 17, 20}) {
    options.cxx_standard = standard;
    const auto out = upload(std::vector<int>(64));
    launch(host().compile(source, options)->untyped_kernel("k"), {.grid = {1}, .block = {64}}, out);
    CHECK(download(out) == counted(64));
  }
}

TEST_CASE("a source's conditions take the branch of a GPU of compute capability 7.0") {
  CHECK(ran(R"(
#ifdef __CUDACC__
#define HD __host__ __device__
#else
#define HD
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 600  // as llm.c's and CUB's users write it
static __device__ double atomicAdd(double* a, double v) { return *a += 2 * v; }
#endif
#if __CUDA_ARCH__ >= 800
__device__ void wait_for_copies() { asm volatile("cp.async.wait_all;"); }
#else
__device__ void wait_for_copies() {}
#endif
#if defined(__CUDA_ARCH_LIST__) && __CUDACC_VER_MAJOR__ >= 11 && CUDART_VERSION >= 11000 && defined(__CUDACC_RTC__)
#define NEW 0
#else
#define NEW 1000
#endif
HD int index() {
#ifdef __CUDA_ARCH__
  return threadIdx.x;
#else
  return -1;
#endif
}
extern "C" __global__ void k(int* out) {
  __shared__ double sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
#if __CUDA_ARCH__ >= 700
  __syncwarp();
#endif
  wait_for_copies();
  atomicAdd(&sum, 1.0);
  __syncthreads();
#ifdef __WEIR_HOST__
  out[threadIdx.x] = index() + NEW + (int)sum - 64;
#endif
})") == counted(64));
}

TEST_CASE("casts to integers saturate, and NaN becomes 0, with compilers that have an option for it") {
  const auto kernel = compile(R"(
extern "C" __global__ void k(int* out, const float* x) {
  __syncthreads();
  out[threadIdx.x] = (int)x[threadIdx.x];
#ifndef __clang__
  out[0] = 2147483647;
  out[1] = out[2] = 0;
#endif
})")
                          ->untyped_kernel("k");
  const auto out = upload(std::vector<int>(4));
  launch(kernel, {.grid = {1}, .block = {4}}, out, upload(std::vector<float>{3e9F, __builtin_nanf(""), 0.5F, -7.9F}));
  CHECK(download(out) == std::vector<int>{2147483647, 0, 0, -7});
}

TEST_CASE("threads that left before a barrier do not count at it") {
  CHECK(ran("struct S { int v; };\nextern \"C\" __global__ void k(int* out) { if (threadIdx.x >= 40) return; __shared__ int "
            "s[64]; "
            "s[threadIdx.x] = threadIdx.x; __syncthreads(); out[threadIdx.x] = s[39 - threadIdx.x]; }")[0] == 39);
}

TEST_CASE("threads that wait for each other in memory get their turns") {
  // Thread 0 waits for the last one, which has yet to start; by atomics, and by volatile accesses.
  const std::string head =
      "struct S { int v; };\nextern \"C\" __global__ void k(int* out) { __shared__ int flag; if (threadIdx.x == "
      "0) flag = 0; __syncthreads(); if (threadIdx.x == 0) ";
  const std::string rest = "if (threadIdx.x == 63) atomicExch(&flag, 1); out[threadIdx.x] = threadIdx.x; }";
  CHECK(ran(head + "while (atomicAdd(&flag, 0) == 0) {} " + rest) == counted(64));
  CHECK(ran(head + "while (*(volatile int*)&flag == 0) {} " + rest) == counted(64));
}

TEST_CASE("threads of a plain kernel wait for each other in memory, too") {
  std::vector<int> expected = counted(64);
  expected[0] = 42;
  const std::string wait = "while (atomicAdd(&flag, 0) == 0) {}", set = "atomicExch(&flag, 1);";
  const std::string rest = "if (threadIdx.x == 0) { " + wait +
                           " out[0] = data; } else { if (threadIdx.x == 63) { data = 42; __threadfence(); " + set +
                           " } out[threadIdx.x] = threadIdx.x; } }";
  CHECK(ran("extern \"C\" __global__ void k(int* out) { __shared__ int flag, data; if (threadIdx.x == 0) { flag = 0; data = "
            "0; "
            "} __syncthreads(); " +
            rest) == expected);
  CHECK(ran("__device__ int flag, data;\nextern \"C\" __global__ void k(int* out) { " + rest) == expected);
}

TEST_CASE("threads wait for later ones by atomicCAS, by a loop that sleeps, and by loads that pass the cache") {
  const std::string head =
      "extern \"C\" __global__ void k(int* out) { __shared__ int flag; if (threadIdx.x == 0) flag = 63; __syncthreads(); ";
  CHECK(ran(head + "while (atomicCAS(&flag, threadIdx.x, threadIdx.x) != threadIdx.x) {} out[threadIdx.x] = flag; "
                   "atomicSub(&flag, 1); }") == counted(64));
  CHECK(ran(head + "if (threadIdx.x == 63) atomicSub(&flag, 63); while (atomicAdd(&flag, 0) != 0) __nanosleep(50); "
                   "out[threadIdx.x] = threadIdx.x; }") == counted(64));
  CHECK(ran("__device__ int flag;\nextern \"C\" __global__ void k(int* out) { if (threadIdx.x == 63) atomicAdd(&flag, 1); "
            "while (__ldcg(&flag) == 0) {} out[threadIdx.x] = threadIdx.x; }") == counted(64));
}

// Lanes that loop lie before those that have left the loop, who therefore are passed over.
TEST_CASE("a chain of lanes that wait for each other at volatile accesses ends soon") {
  const std::string source =
      "extern \"C\" __global__ void k(int* out) { __shared__ volatile int s[65]; const int t = threadIdx.x; s[t] = t == 0; "
      "__syncthreads(); while (s[t] == 0) {} s[t + 1] = s[t] + 1; out[t] = s[t] - 1; }";
  const auto begin = std::chrono::steady_clock::now();
  CHECK(ran(source) == counted(64));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
}

TEST_CASE("a divergent barrier is an error that names both places") {
  const auto kernel = compile(R"(
struct S { int v; };
extern "C" __global__ void k(const int* in, int* out) {
  if (in[threadIdx.x] > 0)
    __syncthreads();
  else
    __syncthreads();
  out[threadIdx.x] = 1;
})")
                          ->untyped_kernel("k");
  const auto out = upload(std::vector<int>(64));
  std::vector<int> some(64, 1);
  some[5] = 0;
  const Error error = launch_error(kernel, {.grid = {1}, .block = {64}}, upload(some), out);
  CAPTURE(error.what());
  CHECK(error.errc() == Errc::device_fault);
  CHECK(has(error.what(), "kernel.cu:5"));
  CHECK(has(error.what(), "kernel.cu:7"));
  launch(kernel, {.grid = {1}, .block = {64}}, upload(std::vector<int>(64, 1)), out);  // and the stream goes on
  CHECK(download(out) == std::vector<int>(64, 1));
}

TEST_CASE("the blocks behind one that cannot go on run") {
  const auto kernel = compile(R"(
struct S { int v; };
extern "C" __global__ void k(int* out) {
  if (blockIdx.x % 2 == 1 && threadIdx.x == 0) {
    __syncthreads();
    return;
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = 1;
})")
                          ->untyped_kernel("k");
  std::vector<int> expected(64);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = i % 2 == 0 ? 1 : 0;
  const auto out = upload(std::vector<int>(64));
  CHECK(launch_error(kernel, {.grid = {64}, .block = {32}}, out).errc() == Errc::device_fault);
  CHECK(download(out) == expected);
}

TEST_CASE("on fibers a warp's function that lacks lanes, or whose mask lacks the caller, is an error with its place") {
  const Variable tier("WEIR_HOST_TIER", "fibers");
  const auto module = compile(R"(
struct S { int v; };
extern "C" __global__ void missing(int* out) {
  int v = threadIdx.x;
  if (threadIdx.x < 8) v = __shfl_xor_sync(~0ull, v, 1);
  __syncthreads();
  out[threadIdx.x] = v;
}
extern "C" __global__ void unnamed(int* out) { out[threadIdx.x] = __any_sync(0xffffull, threadIdx.x); })");
  const auto out = upload(std::vector<int>(64));
  const Error missing = launch_error(module->untyped_kernel("missing"), {.grid = {1}, .block = {64}}, out);
  CHECK(has(missing.what(), "kernel.cu:5: thread 0 of block (0, 0, 0) calls __shfl_xor_sync for lanes that do not call it"));
  CHECK(has(missing.what(), "__syncthreads at kernel.cu:6"));
  const Error unnamed = launch_error(module->untyped_kernel("unnamed"), {.grid = {1}, .block = {64}}, out);
  CHECK(has(unnamed.what(), "kernel.cu:9"));
  CHECK(has(unnamed.what(), "a mask that does not contain its own lane"));
}

TEST_CASE("the active lanes are those at the same call") {
  const std::vector<int> out = ran(R"(
struct S { int v; };
extern "C" __global__ void k(int* out) {
  const int lane = threadIdx.x % warpSize;
  unsigned long long lanes = 0;
  if (lane % 2 == 0) lanes = __activemask(); else if (lane % 4 == 1) lanes = __activemask();
  out[threadIdx.x] = __popcll(lanes);
})");
  const int width = host().properties().warp_size;
  for (int t = 0; t < 64; ++t) {
    CAPTURE(t);
    CHECK(out[static_cast<std::size_t>(t)] == (t % 2 == 0 ? width / 2 : t % 4 == 1 ? width / 4 : 0));
  }
}

TEST_CASE("a warp whose lanes run in step by volatile accesses sums up without barriers") {
  const std::vector<int> out = ran(R"(
extern "C" __global__ void k(int* out) {
  __shared__ int all[64];
  volatile int* s = all;
  const int t = threadIdx.x;
  s[t] = t;
  __syncthreads();
  if (t < 32) {
    s[t] += s[t + 32];
    if (t < 16) { s[t] += s[t + 16]; s[t] += s[t + 8]; s[t] += s[t + 4]; s[t] += s[t + 2]; s[t] += s[t + 1]; }
  }
  __syncthreads();
  out[t] = s[0];
})");
  CHECK(out == std::vector<int>(64, 63 * 64 / 2));
}

TEST_SUITE_END();

TEST_CASE("numbers of 8 bits convert as on a GPU: to the nearest, ties to even, and at most to the greatest finite one") {
  const ModulePtr module = compile(R"(
    #include <cuda_fp8.h>
    template <class T> __device__ float there_and_back(float x) { return (float)T(x); }
    extern "C" __global__ void k(const float* x, float* y) {
      const int i = threadIdx.x;
      y[i] = there_and_back<__nv_fp8_e4m3>(x[i]), y[16 + i] = there_and_back<__nv_fp8_e5m2>(x[i]);
    }
    extern "C" __global__ void codes(int* wrong) {
      __nv_fp8_e4m3 a;
      __nv_fp8_e5m2 b;
      a.__x = b.__x = threadIdx.x;
      const float f = (float)a, g = (float)b;
      if (f == f && __nv_fp8_e4m3(f).__x != a.__x) atomicAdd(wrong, 1);
      if (g == g && g - g == 0 && __nv_fp8_e5m2(g).__x != b.__x) atomicAdd(wrong, 1);
      if (f != f) atomicAdd(wrong, 0x10000);  // two NaN
      if (g - g != 0) atomicAdd(wrong, 0x1000000);  // two infinities and six NaN
    })");
  const std::vector<float> x = {0,     -0.0F, 1,    1.0625F, 1.1875F,    -448, 449,         1e9F,
                                2e-3F, 9e-4F, 1e-9F, 60000,   -57344.0F, 0.1F, 0.001953125F, 0.0029296875F};
  const auto in = upload(x), out = upload(std::vector<float>(32));
  launch(module->untyped_kernel("k"), {.grid = {1}, .block = {16}}, in, out);
  const std::vector<float> e4m3 = {0,            0,     1, 1,   1.25F, -448,      448,          448,
                                   0.001953125F, 0, 0, 448, -448,  0.1015625F, 0.001953125F, 0.00390625F};
  const std::vector<float> e5m2 = {0,              0, 1, 1,     1.25F,  -448,   448,          57344,
                                   0.001953125F, 0.0008544922F, 0, 57344, -57344, 0.09375F, 0.001953125F, 0.0029296875F};
  const std::vector<float> y = download(out);
  CHECK(std::vector<float>(y.begin(), y.begin() + 16) == e4m3);
  CHECK(std::vector<float>(y.begin() + 16, y.end()) == e5m2);
  const auto wrong = upload(std::vector<int>{0});
  launch(module->untyped_kernel("codes"), {.grid = {1}, .block = {256}}, wrong);
  CHECK(download(wrong)[0] == 0x8020000);
}

}  // namespace
}  // namespace weir::test
