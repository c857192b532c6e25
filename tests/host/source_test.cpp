// SPDX-License-Identifier: Apache-2.0
#include "backends/host/kernel_source.hpp"

#include <cctype>
#include <regex>

#include "kernels/lexer.hpp"

#include "tests/host/support.hpp"

namespace weir::host {
namespace {

using kernels::Token;
using kernels::TokenizedSource;
using kernels::tokenize;
using test::has;

// The rewritten text without line markers and with single spaces.
std::string rewritten(const std::string& source, bool optimize = true) {
  const std::string text = rewrite_kernels("# 1 \"kernel.cu\"\n" + source, optimize).text;
  std::string plain;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.starts_with("#")) continue;
    for (const char c : std::string(line) + " ") {
      if (std::isspace(static_cast<unsigned char>(c)) == 0) {
        plain += c;
      } else if (!plain.empty() && plain.back() != ' ') {
        plain += ' ';
      }
    }
  }
  return plain;
}

std::string refusal(const std::string& source, bool cooperation = true) {
  try {
    rewrite_kernels("# 1 \"kernel.cu\"\n" + source, true, cooperation);
  } catch (const RefusedSource& refused) {
    return (refused.reason() == RefusedSource::Reason::needs_cooperation ? "[cooperation] " : "") +
           std::string(refused.what());
  }
  return "";
}

constexpr const char* parameters =
    "const unsigned int weir_global_x, const ::uint3 threadIdx, const ::uint3 blockIdx, const ::dim3 blockDim, const ::dim3 "
    "gridDim";

TEST_CASE("a source may begin with a byte order mark, and with no more than one") {
  const std::string mark = "\xEF\xBB\xBF", source = "extern \"C\" __global__ void k() {}";
  CHECK(compose_unit(mark + source, {}, 32) == compose_unit(source, {}, 32));
  CHECK(compose_unit(mark, {}, 32) == compose_unit("", {}, 32));
  CHECK(has(compose_unit(mark + mark + source, {}, 32), mark + source));
}

TEST_CASE("a kernel gets parameters, a name of its own and a record") {
  const std::string text = rewritten("extern \"C\" __global__ void k(int n, float* x) { x[0] = n; }");
  CHECK(has(text, std::string("extern \"C\" inline __attribute__((always_inline)) void weir_kernel_k (") + parameters +
                      ", int n, float* x) { x[0] = n; }"));
  CHECK(has(text, "::record(\"k\", 0);"));
  CHECK(has(text, "sets_thread_variables = false"));
  CHECK(has(rewritten("extern \"C\" __global__ void k(int n) {}", false), "extern \"C\" inline void weir_kernel_k ("));
}

TEST_CASE("a kernel without parameters") {
  for (const char* list : {"()", "(void)", "( )"}) {
    CHECK(has(rewritten(std::string("extern \"C\" __global__ void k") + list + " {}"), std::string(parameters) + " ) {}"));
  }
}

TEST_CASE("kernels are found wherever their words stand") {
  for (const char* source :
       {"extern \"C\" __global__ void k(int n) {}", "extern \"C\" void __global__ k(int n) {}",
        "extern \"C\" { int x; __global__ void k(int n) {} }",
        "namespace a { namespace { extern \"C\" __global__ void k(int n) {} } }",
        "namespace a::b { extern \"C\" { __global__ void k(int n) {} } }",
        "struct S { int m() { return 1; } }; extern \"C\" __global__ void k(int n) {}",
        "extern \"C\" __global__ __attribute__((unused)) void k(int n) {}",
        "extern \"C\" inline __global__ void k(int n) {}", "extern \"C\" __forceinline__ __global__ void k(int n) {}",
        "extern \"C\" __host__ __global__ void k(int n) {}",
        "extern \"C\" __global__ void k(int n);\nextern \"C\" __global__ void k(int n) {}"}) {
    CAPTURE(source);
    const std::string text = rewritten(source);
    CHECK(has(text, "::record(\"k\""));
    CHECK_FALSE(std::regex_search(text, std::regex("__global__ (?!function)")));
    CHECK_FALSE(std::regex_search(text, std::regex("inline[^;{(]*inline ")));
  }
}

TEST_CASE("kernels of C++ linkage are recorded by their names with their namespaces, instances where they are named") {
  CHECK(has(rewritten("namespace a::b { extern \"C++\" { __global__ void k(int n) {} } }"), "::record(\"a::b::k\", 0);"));
  CHECK(has(rewritten("extern \"C\" { } __global__ void k() {}"), "::record(\"k\", 0);"));
  CHECK_FALSE(has(rewritten("template <class T> __global__ void k(T n) {}"), "::record("));
  const std::string text =
      rewritten("namespace a { template <class T> __global__ void k(T n) {}\ntemplate __global__ void k<int>(int); }");
  CHECK(has(text, "&::a::weir_kernel_k<int>, true>::record(\"a::k<int>\", 0);"));
}

