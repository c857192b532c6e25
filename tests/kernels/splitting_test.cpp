// SPDX-License-Identifier: Apache-2.0
#include <cctype>
#include <regex>

#include "kernels/function.hpp"
#include "kernels/printer.hpp"
#include "kernels/split.hpp"
#include "kernels/syntax.hpp"
#include "tests/kernels/support.hpp"

/// The parts of the splitter: words, statements, which values threads share, and what is written.
namespace weir::kernels {
namespace {

using test::has;
using Kind = Statement::Kind;
using Place = Variable::Place;

std::vector<Statement> parse(std::string_view text) { return parse_statements(made_up(text)); }

// All that was split of a source, without line markers and with single spaces.
std::string split(const std::string& text) {
  const std::string marked = "# 1 \"kernel.cu\"\n" + text;
  const TokenizedSource source = tokenize(marked);
  std::string plain;
  for (const Replacement& r : split_functions(source).replacements) {
    bool marker = false, line_start = true;
    for (const char c : r.text + "\n") {
      if (line_start) marker = c == '#';
      line_start = c == '\n';
      if (marker) continue;
      if (std::isspace(static_cast<unsigned char>(c)) == 0) {
        plain += c;
      } else if (!plain.empty() && plain.back() != ' ') {
        plain += ' ';
      }
    }
  }
  return plain;
}
std::string split_kernel(const std::string& body) {
  return split("extern \"C\" __global__ void k(float* x, int n, int m) {" + body + "}");
}

// Where the values of a kernel's variables lie.
Place place_of_variable(const std::string& body, const std::string& name, const std::string& classes = "") {
  const std::string text =
      classes +
      "__device__ int changes(int&); __constant__ int fixed; extern \"C\" __global__ void k(float* x, int n, int m) {" +
      body + "}";
  const TokenizedSource source = tokenize(text);
  const Unit unit(source);
  for (const FunctionPlace& place : unit.functions()) {
    if (!place.is_kernel) continue;
    Function f = read_function(unit, place);
    extract_meetings(f, unit);
    resolve_names(f);
    place_variables(f, unit);
    for (const Variable& v : f.variables) {
      if (v.name == name) return v.place;
    }
  }
  FAIL("no variable " << name);
  return Place::piece;
}

TEST_CASE("operators of several characters are one word, but not what may close template arguments") {
  CHECK(text_of(made_up("a<<=b>>=c>>d->e::f...g++ +h&&!i<=j")) == "a <<= b >>= c > > d -> e :: f ... g ++ + h && ! i <= j");
  const Words list = made_up("f(a, b), c<d, e>::g, {h, i}, j < k");
  const auto parts = split_at_commas(list);
  REQUIRE(parts.size() == 4);
  CHECK(text_of(parts[1]) == "c < d , e > :: g");
}

TEST_CASE("declarations are told from expressions") {
  const auto declares = [](std::string_view text) {
    Statement s;
    return parse_declaration(made_up(text), s);
  };
  for (const char* text : {"int x", "const float* p = q", "unsigned long long a, *b, c[3]", "T<int, 3>::type v{1}",
                           "uint3 i(1, 2, 3)", "auto f = [&](int i) { return i; }", "extern __shared__ int s[]",
                           "__shared__ volatile float s[2][3]", "float4 const v = w", "decltype(x) y = x", "T * b = c"}) {
    CAPTURE(text);
    CHECK(declares(text));
  }
  for (const char* text :
       {"x = 1", "a[i] = b", "f(x)", "++i", "a.b = c", "p->q(1)", "*p = 1", "int(x)", "delete p", "a<b>(c)", "s << t"}) {
    CAPTURE(text);
    CHECK_FALSE(declares(text));
  }
  Statement s;
  REQUIRE(parse_declaration(made_up("const unsigned a = 1, *b, c[2][N + 1] = {{1}}, d(2)"), s));
  REQUIRE(s.declarators.size() == 4);
  CHECK(text_of(s.specifiers) == "const unsigned");
  CHECK(text_of(s.declarators[1].pointer) == "*");
  CHECK(text_of(s.declarators[2].dimensions[1]) == "N + 1");
  CHECK(s.declarators[3].form == Declarator::Form::parentheses);
}

TEST_CASE("a type that stands around a name is put before it") {
  const auto first = [](std::string_view text) {
    return text_of(with_types_first(made_up(text), [](const Word& name) { return !name.is("row") && !name.is("at"); }));
  };
  const auto spelled = [](const std::string& type) { return ":: weir_host :: spelled < " + type + " > "; };
  CHECK(first("float (*p)[8] = x;") == spelled("float [ 8 ]") + "* p = x ;");
  CHECK(first("static const a::T<2> (&p)[8][N] = x;") ==
        "static " + spelled("const a :: T < 2 > [ 8 ] [ N ]") + "& p = x ;");
  CHECK(first("x = 1; T *(*const p[2])[8];") == "x = 1 ; " + spelled("T * [ 8 ]") + "* const p [ 2 ] ;");
  CHECK(first("float (*f)(float, int) = g;") == spelled("float ( float , int )") + "* f = g ;");
  CHECK(first("for (T (*p)[8] = x; p < y; ++p) {}") == "for ( " + spelled("T [ 8 ]") + "* p = x ; p < y ; ++ p ) { }");
  CHECK(first("auto (&p)[8] = x;") == "auto & p = x ;");
  CHECK(first("T (*p)[8] = x, (*const q)[8], (&r)[8] = y;") == spelled("T [ 8 ]") + "* p = x , * const q , & r = y ;");
  CHECK(first("float (&p)[8]") == spelled("float [ 8 ]") + "& p");  // a parameter
  CHECK(first("float (x)[2] = {1};") == "float x [ 2 ] = { 1 } ;");
  for (const char* expression :
       {"row ( & x ) [ 1 ] = 2 ;", "a . row ( * x ) [ 1 ] = 2 ;", "at < 1 > ( * x ) [ 1 ] = 2 ;", "f ( * x ) = 1 ;",
        "f ( x ) [ 1 ] = 2 ;", "f ( & x ) ( 1 ) ;", "y = f ( * x ) [ 1 ] ;", "return ( * x ) [ 1 ] ;", "int ( x ) ;",
        "S s = { f ( * x ) [ 1 ] , 2 } ;", "y = a ? b : f ( * x ) [ 1 ] ;"}) {
    CHECK(first(expression) == expression);
  }
}

TEST_CASE("statements keep their structure") {
  const auto list = parse(
      "if (a) b; else if (c) { d; e; } for (int i = 0, j = 1; i < n; ++i, --j) f(); do { g; } while (h); switch (i) { case "
      "1: j; break; default: k; } return; ");
  REQUIRE(list.size() == 5);
  CHECK(list[0].is(Kind::branch));
  CHECK(list[0].has_other);
  CHECK(list[0].other[0].body.size() == 2);
  CHECK(list[1].first[0].declarators.size() == 2);
  CHECK(text_of(list[1].step) == "++ i , -- j");
  CHECK(list[2].loop == Statement::Loop::do_loop);
  CHECK(list[3].body.size() == 5);
  CHECK(list[4].is(Kind::leave));
}

TEST_CASE("what is the same for all threads is kept once") {
  const std::string barrier = "__syncthreads();";
  CHECK(place_of_variable("int a = n * 2 + blockIdx.x;" + barrier + "x[0] = a;", "a") == Place::uniform);
  CHECK(place_of_variable("int a = n; a += m; ++a;" + barrier + "x[0] = a;", "a") == Place::uniform);
  CHECK(place_of_variable("for (int i = 0; i < n; ++i) {" + barrier + "}", "i") == Place::uniform);
  CHECK(place_of_variable("x += blockIdx.x * n;" + barrier + "x[threadIdx.x] = 1;", "x") == Place::uniform);
  CHECK(place_of_variable("int a = __syncthreads_or(x[0]); x[1] = a;", "a") == Place::uniform);
  CHECK(place_of_variable("int a = fixed;" + barrier + "x[0] = a;", "a") == Place::uniform);
  CHECK(place_of_variable("__shared__ float s[64]; float* p = &s[n * 2]; float* q = s + n;" + barrier + "x[0] = *p + *q;",
                          "q") == Place::uniform);
  // A thread that leaves the loop has no use for the counter any more.
  CHECK(place_of_variable("for (int i = 0; i < n; ++i) { if (x[threadIdx.x] > i) break; __syncwarp(); }", "i") ==
        Place::uniform);
}

TEST_CASE("objects are kept once where no operator of the source's can change them") {
  const std::string constant = "struct Q { int m; int operator[](int i) const; }; Q operator+(Q, const Q&); ";
  const std::string changing = "struct Q { int m; int operator[](int i); }; ";
  const std::string keeping = "struct Q { int m; }; struct A { int& a; }; ";
  const auto place = [](const std::string& classes, const std::string& body, const char* name) {
    return place_of_variable(body + " __syncthreads(); x[threadIdx.x] = q.m;", name, classes);
  };
  CHECK(place(constant, "Q q = fixed; int s = q[threadIdx.x] + q.m; x[1] = (q + q).m;", "q") == Place::uniform);
  CHECK(place(changing, "Q q = fixed; int s = q.m; (q).m;", "q") == Place::uniform);
  CHECK(place(keeping, "Q q = fixed; int a = q.m;", "q") == Place::uniform);
  CHECK(place(changing, "Q q = fixed; int s = q[threadIdx.x];", "q") != Place::uniform);
  CHECK(place(keeping, "Q q = fixed; int b = n; A a{b};", "b") != Place::uniform);
  for (const char* acting :
       {"struct Q { int m; Q(int*) { atomicAdd(&x, 1); } }; ", "struct Q { int m = threadIdx.x; }; ",
        "struct Q { int m; ~Q() { m = 1; } }; ", "struct Q { int m; operator int() { return tid(); } }; "}) {
    CAPTURE(acting);
    const std::string source = "__device__ int tid() { return threadIdx.x; } " + std::string(acting);
    CHECK(place(source, "Q q = fixed;", "q") != Place::uniform);
    CHECK(place(source, "int b = Q(fixed); Q q = fixed;", "b") != Place::uniform);
  }
  CHECK(place("struct Q { int m; Q(int i) : m(i) {} __device__ int own() { return threadIdx.x; } }; ", "Q q(fixed);", "q") ==
        Place::uniform);
  CHECK(place(keeping, "Q q = fixed; int b = n; int c = x[0]; c += (b) + (n); x[c] = max(b, c);", "b") == Place::uniform);
}

TEST_CASE("an object is kept once if what a pointer in it leads to is written") {
  const std::string classes =
      "template <class T> struct P { T* out; float* next; int own[4]; }; struct R { P<int>* in; int* out; }; ";
  const auto place = [&](const std::string& type, const std::string& statement) {
    return place_of_variable(type + " p = fixed; " + statement + "; __syncthreads(); x[threadIdx.x] = p.out[0];", "p",
                             classes);
  };
  CHECK(place("P<int>", "p.out[threadIdx.x] = 1; atomicAdd(&p.next[m], x[1]); ++p.out[2]") == Place::uniform);
  CHECK(place("const R", "p.in->own[m] = 1") == Place::uniform);
  CHECK(place("P<int>", "p.own[threadIdx.x] = 1") != Place::uniform);
  CHECK(place("P<int>", "p.out = &n") != Place::uniform);
  CHECK(place("P<int>", "changes(p.own[1])") != Place::uniform);
  CHECK(place("Unknown", "p.out[threadIdx.x] = 1") != Place::uniform);
}

TEST_CASE("tables of constants are kept once") {
  CHECK(place_of_variable("const int t[] = {1, 2, 3}; __syncthreads(); x[0] = t[n];", "t") == Place::uniform);
  CHECK(place_of_variable("const float t[2] = {x[0], 2}; __syncthreads(); x[0] = t[n];", "t") != Place::uniform);
  CHECK(place_of_variable("int t[2] = {1, 2}; __syncthreads(); x[0] = t[n];", "t") != Place::uniform);
  CHECK(has(split_kernel("static constexpr int t[] = {1, 2}; __syncthreads(); x[0] = t[n];"),
            "[[maybe_unused]] static constexpr int t"));
}

TEST_CASE("what may differ between threads is not kept once") {
  const std::string barrier = "__syncthreads();";
  for (const char* body :
       {"int a = x[0];", "int a = n; if (threadIdx.x) a = 1;", "int a = n; a = threadIdx.x;", "int a = n; changes(a);",
        "int a = n; int* p = &a; *p = threadIdx.x;", "int a = n; int& r = a; r = 1;", "int a = n; auto f = [&] { a = 1; };",
        "int a = n; (a) = threadIdx.x;", "int a = n; while (x[threadIdx.x] > 0) { a += 1; __syncwarp(); }",
        "int a = n; for (int i = 0; i < n; ++i) { if (x[threadIdx.x] > i) break; __syncwarp(); a += 1; }",
        "int a = n; if (x[threadIdx.x] > 0) { __syncwarp(); a = 2; }", "int a = __shfl_sync(~0u, threadIdx.x, 0);",
        "volatile int a = n;", "int a = n; a = b = threadIdx.x;", "int a = n, c = 0; (threadIdx.x ? a : c) = 1;",
        "int a = n; auto f = [&r = a](int i) { r += i; }; f(threadIdx.x);", "int a = n; asm(\"\" : \"+r\"(a));",
        "int a = n; a or_eq threadIdx.x;", "int a = n; *(bitand a) = 1;"}) {
    CAPTURE(body);
    CHECK(place_of_variable(std::string("int b;") + body + barrier + "x[0] = a;", "a") != Place::uniform);
  }
}

TEST_CASE("what follows from the thread's index is computed again") {
  const std::string barrier = "__syncthreads();";
  CHECK(place_of_variable("const int a = blockIdx.x * blockDim.x + threadIdx.x;" + barrier + "x[a] = 1;", "a") ==
        Place::recomputed);
  CHECK(place_of_variable("int t = threadIdx.x, a = t % 32 + n;" + barrier + "x[a] = 1;", "a") == Place::recomputed);
  for (const char* body : {"int a = threadIdx.x; a += 1;", "int a = 100 / threadIdx.x;", "int a = x[threadIdx.x];",
                           "int a = threadIdx.x; n += 1; int* p = &a;"}) {
    CAPTURE(body);
    CHECK(place_of_variable(body + barrier + "x[0] = a;", "a") != Place::recomputed);
  }
}

TEST_CASE("values live in arrays only where they outlive their piece") {
  const std::string text =
      split_kernel("float a = x[threadIdx.x], b = x[n]; x[m] = a; __syncthreads(); x[threadIdx.x] = b;");
  CHECK(has(text, "::weir_host::lanes<float > weir_lanes_b(weir_b);"));
  CHECK_FALSE(has(text, "weir_lanes_a"));
}

TEST_CASE("loops and branches on which threads agree stay what they are; others get a mask") {
  const std::string agreed = split_kernel("for (int i = 0; i < n; ++i) { if (i == m) break; __syncthreads(); }");
  CHECK(has(agreed, "if (!( i < n )) break;"));
  CHECK(has(agreed, "if ( i == m ) { break ; }"));
  CHECK_FALSE(has(agreed, "::weir_host::mask weir_"));
  const std::string differing = split_kernel("if (x[threadIdx.x] > 0) __syncwarp();");
  CHECK(has(differing, "weir_b.divide(weir_m, weir_then, weir_else,"));
}

TEST_CASE("a grid-stride loop looks at the first and the last thread alone where its bound is the same for all") {
  const std::string loop = "for (int i = threadIdx.x; i < limit; i += 64) x[i] = 1;";
  CHECK(has(split_kernel("const int limit = n * 2;" + loop), "weir_b.narrow_ascending("));
  CHECK(has(split_kernel("int limit = mine();" + loop), "weir_b.narrow("));
  CHECK(has(split_kernel("int limit = x[threadIdx.x];" + loop), "weir_b.narrow("));
  CHECK(has(split("__device__ void f(int* x, int limit) {" + loop + "__syncthreads(); }"), "weir_b.narrow("));
}

TEST_CASE("a loop over what a thread owns is found in each of its forms, and left alone where it would not be the same") {
  const std::string row = "blockIdx.x * blockDim.x + threadIdx.x";
  for (const std::string loop :
       {"int i = ROW; while (i < n) { x[i] = 1; i += m; }", "int i = ROW; for (; i < n; i += m) x[i] = 1;",
        "int i; for (i = ROW; i < n; i = i + m) x[i] = 1;", "for (auto i = ROW; i < n; i = m + i) x[i] = 1;",
        "for (int i = (int)(ROW); i < n; i += m) { if (x[i] > 0) continue; x[i] = 1; }",
        "int base = blockIdx.x * blockDim.x; for (int i = base + threadIdx.x; i < n; i += m) x[i] = 1;",
        "long k = ((long)blockIdx.x) * blockDim.x + threadIdx.x; for (int i = k; k < n; k += m, i = k) x[i] = 1;",
        "for (int r = 0; r < m; ++r) for (int i = ROW; i < n; i += m) x[i] = r;"}) {
    CAPTURE(loop);
    CHECK(has(split_kernel(std::regex_replace(loop, std::regex("ROW"), row)), "weir_b.narrow_ascending("));
  }
  for (const std::string loop : {"int i = threadIdx.x; while (i < n) { x[i] = 1; i += m; } x[0] = i;",
                                 "int i = threadIdx.x; const auto f = [&] { return i; }; for (; i < n; i += m) x[f()] = 1;",
                                 "int i = threadIdx.x; while (i < n) { const int s = m; x[i] = 1; i += s; }",
                                 "int i; for (i = threadIdx.x; i < n; i += m) x[i] = 1; x[i] = 2;",
                                 "for (int i = threadIdx.x; i < n; i += m) { if (x[i] > 0) break; }",
                                 "for (int i = threadIdx.x; i < n; i += m) { x[i] = 1; i += 2; }",
                                 "for (int i = threadIdx.x; i < n; i += m) { __typeof__(i) j = i; x[j++] = 1; }",
                                 "const auto s = 1.5f; for (int i = threadIdx.x; i < n; i += s) x[i] = 1;"}) {
    CAPTURE(loop);
    CHECK(split_kernel(loop).empty());
  }
  CHECK(has(split_kernel("for (int i = threadIdx.x; i < n; i += m) x[i] = 1;"), "+= weir_whole ( m )"));
  const std::string counted = "for (int i = threadIdx.x + first; i < n; i += m) { x[i] = 1; first += 1; }";
  CHECK(split("constexpr int first = 1; extern \"C\" __global__ void k(float* x, int n, int m) { int first = 2;" + counted +
              "}")
            .empty());
  CHECK(has(split_kernel("for (unsigned i = threadIdx.x - 5; i < n; i += m) x[i] = 1;"), "weir_b.narrow("));
  CHECK(has(split_kernel("for (int i = 2 * (threadIdx.x + 1); i < n; i += m) x[i] = 1;"), "weir_b.narrow("));
}

TEST_CASE("threads that may wait for each other run one after the other: they are not split for their loops") {
  const std::string loop = "for (int k = 0; k < n; ++k) x[k] += 1;";
  CHECK(!split_kernel(loop).empty());
  CHECK(split_kernel("while (atomicCAS((int*)x, 0, 1) != 0) {} " + loop + "atomicExch((int*)x, 0);").empty());
  const std::string reads = "__device__ int number(int* p) { return atomicAdd(p, 0); } ";
  CHECK(split(reads + "extern \"C\" __global__ void k(float* x, int* p, int n) { while (number(p) < n) {} " + loop + "}")
            .empty());
  CHECK(split(reads + "extern \"C\" __global__ void k(float* x, int* p, int n) { for (; number(p) < n;) {} " + loop + "}")
            .empty());
  for (const std::string wait :
       {"int seen = 0; while (seen < n) seen = atomicAdd((int*)x, 0);", "for (;;) if (atomicOr((int*)x, 1) == 0) break;",
        "while (x[0] == 0);", "do { n = atomicAdd((int*)x, 0); } while (n);"}) {
    CAPTURE(wait);
    CHECK(split_kernel(wait + loop).empty());
  }
  for (const std::string none :
       {"atomicAdd(x, 1.0f);", "int i = m; while (i < n) { m += atomicAdd((int*)x, 1); i += 1; }",
        "do { m -= 1; } while (x[m] > 0);", "for (int i = 0; i < n; ++i) m = atomicAdd((int*)x, 1);"}) {
    CAPTURE(none);
    CHECK(!split_kernel(none + loop).empty());
  }
}

TEST_CASE("threads are promised not to depend on each other where a thread's own order cannot suffer from it") {
  const auto promised = [](const std::string& body) {
    const std::string text = split(
        "__device__ float4* quads; extern \"C\" __global__ void k(float* x, float* y, int n) {"
        "__shared__ float s[64][2]; const int i = blockIdx.x * blockDim.x + threadIdx.x;"
        "const int row = blockIdx.y * blockDim.y + threadIdx.y; __syncthreads();" +
        body + "}");
    CHECK(has(text, "weir_b.run<"));
    return has(text, "weir_b.run<true>");
  };
  for (const std::string body :
       {"x[i] = y[i]; y[i] = x[i] + 1;", "x[row * n + i] = y[(row + 1) * n + (i - 1)]; y[(int)(i)] = x[i];",
        "x[i] = y[2 * i] + y[2 * i + 1];", "s[threadIdx.x][0] = x[2 * i]; s[threadIdx.x][1] = x[2 * i + 1];",
        "quads[i].x += y[i];"}) {
    CAPTURE(body);
    CHECK(promised(body));
  }
  std::string chain = "int v0 = i;";  // each names the one before it twice
  for (int k = 0; k < 64; ++k)
    chain += "int v" + std::to_string(k + 1) + " = v" + std::to_string(k) + " ^ v" + std::to_string(k) + ";";
  CHECK(!promised(chain + "x[v64] = 1; x[v64 + 1] = y[i];"));
  for (const std::string body :
       {"x[2 * i] = y[2 * i]; x[2 * i + 1] = y[2 * i];", "x[i] = 1; y[n - i] = 2;", "quads[i].x = x[i]; y[i] = quads[i].y;",
        "float* p = x + 2 * i; p[0] = y[i]; p[1] = y[i];", "x[2 * i] = y[2 * i + 1] = 1;",
        "for (int k = 0; k < 2; ++k) x[2 * i + k] = y[2 * i];", "*(x + 2 * i) = 1; x[i] = y[i];"}) {
    CAPTURE(body);
    CHECK(!promised(body));
  }
}

TEST_CASE("a loop of which all threads take the same turns is taken in step where neighbours use neighbouring elements") {
  const std::string index = "const int i = blockIdx.x * blockDim.x + threadIdx.x;";
  for (const std::string loop :
       {"float s = 0; for (int k = 0; k < n; ++k) s += x[k * m + i]; x[i] = s;",
        "float s = 0; for (int k = 0; k < n; ++k) s += x[k]; x[i] = s;",
        "if (i < m) { float s = 0; int k; for (k = 0; k < n; k++) { const int j = i + k; if (j < m) s += x[j]; } x[i] = s; "
        "}",
        "float s = 0; for (int k = 0; k < 1000; ++k) s += x[threadIdx.y * m + k] * x[(int)(k * m) + (i + 1)]; x[i] = s;"}) {
    CAPTURE(loop);
    CHECK(has(split_kernel(index + loop), "weir_lanes_s"));
  }
  for (const std::string loop :
       {"float s = 0; for (int k = 0; k < n; ++k) s += x[i * n + k]; x[i] = s;",  // far apart
        "float s = 0; for (int k = 0; k < n; ++k) s += x[k - i]; x[i] = s;",      // backwards
        "float s = 0; for (int k = 0; k < 8; ++k) s += x[k * m + i]; x[i] = s;",  // which the compiler unrolls
        "float s = 0; for (int k = 0; k < i; ++k) s += x[k]; x[i] = s;",          // of each thread's own length
        "float s = 0; for (int k = 0; k < n; ++k) { if (s > 9) break; s += x[k]; } x[i] = s;",
        "float s = 0; int j = i; for (int k = 0; k < n; ++k) { s += x[j]; j += m; } x[i] = s;",
        "float s = 0; for (int k = 0; k < n; ++k) atomicAdd(x + k, 1.0f); x[i] = s;"}) {
    CAPTURE(loop);
    CHECK(split_kernel(index + loop).empty());
  }
}

TEST_CASE("loops between meetings are taken in step, too, but not those of a few threads") {
  const auto split = [](const std::string& loop) {
    return split_kernel("__shared__ float s[64]; const int i = threadIdx.x; float sum = 0; s[i] = x[i]; __syncthreads(); " +
                        loop + " x[i] = sum;");
  };
  for (const std::string loop :
       {"for (int k = 0; k < n; ++k) sum += s[k];",
        "for (int k = 0; k < blockDim.x; ++k) { const float d = s[k] - m; sum += d * d; }",
        "do { __syncthreads(); for (int k = 0; k < m; ++k) sum += x[k * n + i]; } while (sum > 0);",
        "if (n > 3) for (int k = 0; k < m; ++k) sum += s[k];"}) {
    CAPTURE(loop);
    CHECK(has(split(loop), "for (;;"));
  }
  for (const std::string loop :
       {"for (int k = 0; k < 64; ++k) sum += s[k];", "for (int k = 0; k < s[0]; ++k) sum += s[k];",
        "for (int k = 0; k < n; ++k) sum += x[i * n + k];", "if (i < 3) for (int k = 0; k < n; ++k) sum += s[k];",
        "float a[4] = {}; for (int k = 0; k < n; ++k) sum += s[k] + a[k & 3];",
        "const float first = s[0]; for (int k = 0; k < first; ++k) sum += s[k];"}) {
    CAPTURE(loop);
    const std::string text = split(loop);
    CHECK(has(text, "for ("));
    CHECK(!has(text, "for (;;"));
  }
}

TEST_CASE("a condition of two sides is asked of a row's first and last thread where it is true for neighbours") {
  const std::string index =
      "const int i = blockIdx.x * blockDim.x + threadIdx.x; const unsigned j = blockIdx.y * blockDim.y + threadIdx.y; ";
  for (const std::string body :
       {"if (i > 0 && i < n - 1) x[i] = 1;", "if (i < 1 || n <= i) return; x[i] = 1;",
        "if (!(i < 1 || i + 1 >= n || j == 3)) { x[i] = 1; }", "if (i < n) { int k = (int)j * n; if (i >= m) x[i] = k; }",
        "if (i < m) return; if (j > 7) return; if (i > n) { return; } x[i] = 1;", "if (i < n && j < 9) x[i] = 1;",
        "const long k = i + 2; if ((k >= m) && (int(i) < n)) x[i] = 1;",
        "if (threadIdx.x > 3 && threadIdx.x < 9u) for (int k = 0; k < 3; ++k) x[i] += k;"}) {
    CAPTURE(body);
    CHECK(has(split_kernel(index + body), "weir_b.run_rows<"));
  }
  for (const std::string body :
       {"if (i < n && (i & 1) == 0) x[i] = 1;", "if (i > 0 && 2 * i < n) x[i] = 1;", "if (i > 0 || i < n - 1) x[i] = 1;",
        "if (i > 0 && x[i] < n) x[i] = 1;", "if (i > 0 && n - i > m) x[i] = 1;",
        "if (i > 0 && i < n) x[i] = 1; else x[i] = 2;", "const short k = i; if (k > 0 && k < n) x[i] = 1;",
        "int k = i; k *= 2; if (k > 0 && k < n) x[i] = 1;", "if (i > 0 && i < n) for (int k = 0; k < i; ++k) x[i] += k;",
        "if (i > 0 && i < n) atomicAdd(x + i, 1.0f);", "if (i < n) x[i] = 1;", "if (i > 0 && i < n) return;",
        "if (n != 0 && i < m / n && i > 2) x[i] = 1;",
        "if (n == 0) return; const int k = m % n; if (i > 0 && i < k) x[i] = 1;"}) {
    CAPTURE(body);
    CHECK(split_kernel(index + body).empty());
  }
  // What stands behind a condition that is the same along the row is asked where that is true.
  CHECK(has(split_kernel(index + "if (n < 9 && i < n * m && i > 0) x[i] = 1;"),
            "{ weir_end.closed = true; return; } weir_end.holds"));
}

TEST_CASE("blocks of a row run as one, but not tiles of two dimensions that no loop runs through") {
  const auto is_flat = [](const std::string& body) {
    const std::string text =
        "extern \"C\" __global__ void k(float* x, int n) { const int i = blockIdx.x * blockDim.x + threadIdx.x, j = "
        "blockIdx.y * blockDim.y" +
        body + "}";
    const TokenizedSource source = tokenize(text);
    return !split_functions(source).flat.empty();
  };
  CHECK(is_flat("; if (i > 0 && i < n) x[j * n + i] = 1;"));
  CHECK(!is_flat(" + threadIdx.y; if (i < n && j < n) x[i * n + j] = 1;"));
  CHECK(is_flat(" + threadIdx.y; float s = 0; for (int k = 0; k < n; ++k) s += x[k * n + i]; x[j * n + i] = s;"));
  CHECK(!is_flat("; if (i > 0 && i < n) x[j * n + threadIdx.x] = 1;"));
}

TEST_CASE("an unsigned index that counts along a row is told from one that may wrap around") {
  const std::string index = "const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y; ";
  for (const std::string body : {"x[j * n + i] = 1;", "const unsigned k = i + j * m; if (i < n) x[k] = 1;",
                                 "x[blockIdx.y * m + (int)threadIdx.x] = 1;", "x[(unsigned)(i - 1)] = 1;"}) {
    CAPTURE(body);
    const std::string text = split_kernel(index + body);
    CHECK(has(text, "::weir_host::along("));
    CHECK(has(text, "::weir_host::room_behind("));
  }
  CHECK(has(split_kernel(index + "x[(unsigned)(i + 0.5f)] = 1;"), "room_of_whole( i + 0.5f )"));
  for (const std::string body : {"if (i < n) x[i] = 1;", "x[i * 2] = 1;", "x[(int)j * n] = 1;",
                                 "x[(unsigned char)(i + 1)] = 1;", "const int k = i; x[(int)threadIdx.y * n + k] = 1;"}) {
    CAPTURE(body);
    CHECK(split_kernel(index + body).empty());
  }
}

TEST_CASE("a source without meetings is left alone, atomics included") {
  for (const char* text : {"extern \"C\" __global__ void k(int* x) { atomicAdd(x, 1); }", "int f() { return 1; }",
                           "// __syncthreads\nint x;"}) {
    const TokenizedSource source = tokenize(text);
    CHECK(split_functions(source).empty());
  }
}

TEST_CASE("a name that meant something outside of the function before it is declared") {
  const std::string text = split(
      "constexpr int outer = 7; extern \"C\" __global__ void k(int* x, int n) { x[threadIdx.x] = outer; "
      "int outer = n; __syncthreads(); x[threadIdx.x] += outer; }");
  CHECK(has(text, "int weir_1_outer = n"));
  CHECK(has(text, "= outer"));
}

TEST_CASE("objects whose life ends with the piece that makes them have no destructor") {
  const std::string guard = "struct Guard { int* p; ~Guard() { *p = 1; } }; extern \"C\" __global__ void k(int* x) {";
  const std::string check = "static_assert(__has_trivial_destructor(decltype(g))";
  CHECK(has(split(guard + "Guard g{x + threadIdx.x}; __syncthreads(); x[threadIdx.x] = 2; }"), check.c_str()));
  CHECK(!has(split(guard + "__syncthreads(); Guard g{x + threadIdx.x}; x[threadIdx.x] = 2; }"), check.c_str()));
  CHECK(!has(split(guard + "__syncthreads(); { Guard g{x + threadIdx.x}; } __syncthreads(); }"), check.c_str()));
}

TEST_CASE("lines and columns of the user's words are kept") {
  const std::string text =
      "# 7 \"a.cu\"\nextern \"C\" __global__ void k(int* x) {\n  __syncthreads();\n    x[0] = nobody;\n}";
  const TokenizedSource source = tokenize(text);
  const SplitSource result = split_functions(source);
  REQUIRE(result.replacements.size() == 1);
  CHECK(has(result.replacements[0].text, "# 9 \"a.cu\"\n"));
  CHECK(place_of(source, result.replacements[0].last - 1) == "a.cu:10");
}

TEST_CASE("a class that is defined where a variable is declared") {
  const auto parsed =
      parse("__shared__ union { int a; float b; } s; struct P { int x; } p = {1}, q; struct P r = {2}; enum { A, B };");
  REQUIRE(parsed.size() == 6);
  CHECK(parsed[0].is(Kind::type));
  CHECK(parsed[1].is(Kind::declaration));
  CHECK(parsed[1].is_shared());
  CHECK(parsed[2].is(Kind::type));
  CHECK(parsed[3].declarators.size() == 2);
  CHECK(parsed[4].is(Kind::declaration));
  CHECK(parsed[5].is(Kind::type));
  CHECK(place_of_variable("struct P p = {n}; p.v += threadIdx.x; __syncthreads(); x[0] = p.v;", "p") != Place::uniform);
}

TEST_CASE("statements that were written for warps in step read before they write") {
  const auto split_sum = split(
      "__device__ void last(volatile float* s, int t) { s[t] += s[t + 16]; s[t] = s[t] + 1; s[t] = 0; }\n"
      "extern \"C\" __global__ void k(float* x) { __shared__ float s[64]; if (threadIdx.x < 32) last(s, threadIdx.x); }");
  CHECK(has(split_sum, "weir_step_0"));
  CHECK(has(split_sum, "weir_step_1"));
  CHECK(!has(split_sum, "weir_step_2"));
  CHECK(!has(split("__device__ void last(float* s, int t) { s[t] += s[t + 16]; }"), "weir_step"));
  CHECK(!has(split("__device__ void last(volatile float* s, const float* y, int t) { s[t] += y[t]; }"), "weir_step"));
}

}  // namespace
}  // namespace weir::kernels
