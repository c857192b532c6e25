// SPDX-License-Identifier: Apache-2.0
#include "tests/host/support.hpp"

// Tests kernels with C++ linkage, and instances of templates.

namespace weir::test {
namespace {

TEST_CASE("instances of templates are made by their names, with barriers and without, and have their own bounds") {
  const auto module = host().compile(R"(
namespace image::filters {
template <class T, int N = 2> __launch_bounds__(N * 16) __global__ void turned(const T* in, T* out, int n) {
  __shared__ T tile[64];
  const int i = threadIdx.x;
  if (i < n) tile[i] = in[i] * N;
  __syncthreads();
  if (i < n) out[i] = tile[n - 1 - i];
}
__global__ void scale(float* x, float f) { x[threadIdx.x] *= f; }
}
)",
                                     {.kernels = {"image::filters::turned<float, 3>", "image::filters::turned<int>",
                                                  "image::filters::scale"}});  // which is no template
  const auto x = upload<float>({1, 2, 3, 4});
  launch(module->untyped_kernel("image::filters::turned<float,3>"), {1, 4}, x.data(), x, 4);
  CHECK(download(x) == std::vector<float>{12, 9, 6, 3});
  launch(module->untyped_kernel("::image::filters::scale"), {1, 4}, x, 0.5F);
  CHECK(download(x) == std::vector<float>{6, 4.5F, 3, 1.5F});
  const auto n = upload<int>({1, 2});
  launch(module->untyped_kernel("image::filters::turned< int >"), {1, 2}, n, n, 2);
  CHECK(download(n) == std::vector<int>{4, 2});
  CHECK(module->untyped_kernel("image::filters::turned<float, 3>")->properties().max_threads_per_block == 48);
  CHECK(module->untyped_kernel("image::filters::turned<int>")->properties().max_threads_per_block == 32);
  CHECK(module->untyped_kernel("image::filters::turned<int>")->suggested_block_size() == 32);
}

TEST_CASE("instances: specializations, instantiations in the source, and arguments that are numbers") {
  const auto module = host().compile(R"(
template <typename T> __global__ void add(T* p, unsigned n) { if (threadIdx.x < n) p[threadIdx.x] += T(1); }
template <> __global__ void add<double>(double* p, unsigned n) { if (threadIdx.x < n) p[threadIdx.x] += 100; }
template __global__ void add<int>(int*, unsigned);
extern template __global__ void add<short>(short*, unsigned);
template <bool B, unsigned long long V, class... Rest>
__global__ void number(unsigned long long* p) {
  *p = B ? V + sizeof...(Rest) : 0;
}
)",
                                     {.kernels = {"add<double>", "number<true, 7ull, int, float>"}});
  const auto i = upload<int>({1, 2});
  launch(module->untyped_kernel("add<int>"), {1, 2}, i, 2U);
  CHECK(download(i) == std::vector<int>{2, 3});
  const auto d = upload<double>({1, 2});
  launch(module->untyped_kernel("add<double>"), {1, 2}, d, 1U);
  CHECK(download(d) == std::vector<double>{101, 2});
  const auto u = upload<unsigned long long>({0});
  launch(module->untyped_kernel("number<true,7,int,float>"), {1, 1}, u);
  CHECK(download(u)[0] == 9);
  CHECK_THROWS_WITH_AS(module->untyped_kernel("add<short>"), doctest::Contains("the module has add<double>, add<int>"),
                       Error);
}

TEST_CASE("instances: a kernel of no name's namespace, and two of one name in two namespaces") {
  const auto module = host().compile(R"(
namespace { __global__ void hidden(int* p) { *p = 1; } }
namespace a { __global__ void k(int* p) { *p = 2; } }
inline namespace b { __global__ void k(int* p) { *p = 3; } }
extern "C" { namespace c { __global__ void in_c(int* p) { *p = 4; } } }
)");
  const auto p = upload<int>({0});
  int expected = 0;
  for (const char* const name : {"hidden", "a::k", "b::k", "in_c"}) {
    launch(module->untyped_kernel(name), {}, p);
    CHECK(download(p)[0] == ++expected);
  }
}

TEST_CASE("instances: what cannot be made is refused with its reason") {
  const auto says = [](const char* source, std::vector<std::string> kernels, const char* text) {
    const Error error = compile_error(source, {.kernels = std::move(kernels)});
    CHECK(error.errc() == Errc::compilation_failed);
    CAPTURE(error.what());
    CHECK(has(error.what(), text));
  };
  says("__global__ void k() {}", {"image::nothing<float>"}, "the source has no __global__ function 'image::nothing'");
  says("__device__ void k() {}", {"k"}, "the source has no __global__ function 'k'");
  says("__device__ void k() {}", {"k"}, "KERNELS in weir_add_kernels, which every file of the call must have");
  says("template <class T> __global__ void k(T*) {}\ntemplate __global__ void k(int*);", {},
       "kernel.cu:2:26: error: the instance of 'k' needs its template arguments");
  says("template <class T> __global__ void k(T&) {}", {"k<int>"}, "not by reference");
  says("template <class T> __global__ int k(T) { return 1; }", {"k<int>"}, " void");
}

TEST_CASE("an instance by a function that the source does not name") {
  const auto module = host().compile(
      "template <unsigned int (*f)(unsigned int, unsigned int)> __global__ void k(unsigned int* x) { *x = f(*x, 0x10001u); "
      "}",
      {.kernels = {"k<__vadd2>"}});
  const auto x = upload<unsigned int>({0xffff0001U});
  launch(module->untyped_kernel("k<__vadd2>"), {1, 1}, x);
  CHECK(download(x) == std::vector<unsigned int>{2});
}

TEST_CASE("typed kernels: which parameters are floating-point numbers is known of every type") {
  const auto module = host().compile(R"(
typedef float real;
enum Choice { some };
struct Pair { float a, b; };
template <class T> __global__ void k(real a, T b, Choice c, Pair d, const T* e, bool f, T g) {}
)",
                                     {.kernels = {"k<double>", "k<int>"}});
  const auto of_doubles = module->untyped_kernel("k<double>");
  const auto kinds_of = [](const Kernel& kernel) {
    std::string text;
    for (const Parameter& parameter : kernel.parameters())
      text += parameter.kind == ParameterKind::unknown ? '?' : parameter.kind == ParameterKind::floating ? 'f' : 'i';
    return text;
  };
  CHECK(kinds_of(*of_doubles) == "ffi?iif");
  CHECK(kinds_of(*module->untyped_kernel("k<int>")) == "fii?iii");
}

}  // namespace
}  // namespace weir::test
