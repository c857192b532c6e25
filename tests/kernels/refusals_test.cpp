// SPDX-License-Identifier: Apache-2.0
#include "kernels/split.hpp"
#include "kernels/words.hpp"
#include "tests/kernels/support.hpp"

/// What cannot be split is refused with the line and the reason.
namespace weir::kernels {
namespace {

using test::has;

// "line: reason", or nothing if the body of a kernel is taken.
std::string refusal_of_source(const std::string& text) {
  const std::string marked = "# 1 \"kernel.cu\"\n" + text;
  const TokenizedSource source = tokenize(marked);
  try {
    split_functions(source);
  } catch (const Refused& refused) {
    return (refused.token < source.tokens.size() ? std::to_string(source.tokens[refused.token].line) : "nowhere") + ": " +
           refused.what();
  }
  return "";
}
std::string refusal(const std::string& body, const std::string& before = "") {
  return refusal_of_source(before + "extern \"C\" __global__ void k(int* x, int n) {\n" + body + "\n}");
}

TEST_CASE("what is taken is not refused") {
  CHECK(refusal("__syncthreads();").empty());
  CHECK(refusal("x[0] = n ? 1 : 2; while (n--) __syncthreads();").empty());
  CHECK(refusal_of_source("void f() { switch (1) { case 1: goto end; } end:; }").empty());
  CHECK(refusal_of_source("extern \"C\" __global__ void k(int* x) { switch (1) { default: goto end; } end: x[0] = 1; }")
            .empty());
}

TEST_CASE("meetings in places that not every thread reaches alike") {
  CHECK(refusal("x[0] = n && __syncthreads_or(n);").empty());
  CHECK(refusal("x[0] = n ? __shfl_sync(~0u, n, 1) : 0;").empty());
  CHECK(refusal("if (f(1, n || __any_sync(~0u, n))) x[0] = 1;").empty());
  CHECK(refusal("if (f(n || 2, __any_sync(~0u, n)) || n) x[0] = 1;").empty());
  CHECK(refusal("for (int i = 0; i < n; i += __shfl_sync(~0u, i, 1)) x[i] = 1;").empty());
  CHECK(refusal("x[0] = g<1, 2>(n) * f<3, 4>(__shfl_sync(~0u, n, 1));").empty());
  CHECK(has(refusal("n ? __syncthreads() : f(), ++n;"), "2: '__syncthreads' behind ?:; write it with if and else"));
  CHECK(has(refusal("x[0] = n ? g(n) : 0;", "__device__ void g(int) { __syncthreads(); }\n"), "3: 'g' behind ?:"));
  CHECK(has(refusal("x[0] = n ? s.g() : 0;", "struct S { __device__ int g() { __syncthreads(); return 1; } };\n"),
            "3: 'g' behind ?:"));
  CHECK(has(refusal("x[0] = (n = 1, __shfl_sync(~0u, n, 1));"), "comma operator"));
  CHECK(refusal("switch (n) {\n case 1: __syncthreads(); }").empty());
  CHECK(refusal("switch (n) {\n case 1: __syncthreads();\n case 2: x[0] = 1; }").empty());
  CHECK(has(refusal("switch (n) {\n case 1: if (x[0]) break; __syncthreads(); }"),
            "3: a case that breaks off before its end"));
  CHECK(refusal("int a[2] = {1, 2};\nfor (int i : a) { __syncthreads(); x[i] = 0; }").empty());
  CHECK(has(refusal("\nfor (int i : {1, 2}) { __syncthreads(); x[i] = 0; }"),
            "3: '__syncthreads' inside a loop over a range"));
  CHECK(refusal("if (int y = x[0]) __syncthreads();").empty());
  CHECK(refusal("while (int y = x[0]) __syncthreads();").empty());
  CHECK(has(refusal("for (; int y = x[0];) __syncthreads();"), "2: a declaration in the condition"));
  CHECK(refusal("if (n * n) __syncthreads();").empty());
  CHECK(refusal("if (int y = 1; __any_sync(~0u, y)) x[0] = 1;").empty());
  CHECK(has(refusal("x[0] = 1 + (__syncthreads(), 2);"),
            "'__syncthreads' inside an expression; make it a statement of its own"));
  CHECK(has(refusal("if (n = 1, __any_sync(~0u, n)) x[0] = 1;"), "comma operator"));
  CHECK(has(refusal("int a[2] = {n++, __shfl_sync(~0u, n, 1)};"), "behind a change of a variable in a list"));
  CHECK(has(refusal("auto f = &__syncthreads;"), "can be called, and nothing else"));
}

TEST_CASE("conditions that are computed before what stands before them") {
  for (const char* body : {"int i = 1; x[0] = (i++, n > 1 ? __shfl_xor_sync(~0u, i, 1) : 0);",
                           "int j = 1; if ((j += 1, n > 0 && __any_sync(~0u, j == 64))) x[0] = 1;",
                           "int i = 1; while (i++, i < 5 && __any_sync(~0u, n >= 0)) x[i] = 1;"}) {
    CAPTURE(body);
    CHECK(has(refusal(body), "comma operator"));
  }
  for (const char* body : {"int i = 1; int a[2] = {i++, n > 1 ? __shfl_xor_sync(~0u, i, 1) : 0};",
                           "int i = 1; int a[2]{i++, n > 1 ? __shfl_xor_sync(~0u, i, 1) : 0};",
                           "int i = 1; Q q = Q{++i, i > 1000 || __any_sync(~0u, i == 32)};"}) {
    CAPTURE(body);
    CHECK(has(refusal(body), "behind a change of a variable in a list"));
  }
  CHECK(refusal("x[0] = f(n, n > 1 ? __shfl_xor_sync(~0u, n, 1) : 0);").empty());
}

TEST_CASE("choices between variables") {
  const std::string choice = "(n > 1 ? s[__shfl_xor_sync(~0u, n, 1)] : b)", before = "__shared__ int s[64]; int b = 5;\n";
  const std::string functions = "__device__ int own(int, int) { return 1; } __device__ int refers(int, int&) { return 1; } ";
  for (const std::string& body :
       {choice + " = n;", choice + "++;", "--" + choice + ";", "(" + choice + ") += 1;", "int& r = " + choice + ";",
        std::string("const int& r = n > 1 ? s[__shfl_xor_sync(~0u, n, 1)] : b;"), "int* p = &" + choice + ";",
        "int* p = (int*)&" + choice + ";", "int& r{" + choice + "};", "f" + choice + ";", "f(1, " + choice + ");",
        "Q q{1, " + choice + "};", choice + ".y = 2;", choice + ".y[1]++;", choice + ".y();",
        "x[0] = refers(1, " + choice + ");", "x[0] = s->own(" + choice + ");"}) {
    CAPTURE(body);
    CHECK(has(refusal(before + body, functions), "3: '__shfl_xor_sync' in a ?: that may choose between variables"));
  }
  for (const std::string& body :
       {"int r = " + choice + ";", "x[0] = 3 + " + choice + ";", "x[0] = f(1 + " + choice + ");",
        "x[0] = __any_sync(~0u, " + choice + ");", std::string("x[0] = b & (n ? __shfl_sync(~0u, n, 1) : b);"),
        std::string("x[0] = f(n ? __shfl_sync(~0u, n, 1) : b);"), "x[0] = max(" + choice + ", 1);",
        "x[0] = fmaxf(0, " + choice + ");", "x[0] = int(" + choice + ") + static_cast<int>(" + choice + ");",
        "x[0] = " + choice + ".y + " + choice + "[0];", "x[0] = own(1, " + choice + ");", "return;\nx[0] = -" + choice + ";",
        std::string("int a[2] = {n ? s[__any(n)] : b, 1};")}) {
    CAPTURE(body);
    CHECK(refusal(before + body, functions).empty());
  }
}

TEST_CASE("comparisons that look like template arguments") {
  CHECK(refusal("int q = n < 16 ? __shfl_sync(0xffffu, n, 3) : n >> 1;").empty());
  CHECK(refusal("int q = n >= 16 ? n < 20 : n > __shfl_sync(0xffffu, n, 3);").empty());
  CHECK(has(refusal("x[0] = f(n < 1, 2 > __shfl_sync(~0u, n, 3));"), "may be two comparisons"));
  CHECK(has(refusal("x[0] = n && f(threadIdx.x < 1, 2 > __shfl_sync(~0u, n, 3));"), "may be two comparisons"));
  CHECK(has(refusal("x[0] = n ?: __shfl_sync(~0u, n, 3);"), "2: this ?: is not understood"));
  CHECK(has(refusal("x[0] = n ? __shfl_sync(~0u, n, 3);"), "2: this ?: is not understood"));
}

TEST_CASE("lambdas in which threads meet") {
  CHECK(refusal("auto f = [&] { __syncthreads(); };\nf();").empty());
  CHECK(refusal("x[0] = [&](int v) { return __shfl_sync(~0u, v, 1); }(n);").empty());
  CHECK(
      has(refusal("auto f = [&] { __syncthreads(); };\ng(f);"), "3: the lambda 'f', in which threads meet, can be called"));
  CHECK(has(refusal("g([&] { __syncthreads(); });"), "2: '__syncthreads' inside a lambda that is handed on"));
  CHECK(has(refusal("auto f = [&](int v) { if (v) return 1; return __shfl_sync(~0u, v, 1); };\nx[0] = f(n);"),
            "2: a return before the end of the lambda 'f'"));
  CHECK(has(refusal("auto f = [&] { if (n) return;\n__syncthreads(); };\nf();"), "2: a return before the end"));
  CHECK(has(refusal("auto f = [&] { __syncthreads(); };\nx[0] = f();"), "whose last statement is no return"));
  CHECK(has(refusal("auto f = [&](int v) { return __shfl_sync(~0u, v + n, 1); };\n{ int n = 2; x[0] = f(1); }"),
            "3: the lambda 'f', in which threads meet, names 'n', of which there is another one where it is called"));
  CHECK(refusal("auto f = [&](int v) { int n = v; return __shfl_sync(~0u, n, 1); };\n{ int n = 2; x[0] = f(n); }").empty());
  CHECK(refusal("auto f = [&](int& v) { v = __shfl_sync(~0u, v, 1); };\nf(x[0]);").empty());
  CHECK(has(refusal("auto f = [&](int& v) { v = __shfl_sync(~0u, v, 1); };\nf(n + 1);"), "takes an argument by reference"));
  CHECK(has(refusal("auto f = [&](const auto& v) { n++; return __shfl_sync(~0u, v, 1); };\nx[0] = f(n > 1 ? n : x[0]);"),
            "3: the lambda 'f', in which threads meet, takes a choice by reference"));
  CHECK(has(refusal("auto f = [=] { return n; };\nn = 1;\n__syncthreads();\nx[0] = f();"),
            "2: the lambda 'f' is used behind a place where threads meet"));
  CHECK(has(refusal("auto f = [&](int v) { __syncthreads(); };\nf();"), "'f' takes 1 arguments, and 0 are given"));
  CHECK(has(refusal("auto f = [&](int v = 1) { __syncthreads(); };\nf(2);"), "a parameter of a lambda"));
  CHECK(has(refusal("auto f = [&](int v) { return __shfl_sync(~0u, v, 1); };\nx[0] = n ? f(1) : 2;"), "3: 'f' behind ?:"));
  CHECK(has(refusal("auto f = [&]() -> int& { __syncthreads(); return x[0]; };\nf();"), "returns a reference"));
  CHECK(refusal("auto f = [&](const float& v) { return __shfl_sync(~0u, v, 1) / 2; };\nfloat r = f(n);").empty());
  CHECK(has(refusal("auto f = [&](const int& v) { n++; return __shfl_sync(~0u, v, 1); };\nx[0] = f(n);"),
            "3: the lambda 'f', in which threads meet, takes 'n' by reference and names it itself"));
  CHECK(has(refusal("auto f = [&](const int& v) { g(&v); return __shfl_sync(~0u, v, 1); };\nx[0] = f(n);"),
            "3: the lambda 'f'"));
  CHECK(has(refusal("auto f = [&](float&& v) { return __shfl_sync(~0u, v, 1); };\nx[0] = f(n);"),
            "3: the lambda 'f'"));
  CHECK(has(refusal("int a[2];\nauto f = [=](int v) { return __shfl_sync(~0u, v, 1) + a[0]; };\nx[0] = f(n);"),
            "3: a lambda in which threads meet captures the array 'a' by value"));
  CHECK(refusal("int i = 7;\nauto f = [&](int y) { for (int i = 0; i < 3; i++) y += __any_sync(~0u, y); return y + i; };"
                "\nx[0] = f(n);").empty());
  // Another one of that name, in which nobody meets.
  CHECK(refusal("{ auto f = [&] { __syncthreads(); }; f(); }\n{ auto f = [&](int v) { if (v) return 1; return 2; };"
                "x[0] = f(n); }").empty());
}

TEST_CASE("jumps that are not structured") {
  CHECK(has(refusal("__syncthreads();\nif (n) goto end;\nx[0] = 1;\nend: x[1] = 1;"), "3: 'goto'"));
  CHECK(has(refusal("__syncthreads();\nend: x[1] = 1;"), "3: a label"));
  CHECK(has(refusal("__syncthreads(); try { x[0] = 1; } catch (...) {}"), "'try'"));
}

TEST_CASE("wrong numbers of arguments") {
  CHECK(has(refusal("__syncthreads(1);"), "'__syncthreads' takes 0 arguments, and 1 are given"));
  CHECK(has(refusal("x[0] = __shfl_sync(1, 2);"), "'__shfl_sync' takes 3 to 4 arguments, and 2 are given"));
  CHECK(
      has(refusal("f();", "__device__ void f(int a) { __syncthreads(); }\n"), "3: 'f' takes 1 arguments, and 0 are given"));
}

TEST_CASE("what is no C++ is refused and nothing worse") {
  CHECK(has(refusal("__syncthreads(); if (n)"), "a statement was expected"));
  CHECK(has(refusal("x[0] = __shfl_sync(1, , 2);"), "2: an argument of '__shfl_sync' is missing"));
  CHECK(has(refusal("for (int i = 0; i < n; ++i, ) __syncthreads();"), "head of a for loop"));
  CHECK_NOTHROW(refusal("__syncthreads(); ::;"));
  CHECK_NOTHROW(refusal("__syncthreads("));
}

TEST_CASE("functions that cannot be split") {
  CHECK(refusal_of_source("struct S {\n __device__ void f() { __syncthreads(); } };").empty());
  for (const char* member : {"__device__ S() { __syncthreads(); }", "__device__ void operator()(int) { __syncthreads(); }",
                             "virtual __device__ void f() { __syncthreads(); }", "void f() { __syncthreads(); }",
                             "int a = __syncthreads_count(1);", "__device__ S(int x) : a(x) { __syncthreads(); } int a;"}) {
    CAPTURE(member);
    CHECK(has(refusal_of_source("struct S {\n" + std::string(member) + " };"), "2: '__syncthreads"));
    CHECK(has(refusal_of_source("struct S {\n" + std::string(member) + " };"), "no plain __device__ member function"));
  }
  CHECK(has(refusal_of_source("struct S { __device__ void f(); };\n__device__ void S::f() { __syncthreads(); }"),
            "2: threads of a block work together in the member function 'f', which is defined outside of its class"));
  CHECK(has(refusal("f();", "struct S { __device__ void g() { __syncthreads(); } };\n__device__ void f() { S::g(); }\n"),
            "'g' is called without an object"));
  CHECK(has(refusal("S s; s.f();", "struct S { __device__ void f() { __syncthreads(); f(); } };\n"),
            "1: threads of a block work together in 'f', which calls itself"));
  CHECK(has(
      refusal_of_source("#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\nstruct S { __device__ void "
                        "sync() { __syncthreads(); } };"),
      "3: threads of a block work together in the member function 'sync', whose name"));
  CHECK(has(refusal("f(1);", "__device__ void f(int a) { __syncthreads(); if (a) f(a - 1); }\n"),
            "1: threads of a block work together in 'f', which calls itself"));
  CHECK(has(refusal("f(n + 1);", "__device__ void f(int& a) { __syncthreads(); a = 1; }\n"),
            "by reference: give it a variable"));
  CHECK(has(refusal("auto g = [](int i) { return i; };\nf(g);",
                    "template <class F> __device__ void f(F&& g) { __syncthreads(); F own = g; own(1); }\n"),
            "4: 'f' takes this argument by reference: give it a variable"));
}

TEST_CASE("specializations of templates of functions are overloads, unless a call could tell") {
  const std::string both =
      "template <class T> __device__ T f(T v) { return __shfl_xor_sync(~0u, v, 1); }\n"
      "template <> __device__ float f<float>(float v) { return v; }\n";
  CHECK(refusal("x[0] = f(n) + f(1.0f);", both).empty());
  CHECK(has(refusal("x[0] = f<float>(n);", both), "2: threads of a block work together in 'f'"));
  const std::string between =
      "template <class T> __device__ T f(T v) { return __shfl_xor_sync(~0u, v, 1); }\n"
      "template <class T> __device__ T g(T v) { return f(v); }\n"
      "template <> __device__ float f<float>(float v) { return v; }\n";
  CHECK(has(refusal("x[0] = g(1.0f);", between), "3: threads of a block work together in 'f'"));
  CHECK(refusal("x[0] = f(n) + f(1.0f);",
                "template <class T> __device__ T f(T v);\n"
                "template <> __device__ int f(int v) { return __shfl_xor_sync(~0u, v, 1); }\n"
                "template <> __device__ float f(float v) { return v; }\n")
            .empty());
}

TEST_CASE("two ways to a variable that a function takes by reference") {
  const std::string view = "__device__ int f(const int& a, int* b) { *b += 1; __syncthreads(); return a; }\n";
  CHECK(refusal("int a = n, b = 1; x[0] = f(a, &b);", view).empty());
  CHECK(refusal("int a[2] = {n}, b[2] = {1}; x[0] = f(a[0], b);", view).empty());
  for (const char* body : {"int a = n;\nx[0] = f(a, &a);", "int a[2] = {n};\nx[0] = f(a[0], a);",
                           "int a = n, *p = &a;\nx[0] = f(a, p);", "int a = n, *p;\np = &a; x[0] = f(a, p);"}) {
    CAPTURE(body);
    CHECK(has(refusal(body, view), "4: 'f' takes 'a' by reference, and another argument reaches it, too"));
  }
  const std::string change = "__device__ void f(int& a, int& b) { a += 1; __syncthreads(); b += 1; }\n";
  CHECK(refusal("int a = n, b = 1; f(a, b);", change).empty());
  CHECK(has(refusal("int a = n;\nf(a, a);", change), "4: 'f' takes 'a' by reference"));
  CHECK(refusal("int a[2] = {n};\nf(a[0], a[1]); f(x[0], x[1]);", change).empty());
  CHECK(has(refusal("int a = n, b = 1;\nf(a, x[0]); f(a, a);", change), "4: 'f' takes 'a' by reference"));
  const std::string put =
      "template <class T> __device__ void put(T& o, const T& x) { o += __shfl_xor_sync(~0u, x, 1) + x; }\n";
  CHECK(refusal("int a = n; put(a, a + 1); x[0] = a;", put).empty());
  CHECK(has(refusal("int a = n;\nput(a, a);", put), "'put' takes 'a' by reference"));
}

TEST_CASE("what two calls of one lambda declare, and an array that a function reads and writes") {
  CHECK(refusal(
            "auto f = [&](int v) { for (int i = 0; i < 3; i++) v += __any_sync(~0u, v); return v; };\nx[0] = f(1) + f(n);\n"
            "x[1] = f(2);")
            .empty());
  CHECK(refusal("int a[2] = {n, 1}; f(a, a); x[0] = a[0];",
                "__device__ void f(int (&in)[2], int (&out)[2]) { __syncthreads(); out[0] = in[1]; }\n").empty());
}

TEST_CASE("a class inside of a lambda that is called twice") {
  const std::string lambda = "auto f = [&](int v) { struct P { int a; } p{v}; return __any_sync(~0u, p.a); };\n";
  CHECK(refusal(lambda + "x[0] = f(1);").empty());
  CHECK(has(refusal(lambda + "x[0] = f(1) + f(2);"), "a class inside of the lambda 'f'"));
}

TEST_CASE("a function of a namespace calls one of the same name outside of it") {
  CHECK(refusal("x[0] = my::max(n);",
                "namespace my { __device__ int max(int x) { return ::max(x, __shfl_xor_sync(~0u, x, 1)); } }\n")
            .empty());
}

TEST_CASE("a meeting behind a change of a variable in the same expression") {
  CHECK(refusal("int i = 0; x[i++] = __shfl_sync(~0u, n, 1);").empty());
  CHECK(refusal("n = __shfl_sync(~0u, n, 1); n += __shfl_sync(~0u, n, 1);").empty());
  CHECK(refusal("x[n++] = __shfl_sync(~0u, n, 1); n += x[n]++ + __shfl_sync(~0u, n, 1);").empty());
  const std::string stack =
      "struct Stack { int v[4], n, top; __device__ int push() { return v[n++] + __shfl_sync(~0u, top, 1); } };\n";
  CHECK(refusal("Stack s{}, *p = &s; n = s.n++ + __shfl_sync(~0u, s.top, 1) + p->n++ + __shfl_sync(~0u, p->v[1], 1);\n"
                "s.push();",
                stack)
            .empty());
  for (const char* other : {"s", "s.n", "s.get()"}) {
    CAPTURE(other);
    CHECK(has(refusal("Stack s{};\nn = s.n++ + __shfl_sync(~0u, " + std::string(other) + ", 1);", stack),
              "behind a change of 's' in the same expression"));
  }
  for (const char* expression : {"n++ << __shfl_sync(~0u, n, 1)", "(n = 1) + __shfl_sync(~0u, n, 1)",
                                 "x[--n] + (x[0] && __any_sync(~0u, n))"}) {
    CAPTURE(expression);
    CHECK(has(refusal("int q = " + std::string(expression) + ";"), "behind a change of 'n' in the same expression"));
  }
}

TEST_CASE("what has another form where threads meet") {
  CHECK(has(refusal("f({n, 1});", "struct P { int a, b; };\n__device__ void f(P p) { __syncthreads(); }\n"),
            "4: a list in braces for a function in which threads meet"));
  CHECK(has(refusal("switch (n) {\ncase 1 ... 5: __syncthreads(); }"), "3: a range of cases in a switch"));
}

TEST_CASE("variables that cannot live across a meeting") {
  CHECK(refusal("auto [a, b] = pair(n);\n__syncthreads();\nx[0] = a;").empty());
  CHECK(has(refusal("auto&& [a, b] = pair(n);\n__syncthreads();\nx[0] = a;"), "2: a structured binding"));
  CHECK(has(refusal("static int a = 1;\n__syncthreads();\nx[0] = a;"), "2: the static variable 'a'"));
  CHECK(has(refusal("int a[] = {1, 2};\na[0] = n;\n__syncthreads();\nx[0] = a[0];"), "2: the array 'a'"));
  CHECK(has(refusal("decltype(n) a = x[1];\n__syncthreads();\nx[0] = a;"), "decltype"));
  CHECK(has(refusal("__shared__ int a = 1;\n__syncthreads();"), "2: the shared variable 'a' has an initializer"));
  CHECK(has(refusal("extern __shared__ int a;\n__syncthreads();"), "must be declared as an array"));
  for (const char* several :
       {"int (*p)[2] = f(n), *q = x;", "int *q = x, (*p)[2] = f(n);", "int (&p)[2] = f(n), (&q)[3] = r;"}) {
    CAPTURE(several);
    CHECK(has(refusal("n = 1;\n" + std::string(several) + "\n__syncthreads();\nx[0] = p[0][0];"),
              "3: a pointer or reference to an array, or to a function, in a declaration of several variables"));
  }
  CHECK(has(refusal("int threadIdx = 1;\n__syncthreads();"), "a variable named threadIdx"));
}

}  // namespace
}  // namespace weir::kernels