TEST_CASE("launch bounds are kept, whatever expression they are") {
  CHECK(has(rewritten("extern \"C\" __global__ void __launch_bounds__(64 * f(1, 2), 2) k(int n) {}"),
            "\"k\", 64 * f ( 1 , 2 ) );"));
  CHECK(has(rewritten("extern \"C\" __launch_bounds__(threads) __global__ void k(int n) {}"), "\"k\", threads );"));
  CHECK_FALSE(has(rewritten("extern \"C\" __global__ void __launch_bounds__(64) k(int n) {}"), "__launch_bounds__"));
}

TEST_CASE("what Module::kernel could not find is refused, with its line") {
  CHECK(has(refusal("struct S { __global__ void k() {} };"), "namespace scope"));
  CHECK(has(refusal("extern \"C\" __global__ int k;"), "none follows"));
  CHECK(has(refusal("extern \"C\" __global__"), "none follows"));
}

TEST_CASE("launches, and keywords that the source has made its own macros, are refused") {
  CHECK(has(refusal("__global__ void c() {}\n__global__ void k() {\n c<<<1, 2>>>(); }"),
            "kernel.cu:3: error: a launch by <<<"));
  CHECK(refusal("__global__ void k(int* x) { x[0] = 1 << 2 < 3; }").empty());
  const auto keywords = [](const std::string& shared) {
    return refusal("__global__ void k() {}\nextern const char weir_keywords[sizeof(\"__global__\" \"__device__\" " + shared +
                   " \"__constant__\")];");
  };
  CHECK(keywords("\"__shared__\"").empty());
  CHECK(has(keywords("\"\""), "defines the keyword '__shared__' as a macro"));
  CHECK(has(compose_unit("int x;", {}, 32), "weir_keywords[sizeof(WEIR_QUOTED(__global__) "));
}

TEST_CASE("without the feature, what threads of a block do together is refused, with its line and the feature's name") {
  for (const char* use : {"__shared__ float s[2];", "__syncthreads();", "atomicAdd(p, 1);", "__shfl_down_sync(~0u, 1, 2);",
                          "__syncwarp();", "cooperative_groups::sync(g);", "extern __shared__ int s[];"}) {
    const std::string text = refusal(std::string("extern \"C\" __global__ void k(int* p) {\n  ") + use + " }", false);
    CAPTURE(use);
    CHECK(has(text, "[cooperation] kernel.cu:2: error: '"));
    CHECK(has(text, "block_cooperation"));
  }
  CHECK(refusal("extern \"C\" __global__ void k(A* p, A q) { p->atomicAdd = q.atomicAdd; const char* s = \"__shared__\"; }",
                false)
            .empty());
}

TEST_CASE("thread variables are set only if something but a kernel's own body uses them") {
  const auto sets = [](const char* source) { return has(rewritten(source), "sets_thread_variables = true"); };
  CHECK_FALSE(sets("extern \"C\" __global__ void k(int* x) { x[threadIdx.x] = blockIdx.y; }"));
  CHECK_FALSE(
      sets("extern \"C\" __global__ void k(int* x) { auto f = [=] { return threadIdx.x; }; auto g = [&](int) { return f(); "
           "}; }"));
  CHECK_FALSE(sets("int f(S s) { return s.threadIdx; } extern \"C\" __global__ void k(int* x) { x[0] = a[threadIdx.x]; }"));
  CHECK(sets("__device__ int f() { return threadIdx.x; }"));
  CHECK(sets("extern \"C\" __global__ void k(int* x) { struct S { int f() { return threadIdx.x; } }; x[0] = S().f(); }"));
  CHECK(sets("extern \"C\" __global__ void k(int* x) { auto f = [x] { return threadIdx.x; }; }"));
  CHECK(sets("extern \"C\" __global__ void k(int* x) { return [] { threadIdx.x; }(); }"));
  CHECK_FALSE(sets("extern \"C\" __global__ void k(int* x) { auto f = [x] { return 1; }; x[threadIdx.x] = f(); }"));
}

