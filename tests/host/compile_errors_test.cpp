// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <signal.h>

#include <filesystem>
#include <fstream>

#include "backends/host/compile/compiler.hpp"
#include "core/base/temporary_folder.hpp"
#include "tests/host/support.hpp"

/// Tests the errors of Device::compile.
namespace weir::test {
namespace {

TEST_CASE("the compiler's message comes with the user's name and line") {
  CompileOptions options;
  options.name = "filters/blur.cu";
  const Error error = compile_error(
      "#define SCALE 2\n\nextern \"C\" __global__ void k(float* x) {\n  x[0] = SCALE * unknown_name;\n}\n", options);
  CHECK(error.errc() == Errc::compilation_failed);
  CHECK(has(error.what(), "filters/blur.cu did not compile with /"));
  CHECK(has(error.what(), "filters/blur.cu:4:18: error:"));
  CHECK(has(error.what(), "unknown_name"));
  CHECK(has(error.what(), "    4 |   x[0] = SCALE * unknown_name;\n      |                  ^"));
  CHECK(error.object() == "host:0");
}

TEST_CASE("one mistake is one error, at the user's line and column") {
  const auto says = [](const std::string& source, const std::string& place) {
    const std::string text = compile_error(source).what();
    CAPTURE(text);
    CHECK(has(text, place));
    const std::size_t first = text.find(": error: ");
    CHECK(first != text.npos);
    CHECK(text.find(": error: ", first + 1) == text.npos);
    for (const char* const own : {"_Pragma", "weir_kernel_", "weir_record", "weir_host::rules", "<generated>"})
      CHECK_FALSE(has(text, own));
    for (std::size_t at = 0; at < text.size(); at = std::min(text.find('\n', at), text.size()) + 1)
      CHECK(std::min(text.find('\n', at), text.size()) - at < 400);
  };
  says("garbage", "kernel.cu:1:1: error: ");
  says("extern \"C\" __global__ void k(int* x) {  x[0] = y; }",
       "    1 | extern \"C\" __global__ void k(int* x) {  x[0] = y; }\n"
       "      |                                                ^");
  says("#define TWICE(v) ((v) + (v))\n__global__ void k(int* x) { /* here */ x[0] = TWICE(1); y = 2; }",
       "kernel.cu:2:57: error: ");
  says("#define TWICE(v) ((v) + (u))\n__global__ void k(int* x) { x[0] = TWICE(1); x[1] = 2; }", "kernel.cu:2:36: error: ");
  says("int nothing(foo x);\n__global__ void k(int* x) { x[0] = 1; }\n__global__ void l() {}", "kernel.cu:1:13: error: ");
  says("__global__ void k(float* x) { x[0] = sinf(\"a\"); }", "kernel.cu:1:");
  says("template <class T> __global__ void k(T* x) { x->y = 1; }\ntemplate __global__ void k<float>(float*);",
       "kernel.cu:1:");
  says("__global__ void l() {}\n__device__ void f() {  __global__ void k(); }", "kernel.cu:2:24: error: ");
}

TEST_CASE("a compiler finds its assembler and linker in a process without PATH") {
  const std::string compiler = std::filesystem::canonical("/usr/bin/c++").string();
  const Variable chosen("WEIR_HOST_CXX",
                        ::getenv("WEIR_HOST_CXX") != nullptr ? ::getenv("WEIR_HOST_CXX") : compiler.c_str());
  const Variable none("PATH", nullptr);
  CHECK_NOTHROW(host().compile("extern \"C\" __global__ void compiled_without_path() {}"));
}

TEST_CASE("one that does not find them is no compiler, and the message says where it looked") {
  for (const char* complaint : {"g++: fatal error: cannot execute 'as': execvp: No such file or directory",
                                "collect2: fatal error: cannot find 'ld'",
                                "clang: error: unable to execute command: Executable \"ld\" doesn't exist!"}) {
    CAPTURE(complaint);
    const detail::TemporaryFolder folder;
    const std::string path = folder.path() + "/c++";
    std::ofstream(path) << "#!/bin/sh\n[ \"$1\" = --version ] && echo lame 1 && exit 0\ncat <<'END'\n"
                        << complaint << "\nEND\nexit 1\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    const Variable chosen("WEIR_HOST_CXX", path.c_str());
    const Error error = compile_error("extern \"C\" __global__ void k() {}");
    CHECK(error.errc() == Errc::compiler_not_found);
    CHECK(has(error.what(), complaint));
    CHECK(has(error.what(), "PATH=" + folder.path() + ":"));
    CHECK(has(error.what(), "WEIR_HOST_CXX"));
  }
}

TEST_CASE("any name will do") {
  for (const char* name : {"/nosuch/a.cu", "../a.cu", "a \"quoted\" name\\.cu", "<kernel>", "", "a/", "ünïcode.cu"}) {
    CAPTURE(name);
    CompileOptions options;
    options.name = name;
    CHECK_NOTHROW(host().compile("extern \"C\" __global__ void k() {}", options));
    CHECK(has(compile_error("\nint x = unknown_name;", options).what(), ":2:"));
  }
  CompileOptions options;
  options.name = "two\nlines";
  CHECK(compile_error("", options).errc() == Errc::invalid_argument);
}

TEST_CASE("a header's mistake is told by the header's name") {
  const detail::TemporaryFolder folder;
  std::ofstream(folder.path() + "/broken.h") << "\nint x = unknown_name;\n";
  CompileOptions options;
  options.include_directories = {folder.path()};
  CHECK(has(compile_error("#include \"broken.h\"\n", options).what(), folder.path() + "/broken.h:2:"));
  CHECK(has(compile_error("#include \"absent.h\"\n", options).what(), "absent.h"));
  CHECK(has(compile_error("\n#error not for the host\n").what(), "kernel.cu:2:"));
}

TEST_CASE("a function that is nowhere is found out when compiling") {
  const Error error =
      compile_error("__device__ int absent(int); extern \"C\" __global__ void k(int* x) { *x = absent(1); }");
  CHECK(error.errc() == Errc::compilation_failed);
  CHECK(has(error.what(), "absent(int)"));
}

TEST_CASE("a kernel's signature is checked in the user's words") {
  const auto says = [](const char* source, const char* text) {
    const Error error = compile_error(source);
    CHECK(error.errc() == Errc::compilation_failed);
    CAPTURE(error.what());
    CHECK(has(error.what(), "kernel.cu:2:"));
    CHECK(has(error.what(), text));
    CHECK_FALSE(has(error.what(), "<weir prelude>"));
  };
  says("\nextern \"C\" __global__ int k() { return 1; }", " void");
  says("\nextern \"C\" __global__ void k(int& x) { x = 1; }", "not by reference");
  says("struct S { S(const S&); };\nextern \"C\" __global__ void k(S s) {}", "trivially copyable");
  says("\nextern \"C\" __global__ void k(int* x) { throw 1; }", "throw");
}

TEST_CASE("a header for compilers that know no kernels does not take the keywords away") {
  const std::string kernel = "__global__ void k(int* x) { __shared__ int s[2]; s[0] = 1; x[0] = s[0]; }";
  const Error error = compile_error("#define __shared__\n" + kernel);
  CHECK(has(error.what(), "the source defines the keyword '__shared__' as a macro"));
  CHECK_NOTHROW(host().compile("#if !defined(__CUDACC__) && !defined(__HIPCC__)\n#define __shared__\n#endif\n" + kernel));
}

TEST_CASE("no header of a CUDA toolkit is read, wherever it lies") {
  const detail::TemporaryFolder toolkit;
  std::filesystem::create_directories(toolkit.path() + "/cooperative_groups");
  for (const char* const name : {"cuda_fp16.h", "cuda_bf16.h", "cuda_runtime.h", "device_launch_parameters.h", "mma.h",
                                 "cooperative_groups.h", "cooperative_groups/reduce.h", "math_constants.h"}) {
    std::ofstream(toolkit.path() + "/" + name) << "#error a toolkit's own header\n";
  }
  CompileOptions options;
  options.include_directories = {toolkit.path()};
  CHECK_NOTHROW(
      host().compile("#include <cuda_runtime.h>\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
                     "#include <device_launch_parameters.h>\n#include <cooperative_groups.h>\n"
                     "#include <cooperative_groups/reduce.h>\n#include <math_constants.h>\n"
                     "__global__ void k(float* x) { x[0] = CUDART_PI_F; }",
                     options));
  CHECK(has(compile_error("#include <mma.h>\n", options).what(), "Weir has nothing of this header for the CPU"));
}

TEST_CASE("numbers in braces that would lose something compile, as with CUDA's compilers") {
  CHECK_NOTHROW(
      host().compile("__constant__ int c[2] = {0.0, 1.5};\n"
                     "__global__ void k(int* x, float f) { int a[1] = {f}; x[0] = a[0] + c[1]; }"));
}

TEST_CASE("what cannot be split into loops compiles all the same, and words in comments are none") {
  CHECK_NOTHROW(host().compile("extern \"C\" __global__ void k(int* x) {\n  __syncthreads();\n  goto end;\nend:;\n}"));
  CHECK_NOTHROW(
      host().compile("#ifdef NEVER\nswitch __syncthreads\n#endif\n// __syncthreads()\nextern \"C\" __global__ void k() {}"));
}

TEST_CASE("headers and types that only GPUs have are refused, and the error says what to do") {
  const auto message = [](const char* source) { return std::string(compile_error(source).what()); };
  const auto of_header = [&](const std::string& header) {
    return message(("#include <" + header + ">\n__global__ void k() {}").c_str());
  };
  for (const char* const header : {"thrust/sort.h", "cuda/std/limits", "cuda/barrier"}) {
    CHECK(has(of_header(header), "Weir has no <thrust/...>"));
  }
  CHECK(has(of_header("cub/device/device_scan.cuh"), "Weir has of CUB only BlockReduce"));
  CHECK(has(message("#include <cub/cub.cuh>\n__global__ void k() { cub::BlockRadixSort<int, 64, 2> sort; }"),
            "Weir has of CUB only BlockReduce"));
  CHECK(has(of_header("cuda_fp4.h"), "Weir has nothing of this header for the CPU"));
  const auto is_installed = [](const char* folder) { return std::filesystem::exists(std::string(folder) + "/mma.h"); };
  if (!is_installed("/usr/include") && !is_installed("/usr/local/include")) {
    CHECK_NOTHROW(
        host().compile("#if __has_include(<cuda_fp4.h>) || __has_include(<mma.h>) || !__has_include(<cuda_fp16.h>)\n"
                       "#error no\n#endif\n__global__ void k() {}"));
  }
  CHECK(has(message("__global__ void k(cudaTextureObject_t) {}"), "Weir has no textures"));
  CHECK(
      has(message("__global__ void k(int* x) { *x = __isConstant(x); }"), "no address shows that it is in constant memory"));
  CHECK_FALSE(has(message("#include <nothing.h>\n__global__ void k() {}"), "Weir has no"));
}

TEST_CASE("a shared variable larger than a block's shared memory is refused") {
  const auto kernel = [](std::size_t bytes) {
    return fmt::format("__global__ void k(int* x) {{ __shared__ int s[{}]; s[*x] = *x; __syncthreads(); *x = s[7]; }}",
                       bytes / 4);
  };
  const std::size_t most = host().properties().shared_memory_per_block_optin;
  const Error error = compile_error(kernel(most + 4).c_str());
  CHECK(error.errc() == Errc::compilation_failed);
  CAPTURE(error.what());
  CHECK(has(error.what(), "s' has 232452 bytes, but a block has at most 232448"));
  CHECK_NOTHROW(host().compile(kernel(most)));
}

TEST_CASE("shared variables of a kernel that are too large together are refused where the pass adds them up") {
  const auto kernel = [](std::size_t bytes) {
    return fmt::format("__device__ void f(int* x) {{ __shared__ int s[30000]; s[*x] = 1; __syncthreads(); *x = s[7]; }}"
                       "__global__ void k(int* x) {{ __shared__ int s[{}]; s[*x] = *x; __syncthreads(); f(x); *x += s[7]; }}"
                       "__global__ void l(int* x) {{ __shared__ int s[30000]; s[*x] = *x; __syncthreads(); *x = s[7]; }}",
                       bytes / 4);
  };
  const std::size_t rest = host().properties().shared_memory_per_block_optin - 120000;
  const ModulePtr module = host().compile(kernel(rest));
  if (module->untyped_kernel("k")->properties().tier == "fibers") return;
  const Error error = compile_error(kernel(rest + 4).c_str());
  CHECK(error.errc() == Errc::compilation_failed);
  CAPTURE(error.what());
  CHECK(has(error.what(), "the __shared__ variables of 'k(int*)' have 232452 bytes, but a block has at most 232448"));
}

TEST_CASE("shared variables that are too large together are refused on fibers, if there is one kernel") {
  const auto kernel = [](std::size_t bytes) {
    return fmt::format(
        "__device__ int f(int* x) {{ __shared__ int s[30000]; s[*x] = 1; __syncthreads(); return s[7]; }}"
        "__global__ void k(int* x) {{ __shared__ int s[{}]; s[*x] = *x; __syncthreads(); *x = f(x) + s[7]; }}",
        bytes / 4);
  };
  const Variable tier("WEIR_HOST_TIER", "fibers");
  const std::size_t rest = host().properties().shared_memory_per_block_optin - 120000;
  CHECK_NOTHROW(host().compile(kernel(rest)));
  CHECK(has(compile_error(kernel(rest + 4).c_str()).what(), "have 232452 bytes, but a block has at most 232448"));
  CHECK_NOTHROW(host().compile(kernel(rest + 4) + "__global__ void l() {}"));
}

TEST_CASE("shared variables that are too large together are refused on fibers, if one of several kernels declares them") {
  const auto kernels = [](const std::string& name, std::size_t bytes) {
    return fmt::format(
        "__global__ void {}(int* x) {{ __shared__ int s[30000], t[{}]; "
        "s[*x] = t[x[1]] = *x; __syncthreads(); *x = s[7] + t[7]; }}",
        name, bytes / 4);
  };
  const Variable tier("WEIR_HOST_TIER", "fibers");
  const std::size_t rest = host().properties().shared_memory_per_block_optin - 120000;
  CHECK_NOTHROW(host().compile(kernels("k", rest) + kernels("l", rest)));
  const Error error = compile_error((kernels("k", rest) + kernels("l", rest + 4)).c_str());
  CAPTURE(error.what());
  CHECK(has(error.what(), "the __shared__ variables of 'l(int*)' have 232452 bytes, but a block has at most 232448"));
}

TEST_CASE("inline assembly is refused, and the error says whose it is") {
  const Error error =
      compile_error("extern \"C\" __global__ void k(int* x) { asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(*x)); }");
  CHECK(error.errc() == Errc::compilation_failed);
  CAPTURE(error.what());
  CHECK(has(error.what(), "inline assembly works only on GPUs"));
  CHECK(has(error.what(), "kernel.cu:1"));
  CHECK_FALSE(has(error.what(), "module.s"));
}

TEST_CASE("a line number of two thousand million costs no memory") {
  CHECK(has(compile_error("#line 2000000000 \"kernel.cu\"\nint x = unknown_name;").what(), "unknown_name"));
}

TEST_CASE("WEIR_HOST_TIER takes one of two words, and 'pass' a compiler that has the pass") {
  for (const char* word : {"fast", "split", ""}) {
    const Variable tier("WEIR_HOST_TIER", word);
    CHECK(compile_error("extern \"C\" __global__ void k() {}").errc() == Errc::invalid_environment);
  }
  const detail::TemporaryFolder folder;
  const std::string path = folder.path() + "/c++";
  const Variable tier("WEIR_HOST_TIER", "pass"), chosen("WEIR_HOST_CXX", path.c_str());
  for (const auto& [version, lacks] : {std::pair("clang version 99.1", "weir_workgroup-99.so is not in /"),
                                       std::pair("g++ 12 Free Software Foundation", "it is not Clang 16 or later")}) {
    std::ofstream(path) << "#!/bin/sh\necho " << version << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    const Error error = compile_error("extern \"C\" __global__ void k() {}");
    CAPTURE(error.what());
    CHECK(error.errc() == Errc::invalid_environment);
    CHECK(has(error.what(), lacks));
    CHECK(has(error.what(), "WEIR_HOST_CXX"));
  }
}

TEST_CASE("what is wrong in a kernel whose threads work together is told with the user's names and lines") {
  const Error error = compile_error(
      "extern \"C\" __global__ void k(int* x) {\n  __shared__ int s[32];\n  __syncthreads();\n  x[0] = undeclared;\n}");
  CHECK(error.errc() == Errc::compilation_failed);
  CAPTURE(error.what());
  CHECK(has(error.what(), "kernel.cu:4:"));
  CHECK(has(error.what(), "undeclared"));
}

TEST_CASE("options that cannot be honoured are invalid arguments") {
  const auto extra = [](std::vector<std::string> options) {
    CompileOptions all;
    all.extra = std::move(options);
    return all;
  };
  CHECK(compile_error("", extra({"-o", "x"})).errc() == Errc::invalid_argument);
  const Error unknown = compile_error("", extra({"--no-such-option-at-all"}));
  CHECK(unknown.errc() == Errc::compilation_failed);
  CHECK(has(unknown.what(), "no-such-option-at-all"));
  CHECK_NOTHROW(host().compile("extern \"C\" __global__ void k() {}\n#ifndef GIVEN\n#error missing\n#endif",
                               extra({"-DGIVEN", "-O1"})));
}

TEST_CASE("without a compiler the error says what was tried") {
  const Variable chosen("WEIR_HOST_CXX", "/nosuch/compiler");
  const Error error = compile_error("extern \"C\" __global__ void k() {}");
  CHECK(error.errc() == Errc::compiler_not_found);
  CHECK(has(error.what(), "/nosuch/compiler"));
}

TEST_CASE("without a place for temporary files the error names it") {
  const Variable place("TMPDIR", "/nosuch/folder");
  const Error error = compile_error("extern \"C\" __global__ void never_compiled_before() {}");
  CHECK(error.errc() == Errc::backend_failure);
  CHECK(has(error.what(), "/nosuch/folder"));
  CHECK(has(error.what(), "TMPDIR"));
}

TEST_CASE("a compiler that is killed, and one that writes nothing") {
  const detail::TemporaryFolder folder;
  const std::string path = folder.path() + "/c++";
  const Variable chosen("WEIR_HOST_CXX", path.c_str());
  const auto program = [&](const char* action) {
    std::ofstream(path) << "#!/bin/sh\n[ \"$1\" = --version ] && { echo c++ 1; exit; }\n" << action << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  };
  program("kill -9 $$");
  CHECK(has(compile_error("int a;").what(), "ended by signal 9"));
  program("exit 0");
  CHECK(has(compile_error("int b;").what(), "wrote nothing"));
}

TEST_CASE("a compilation that takes too long at -O3 is made at -O2") {
  const std::string real = host::find_compiler().path;
  const detail::TemporaryFolder folder;
  const std::string path = folder.path() + "/c++", log = folder.path() + "/log";
  const Variable chosen("WEIR_HOST_CXX", path.c_str());
  // As GCC says it, whose driver outlives the compiler, and as Clang does.
  for (const char* end : {"echo 'c++: fatal error: CPU time limit exceeded signal terminated program cc1plus'; exit 1",
                          "ulimit -c 0; kill -XCPU $$"}) {
    for (const bool ignored : {false, true}) {
      CAPTURE(end);
      CAPTURE(ignored);
      std::ofstream(path) << "#!/bin/sh\ncase \"$*\" in *complete.ii*) echo \"$(ulimit -t) $*\" >> " << log
                          << " ;; esac\ncase \"$*\" in *-O3*complete.ii*) " << end << " ;; esac\nexec " << real
                          << " \"$@\"\n";
      std::filesystem::permissions(path, std::filesystem::perms::owner_all);
      std::filesystem::remove(log);
      if (ignored) ::signal(SIGCHLD, SIG_IGN);
      (void)host().compile(fmt::format("extern \"C\" __global__ void slow(int* x) {{ *x = 1; }} // {} {}", ignored, end));
      ::signal(SIGCHLD, SIG_DFL);
      std::ifstream file(log);
      std::string first, second, third;
      CHECK(std::getline(file, first));
      CHECK(std::getline(file, second));
      CHECK_FALSE(std::getline(file, third));
      CHECK(has(first, " -O3 "));
      CHECK(has(second, "unlimited "));
      CHECK(has(second, " -O2 "));
      CHECK_FALSE(has(second, "-O3"));
    }
  }
}

TEST_CASE("thousands of nested blocks compile, or fail with the compiler's words") {
  for (const std::size_t depth : {48, 5000}) {
    const std::string source = "extern \"C\" __global__ void deep(int* x) " + std::string(depth, '{') +
                               "__syncthreads(); x[threadIdx.x] = 1;" + std::string(depth, '}');
    try {
      (void)host().compile(source);
    } catch (const Error& error) {
      CHECK(depth == 5000);
      CHECK(error.errc() == Errc::compilation_failed);
    }
  }
}

TEST_CASE("temporary files are gone afterwards, whatever happened") {
  const detail::TemporaryFolder folder;
  const Variable place("TMPDIR", folder.path().c_str());
  (void)host().compile("extern \"C\" __global__ void leaves_nothing() {}");
  compile_error("int x = unknown_name;");
  CHECK(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace weir::test
