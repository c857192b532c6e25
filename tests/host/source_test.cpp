// SPDX-License-Identifier: Apache-2.0
#include <regex>
#include <utility>
#include <vector>

#include "backends/host/compile/kernel_source.hpp"
#include "kernels/lexer.hpp"
#include "tests/host/support.hpp"

// Tests how a kernel's source is completed to a C++ file.

namespace weir::host {
namespace {

using kernels::Token;
using kernels::tokenize;
using kernels::TokenizedSource;
using test::has;

std::string completed(const std::string& source, FrontEnd front_end = FrontEnd::cpp,
                      const std::vector<std::string>& names = {}) {
  return complete_unit("# 1 \"kernel.cu\"\n" + source, Tier::fibers, front_end, true, names).text;
}

// Without the line markers behind replaced words.
std::string joined(const std::string& text) {
  return std::regex_replace(text, std::regex("\n# [0-9]+ \"kernel.cu\"\n *"), "");
}

std::string refusal(const std::string& source, bool cooperation = true) {
  try {
    complete_unit("# 1 \"kernel.cu\"\n" + source, Tier::fibers, FrontEnd::cpp, cooperation);
  } catch (const RefusedSource& refused) {
    return (refused.reason() == RefusedSource::Reason::needs_cooperation ? "[cooperation] " : "") +
           std::string(refused.what());
  }
  return "";
}

std::string unit_of(std::string_view source, const CompileOptions& options = {}) {
  return compose_unit(source, options, 32, Tier::fibers, FrontEnd::cpp);
}

TEST_CASE("a source may begin with a byte order mark, and with no more than one") {
  const std::string mark = "\xEF\xBB\xBF", source = "extern \"C\" __global__ void k() {}";
  CHECK(unit_of(mark + source) == unit_of(source));
  CHECK(unit_of(mark) == unit_of(""));
  CHECK(has(unit_of(mark + mark + source), mark + source));
}

TEST_CASE("a unit carries macros and name as they are") {
  CompileOptions options;
  options.name = "dir\\a \"b\".cu";
  options.defines = {{"N", "16"}, {"F(x)", "((x) + 1)"}, {"EMPTY", ""}};
  const std::string unit = unit_of("int x;", options);
  CHECK(has(unit, "#define N 16\n#define F(x) ((x) + 1)\n#define EMPTY \n"));
  CHECK(has(unit, "# 1 \"dir\\\\a \\\"b\\\".cu\"\nint x;\n"));
  options.defines = {{"N", "1\n#error"}};
  CHECK_THROWS_AS(unit_of("", options), std::invalid_argument);
  options.defines.clear();
  options.name = "a\nb";
  CHECK_THROWS_AS(unit_of("", options), std::invalid_argument);
}

TEST_CASE("kernels are found wherever their words stand") {
  for (const char* source :
       {"extern \"C\" __global__ void k(int n) {}", "extern \"C\" void __global__ k(int n) {}",
        "extern \"C\" { int x; __global__ void k(int n) {} }",
        "namespace a { namespace { extern \"C\" __global__ void k(int n) {} } }",
        "namespace a::b { extern \"C\" { __global__ void k(int n) {} } }",
        "extern \"C\" { namespace [[deprecated(\"{\")]] a { __global__ void k(int n) {} } }",
        "struct S { int m() { return 1; } }; extern \"C\" __global__ void k(int n) {}",
        "int list[] = {1, 2}; extern \"C\" __global__ void k(int n) {}",
        "extern \"C\" __global__ __attribute__((unused)) void k(int n) {}",
        "extern \"C\" inline __global__ void k(int n) {}", "extern \"C\" __forceinline__ __global__ void k(int n) {}",
        "extern \"C\" __host__ __global__ void k(int n) {}",
        "extern \"C\" __global__ void k(int n);\nextern \"C\" __global__ void k(int n) {}"}) {
    CAPTURE(source);
    for (const FrontEnd front_end : {FrontEnd::cpp, FrontEnd::cuda}) {
      CHECK(has(completed(source, front_end), "::record(\"k\", 0);"));
    }
  }
  for (const char* source : {"extern \"C\" __global__ void k(int n);", "const char* s = \"__global__ void k() {}\";",
                             "template <class T> __global__ void k(T n) {}", "template <> __global__ void k<int>(int n) {}",
                             "extern template __global__ void k<int>(int);"}) {
    CAPTURE(source);
    CHECK_FALSE(has(completed(source), "::record("));
  }
}

TEST_CASE("kernels of C++ linkage are recorded by their names with their namespaces, instances where they are named") {
  CHECK(has(completed("namespace a::b { extern \"C++\" { __global__ void k(int n) {} } }", FrontEnd::cuda),
            "weir_pointer_1 = &::a::b::k;"));
  CHECK(has(completed("namespace a::b { extern \"C++\" { __global__ void k(int n) {} } }"), "::record(\"a::b::k\", 0);"));
  CHECK(has(completed("extern \"C\" { } __global__ void k() {}"), "::record(\"k\", 0);"));
  CHECK(has(completed("namespace a { template <class T> __global__ void k(T n) {}\ntemplate __global__ void k<int>(int); }"),
            "&::a::weir_kernel_k<int>>::record(\"a::k<int>\", 0);"));
  CHECK(
      has(completed("namespace a { template <class T> __global__ void k(T n) {} }", FrontEnd::cpp, {"a::k< unsigned int >"}),
          "&::a::weir_kernel_k<unsigned>>::record(\"a::k<unsigned>\", 0);"));
  CHECK(has(completed("namespace a { __global__ void k() {} }", FrontEnd::cpp, {"a::k"}), "::record(\"a::k\", 0);"));
  CHECK_THROWS_AS(completed("__global__ void k() {}", FrontEnd::cpp, {"other<int>"}), RefusedSource);
}

TEST_CASE("launch bounds are kept, whatever expression they are") {
  CHECK(has(completed("extern \"C\" __global__ void __launch_bounds__(64 << f(1, 2), 2) k(int n) {}"),
            "\"k\", 64 << f(1, 2));"));
  CHECK(has(completed("namespace a { __launch_bounds__(threads) __global__ void k(int n) {} }"),
            "namespace a { static const ::weir_host::kernel_record"));
  const std::string text = completed(
      "namespace a { template <class... T, int n = (2 > 1)> __global__ void __launch_bounds__(n) k(T... t) {}\n"
      "template __global__ void k<int>(int); }");
  CHECK(has(text, "namespace a { template <class... T, int n = (2 > 1)> constexpr unsigned int weir_bounds_k = n;}"));
  CHECK(has(text, "\"a::k<int>\", ::a::weir_bounds_k<int>);"));
}

TEST_CASE("what Module::kernel could not find is refused, with its line") {
  CHECK(has(refusal("struct S { __global__ void k() {} };"), "namespace scope"));
  CHECK(has(refusal("extern \"C\" __global__ int k;"), "must precede a function"));
  CHECK(has(refusal("extern \"C\" __global__"), "must precede a function"));
  CHECK(has(refusal("template <class T> __global__ void k(T) {}\ntemplate __global__ void k(int);"),
            "kernel.cu:2:26: error: the instance of 'k' needs its template arguments"));
}

TEST_CASE("launches are refused, and what looks like one is not") {
  CHECK(has(refusal("__global__ void c() {}\n__global__ void k() {\n c<<<1, 2>>>(); }"),
            "kernel.cu:3:3: error: a launch with <<<"));
  CHECK(refusal("__global__ void k(int* x) { x[0] = 1 << 2 < 3; }").empty());
  CHECK(refusal("struct S { friend void operator<<<int>(S, int); };").empty());
}

TEST_CASE("shared variables have no initial value, and dynamic ones are arrays") {
  CHECK(has(refusal("__global__ void k() {\n __shared__ int n = 0; }"), "kernel.cu:2:2: error: a __shared__ variable"));
  CHECK(has(refusal("__global__ void k() { __shared__ int n{}; }"), "cannot have an initial value"));
  CHECK(has(refusal("__global__ void k() { extern __shared__ int n; }"), "an array without a size"));
  for (const char* variable : {"__shared__ struct { int a; } s;", "volatile __shared__ int s[2][f(1 == 2)];"}) {
    CHECK(refusal(std::string("__global__ void k() { ") + variable + " }").empty());
  }
  for (const char* variable :
       {"extern __shared__ int s[];", "__shared__ extern int s[];", "extern __align__(8) __shared__ A s[];"}) {
    CHECK(has(completed(std::string("__global__ void k() { ") + variable + " }"), "weir_dynamic_shared_memory"));
  }
  CHECK(has(joined(completed("__shared__ alignas(16) [[gnu::unused]] float s[4];")),
            "alignas(16) [[gnu::unused]] __shared__  float s[4];"));
}

TEST_CASE("without the feature, what threads of a block do together is refused, with its line and the feature's name") {
  for (const char* use :
       {"__shared__ float s[2];", "__syncthreads();", "atomicAdd(p, 1);", "__shfl_down_sync(~0u, 1, 2);", "__syncwarp();",
        "cooperative_groups::sync(g);", "extern __shared__ int s[];", "__any(1);", "__reduce_add_sync(~0u, 1);",
        "__activemask();", "__match_any_sync(~0u, 1);", "__syncthreads_count(1);", "atomicCAS_block(p, 1, 2);"}) {
    const std::string text = refusal(std::string("extern \"C\" __global__ void k(int* p) {\n  ") + use + " }", false);
    CAPTURE(use);
    CHECK(text.starts_with("[cooperation] kernel.cu:2:"));
    CHECK(has(text, "block_cooperation"));
  }
  CHECK(refusal("extern \"C\" __global__ void k(A* p, A q) { p->atomicAdd = q.atomicAdd; const char* s = \"__shared__\"; "
                "__allocate(atomic_value); }",
                false)
            .empty());
}

TEST_CASE("lines and columns stay the user's") {
  const std::string source =
      "int a; __device__ int b; int c;\ntemplate <class T>\n__global__ void k(int n) {}\ntemplate\n__global__ void\n"
      "k<int>(int m);\nint d;\n";
  for (const FrontEnd front_end : {FrontEnd::cpp, FrontEnd::cuda}) {
    const TokenizedSource before = tokenize(source);
    const std::string text = completed(source, front_end);
    const TokenizedSource after = tokenize(text);
    for (const char* word : {"a", "b", "c", "n", "d"}) {
      CAPTURE(word);
      std::vector<std::pair<std::uint32_t, std::uint32_t>> places;
      for (const TokenizedSource* tokens : {&before, &after}) {
        for (const Token& token : tokens->tokens) {
          if (tokens->spelling(token) == word) places.emplace_back(token.line, token.column);
        }
      }
      REQUIRE(places.size() == 2);
      CHECK(places[0] == places[1]);
    }
  }
}

TEST_CASE("a declaration stays, unless its kernel is defined with other parameters") {
  const std::string definition = "namespace a { __global__ void k(int* x) {} }\n";
  for (const FrontEnd front_end : {FrontEnd::cpp, FrontEnd::cuda}) {
    const auto kept = [&](const std::string& declaration) {
      return has(joined(completed(declaration, front_end)), "k(int* x);");
    };
    CHECK(kept("namespace a { __global__ void k(int* x); }\n" + definition));
    CHECK(kept("__global__ void k(int* x);\n"));
    CHECK(kept("__global__ void k(int* x);\nnamespace a { __global__ void k(int* x, int n) {} }\n"));
    CHECK_FALSE(kept("__global__ void k(int* x);\n__global__ void k(int* x, int n) {}\n"));
  }
}

TEST_CASE("the tokens of a line are found with their columns") {
  const auto tokens = tokens_at(tokenize("# 1 \"a.h\"\n\nx\n# 2 \"k.cu\"\n  int a;\n# 2 \"k.cu\"\n b\n"), "k.cu", 2);
  REQUIRE(tokens.size() == 4);
  CHECK(tokens[0].column == 2);
  CHECK(tokens[1].text == "a");
  CHECK(tokens[3].column == 1);
}

TEST_CASE("fusing is given up where the source asks for single roundings") {
  CHECK(complete_unit("float f(float a) { return fmaf(a, a, a); }", Tier::fibers, FrontEnd::cpp).may_fuse);
  CHECK_FALSE(complete_unit("float f(float a) { return __fmul_rn(a, a) + a; }", Tier::fibers, FrontEnd::cpp).may_fuse);
}

TEST_CASE("volatile is seen in the user's text alone, in any word") {
  const auto seen = [](const std::string& text) { return mentions_volatile("# 1 \"k.cu\"\n" + text); };
  CHECK(seen("volatile int x;"));
  CHECK(seen("std::add_volatile_t<int> x;"));
  CHECK_FALSE(seen("int x; // volatile\n# 1 \"/usr/include/x.h\" 1 3 4\nvolatile int y;"));
  CHECK_FALSE(mentions_volatile(unit_of("int x;")));
}

}  // namespace
}  // namespace weir::host