TEST_CASE("the thread's number in the row is counted by the launcher") {
  const auto body = [](const std::string& expression) {
    return rewritten("extern \"C\" __global__ void k(int* p) { " + expression + " }");
  };
  for (const char* sum : {"blockIdx.x * blockDim.x + threadIdx.x", "blockDim.x*blockIdx.x+threadIdx.x",
                          "threadIdx.x + blockIdx.x * blockDim.x"}) {
    CAPTURE(sum);
    CHECK(has(body("int i = " + std::string(sum) + ";"), "int i = weir_global_x ;"));
    CHECK(has(body("f(1, " + std::string(sum) + ");"), "f(1, weir_global_x )"));
    CHECK(has(body("p[" + std::string(sum) + "]"), "p[weir_global_x ]"));
    CHECK(has(body("int i = " + std::string(sum) + " + 1;"), "weir_global_x + 1"));
    for (const std::string& whole :
         {"2 * " + std::string(sum), "1 - " + std::string(sum), "(long)" + std::string(sum), std::string(sum) + " * 2",
          std::string(sum) + " / 2", std::string(sum) + " % 2", "1 + " + std::string(sum), "-" + std::string(sum)}) {
      CAPTURE(whole);
      CHECK_FALSE(has(body("int i = " + whole + ";"), "= weir_global_x"));
      CHECK_FALSE(has(body("int i = " + whole + ";"), " weir_global_x ;"));
    }
  }
  for (const char* other : {"blockIdx.y * blockDim.x + threadIdx.x", "blockIdx.x * blockDim.y + threadIdx.x",
                            "blockIdx.x * blockDim.x + threadIdx.y", "blockIdx.x * gridDim.x + threadIdx.x",
                            "a.blockIdx.x * blockDim.x + threadIdx.x"}) {
    CAPTURE(other);
    CHECK_FALSE(has(body("int i = " + std::string(other) + ";"), "= weir_global_x"));
  }
}

TEST_CASE("keywords vanish or become what they mean") {
  CHECK(has(rewritten("__device__ int counter;"), "__attribute__((visibility(\"default\"))) int counter;"));
  CHECK(has(rewritten("__constant__ float w[2] = {1, 2};"), "__attribute__((visibility(\"default\"))) float w"));
  CHECK(has(rewritten("static __device__ int counter;"), "static int counter;"));
  CHECK(has(rewritten("auto f = [] __host__ __device__ (int i) { return i; };"), "[] (int i)"));
  CHECK(has(rewritten("struct S { __host__ __device__ int f(); };"), "struct S { int f(); };"));
  CHECK(has(rewritten("__device__ __forceinline__ int f();"), " inline __attribute__((always_inline)) int f();"));
  CHECK(has(rewritten("__device__ __forceinline__ inline int f();"), " __attribute__((always_inline)) inline int f();"));
  CHECK(has(rewritten("inline __forceinline__ int f();"), "inline __attribute__((always_inline)) int f();"));
  CHECK(has(rewritten("__noinline__ int f();"), "__attribute__((noinline)) int f();"));
  CHECK(has(rewritten("int f() __attribute__((__noinline__));"), "__attribute__((__noinline__))"));
  CHECK(has(rewritten("extern \"C\" __global__ void k(const __grid_constant__ S s) {}"), "const S s) {}"));
}

TEST_CASE("lines and columns stay the user's") {
  const std::string source = "int a; __device__ int b; int c;\nextern \"C\" __global__ void k(int n) {} int d;\n";
  const TokenizedSource source_tokens = tokenize(source);
  const std::string text = rewrite_kernels("# 1 \"kernel.cu\"\n" + source, true).text;
  const TokenizedSource after = tokenize(text);
  for (const char* word : {"a", "b", "c", "n", "d"}) {
    CAPTURE(word);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> places;
    for (const TokenizedSource* tokens : {&source_tokens, &after}) {
      for (const Token& token : tokens->tokens) {
        if (tokens->spelling(token) == word) places.emplace_back(token.line, token.column);
      }
    }
    REQUIRE(places.size() == 2);
    CHECK(places[0] == places[1]);
  }
}

TEST_CASE("the lines that a compiler shows stand where they stood") {
  CHECK(lines_of("# 1 \"a.h\"\nx\n# 2 \"k.cu\"\n  int a = 1;\n# 4 \"k.cu\"\nint b;\n", "k.cu") ==
        "\n  int a = 1;\n\nint b;\n");
}

TEST_CASE("fusing is given up where the source asks for single roundings") {
  CHECK(rewrite_kernels("float f(float a) { return fmaf(a, a, a); }", true).may_fuse);
  CHECK_FALSE(rewrite_kernels("float f(float a) { return __fmul_rn(a, a) + a; }", true).may_fuse);
}

TEST_CASE("a unit carries macros and name as they are") {
  CompileOptions options;
  options.name = "dir\\a \"b\".cu";
  options.defines = {{"N", "16"}, {"F(x)", "((x) + 1)"}, {"EMPTY", ""}};
  const std::string unit = compose_unit("int x;", options, 32);
  CHECK(has(unit, "#define N 16\n#define F(x) ((x) + 1)\n#define EMPTY \n"));
  CHECK(has(unit, "#line 1 \"dir\\\\a \\\"b\\\".cu\"\nint x;\n"));
  options.defines = {{"N", "1\n#error"}};
  CHECK_THROWS_AS(compose_unit("", options, 32), std::invalid_argument);
  options.defines.clear();
  options.name = "a\nb";
  CHECK_THROWS_AS(compose_unit("", options, 32), std::invalid_argument);
}

}  // namespace
}  // namespace weir::host
