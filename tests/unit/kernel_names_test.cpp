// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "backends/gpu/kernel_names.hpp"
#include "backends/gpu/program.hpp"
#include "kernels/kernel_name.hpp"

// What the CUDA and HIP backends know of kernels without a driver.

namespace {

using weir::gpu::kinds_in;
using weir::gpu::kinds_of;
using weir::gpu::name_of;
using weir::gpu::Program;
using weir::kernels::normalized_name;

/// "fi?" for a floating-point number, another number or pointer, and one of which nothing is known.
std::string text_of(const weir::detail::NumberKinds& kinds, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += (kinds.known >> i & 1U) == 0 ? '?' : (kinds.floating >> i & 1U) != 0 ? 'f' : 'i';
  CHECK((kinds.known >> count) == 0);
  return text;
}

std::string kinds_of_k(const std::string& parameters, int count) {
  return text_of(kinds_in("extern \"C\" __global__ void k(" + parameters + ") {}").at("k"), count);
}

}  // namespace

TEST_CASE("kernel names: what may be written in several ways is one name") {
  CHECK(normalized_name("blur<float, 3>") == "blur<float,3>");
  CHECK(normalized_name("  & ::image :: blur < unsigned int , 3u > ") == "image::blur<unsigned,3>");
  CHECK(normalized_name("k<unsigned long long, 0x10ULL>") == "k<unsigned long long,0x10>");
  CHECK(normalized_name("k<long int, 'a', A<B<int>>>") == "k<long,'a',A<B<int>>>");
  CHECK(normalized_name("").empty());
}

TEST_CASE("kernel names: a symbol's name in the source") {
  CHECK(name_of("_Z4blurIfLi3EEvPKT_PS0_") == "blur<float,3>");
  CHECK(name_of("_ZN5image4flipEPfif") == "image::flip");
  CHECK(name_of("_ZN12_GLOBAL__N_14anonEPff") == "anon");
  CHECK(name_of("_Z4pickIjLb1ELj7EEvPT_") == "pick<unsigned,true,7>");
  CHECK(name_of("saxpy") == "saxpy");
  CHECK(name_of("_Znonsense") == "_Znonsense");
  CHECK(weir::gpu::declaration_of("_ZN5image4flipEPfif") == "image::flip(float*, int, float)");
}

TEST_CASE("kernel names: which parameters are floating-point numbers, by a symbol") {
  CHECK(text_of(kinds_of("_Z4blurIfLi3EEvPKT_PS0_S0_"), 3) == "iif");
  CHECK(text_of(kinds_of("_Z1kidjmcbPvPFvfE6float4d"), 10) == "ifiiiii??f");
  CHECK(text_of(kinds_of("_Z1kv"), 1) == "?");
  CHECK(text_of(kinds_of("k"), 1) == "?");
}

TEST_CASE("kernel names: which parameters are pointers to const") {
  CHECK(kinds_of("_Z4blurIfLi3EEvPKT_PS0_S0_").constant == 0b001);
  CHECK(kinds_of("_Z1kPKfPfPKPKf").constant == 0b001);
  const auto constant = [](const std::string& parameters) {
    return kinds_in("__global__ void k(" + parameters + ") {}").at("k").constant;
  };
  CHECK(constant("const float* x, float* y, float const* __restrict__ z, float* const w") == 0b0101);
  CHECK(constant("const float** x, const int n, const double y[], const Pair* p, float* const* q") == 0b01100);
}

TEST_CASE("kernel names: which parameters are floating-point numbers, by a source") {
  CHECK(kinds_of_k("int n, float a, const float* x, double y[], unsigned long long, std::size_t s, ::uint8_t u", 7) ==
        "ifiiiii");
  CHECK(kinds_of_k("", 0).empty());
  CHECK(kinds_of_k("void", 1) == "?");
  CHECK(kinds_of_k("real a, float4 b, half c, T<float> d, float (*e)(int), Pair<int*>* f", 6) == "??????");
  CHECK(kinds_of_k("float a = 1.0F, T* p, const double b = f(1, 2), long double c, bool d", 5) == "fif?i");
  CHECK(kinds_of_k("float* __restrict__ p, const __grid_constant__ int n, /* float */ int m // int\n, float f", 4) ==
        "iiif");
}

TEST_CASE("kernel names: kernels are found in a source by what stands before them, and not if there are two") {
  const auto kinds = kinds_in(R"code(
#define KERNEL extern "C" __global__ void
__global__ void __launch_bounds__(256, 2) a(float x) {}
template <class T> __global__ void b(T x, float y) {}
// __global__ void c(int x);
const char* text = "__global__ void d(int x)";
extern "C" __attribute__((used)) __global__ void e(double);
extern "C" __global__ void e(double x) {}
__device__ void f(float x) {}
KERNEL g(float x) {}
)code");
  CHECK(text_of(kinds.at("a"), 1) == "f");
  CHECK(text_of(kinds.at("b"), 2) == "?f");
  CHECK(kinds.count("c") + kinds.count("d") + kinds.count("f") + kinds.count("g") == 0);
  CHECK(kinds.at("e").known == 0);
  CHECK(kinds_in("__global__").empty());
  CHECK(kinds_in("__global__ void k(int").empty());
}

TEST_CASE("programs: what was packed is unpacked, and what does not hold together is not") {
  const Program program{{std::byte{1}, std::byte{2}, std::byte{3}}, {{"blur<float,3>", "_Z4blur"}, {"k", "k"}}};
  const auto bytes = program.packed();
  const auto back = Program::unpack(bytes);
  REQUIRE(back.has_value());
  CHECK(back->image == program.image);
  CHECK(back->names == program.names);
  CHECK(Program::unpack(Program{}.packed())->image.empty());
  for (std::size_t size = 0; size < bytes.size() - program.image.size(); ++size) {
    CHECK_FALSE(Program::unpack(std::span(bytes).first(size)).has_value());
  }
  auto damaged = bytes;
  damaged[7] = std::byte{0xFF};
  CHECK_FALSE(Program::unpack(damaged).has_value());
}

TEST_CASE("programs: an image has its names behind it, and one with something else there is taken as it is") {
  const Program program{{std::byte{1}, std::byte{2}, std::byte{3}}, {{"blur<float,3>", "_Z4blur"}, {"k", "k"}}};
  const auto bytes = program.image_with_names();
  CHECK(std::equal(program.image.begin(), program.image.end(), bytes.begin()));
  const Program back = Program::from_image(bytes);
  CHECK(back.image == program.image);
  CHECK(back.names == program.names);
  const Program bare{program.image, {}};
  CHECK(bare.image_with_names() == bare.image);
  CHECK(Program::from_image(bare.image).image == bare.image);
  CHECK(Program::from_image({}).image.empty());
  // Whatever is changed, image and names stay within the bytes, of which a sanitizer makes sure.
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CHECK(Program::from_image(std::span(bytes).first(size)).image.size() == size);
    for (const unsigned value : {0x00U, 0x01U, 0x7FU, 0x80U, 0xFFU}) {
      auto changed = bytes;
      changed[size] = static_cast<std::byte>(value);
      CHECK(Program::from_image(changed).image.size() <= bytes.size());
    }
  }
}
