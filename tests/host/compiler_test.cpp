// SPDX-License-Identifier: Apache-2.0
#include "backends/host/compile/compiler.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "backends/host/run/kernel.hpp"
#include "core/base/temporary_folder.hpp"
#include "tests/host/support.hpp"

namespace weir::host {
namespace {

using test::has;
using test::Variable;

// A program that only prints a version.
std::string make_program(const std::string& folder, const std::string& name, const std::string& says, int status = 0) {
  const std::string path = folder + "/" + name;
  std::ofstream(path) << "#!/bin/sh\necho '" << says << "'\nexit " << status << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

std::string reason() {
  try {
    return "found " + find_compiler().path;
  } catch (const NoCompiler& none) {
    return none.what();
  }
}

bool contains(const std::vector<std::string>& flags, const std::string& flag) {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

TEST_CASE("the first of c++, g++ and clang++ in PATH is taken") {
  const detail::TemporaryFolder one, two;
  const std::string path = "relative::.:" + one.path() + ":" + two.path();
  const Variable chosen("WEIR_HOST_CXX", nullptr), search("PATH", path.c_str());
  CHECK(has(reason(), "none of c++, g++, clang++ can be used from " + one.path() + ":" + two.path()));
  CHECK(has(reason(), "WEIR_HOST_CXX"));
  const std::string clang = make_program(one.path(), "clang++", "Debian clang version 14");
  CHECK(find_compiler().path == clang);
  CHECK_FALSE(find_compiler().is_gcc);
  const std::string cxx = make_program(two.path(), "c++", "c++ 12.2\nFree Software Foundation");
  CHECK(find_compiler().path == cxx);
  CHECK(find_compiler().is_gcc);
  CHECK(find_compiler().version == "c++ 12.2");
}

TEST_CASE("the newest Clang that a work-group pass lies beside is taken before others") {
  const detail::TemporaryFolder one, two, plugins;
  const std::string path = one.path() + ":" + two.path();
  const Variable chosen("WEIR_HOST_CXX", nullptr), search("PATH", path.c_str());
  const auto plugin = [&](const std::string& major) { return plugins.path() + "/weir_workgroup-" + major + ".so"; };
  for (const char* major : {"16", "20", "9", "x"}) std::ofstream(plugin(major)) << "plugin";
  const std::string cxx = make_program(one.path(), "c++", "c++ 12.2\nFree Software Foundation");
  make_program(one.path(), "clang++-21", "Debian clang version 21.1.0");
  make_program(one.path(), "clang++-9", "Debian clang version 9.0.1");
  CHECK(find_compiler(plugins.path()).path == cxx);
  CHECK(find_compiler(plugins.path()).pass.empty());
  make_program(one.path(), "clang++-20", "no", 7);
  const std::string clang16 = make_program(two.path(), "clang++-16", "Debian clang version 16.0.6");
  CHECK(find_compiler(plugins.path()).path == clang16);
  CHECK(find_compiler(plugins.path()).pass == plugin("16"));
  const std::string clang = make_program(two.path(), "clang++", "clang version 20.1.2");
  CHECK(find_compiler(plugins.path()).path == clang);
  const std::string identity = find_compiler(plugins.path()).identity;
  std::ofstream(plugin("20")) << "another plugin";
  CHECK(find_compiler(plugins.path()).identity != identity);
  CHECK(find_compiler(one.path()).path == cxx);
  const Variable named("WEIR_HOST_CXX", clang16.c_str());
  CHECK(find_compiler(plugins.path()).pass == plugin("16"));
}

TEST_CASE("work-group passes lie beside the backend, or in the folder of plugins beside the library that it is a part of") {
  const std::filesystem::path beside = plugin_folder();
  CHECK(std::filesystem::equivalent(
      beside, std::filesystem::read_symlink("/proc/self/exe").parent_path()));  // the backend is in this program, too
  const std::filesystem::path below = beside / WEIR_PLUGIN_FOLDER;
  REQUIRE(std::filesystem::create_directory(below));
  CHECK(plugin_folder() == below);
  std::filesystem::remove(below);
}

TEST_CASE("one that does not work is passed over, and named if there is no other") {
  const detail::TemporaryFolder folder;
  const Variable chosen("WEIR_HOST_CXX", nullptr), search("PATH", folder.path().c_str());
  const std::string broken = make_program(folder.path(), "c++", "no", 7);
  CHECK(has(reason(), "'" + broken + " --version' failed with status 7: no"));
  std::ofstream(folder.path() + "/g++") << "text";
  CHECK(has(reason(), folder.path() + "/g++: Permission denied"));
  const std::string clang = make_program(folder.path(), "clang++", "clang version 14");
  CHECK(find_compiler().path == clang);
}

TEST_CASE("a compiler that was named is that one or none") {
  const detail::TemporaryFolder folder;
  {
    const Variable chosen("WEIR_HOST_CXX", "/nosuch/c++");
    CHECK(has(reason(), "WEIR_HOST_CXX is not a C++ compiler: /nosuch/c++: No such file or directory"));
    bool found = true;
    CHECK(has(describe_compiler(found), "/nosuch/c++"));
    CHECK_FALSE(found);
  }
  for (const char* value : {"", "g++", "./g++"}) {
    const Variable chosen("WEIR_HOST_CXX", value);
    try {
      find_compiler();
      FAIL("found one");
    } catch (const Error& error) {
      CHECK(error.errc() == Errc::invalid_environment);
    }
  }
  const std::string mine = make_program(folder.path(), "mine", "mine 1");
  const Variable chosen("WEIR_HOST_CXX", mine.c_str());
  bool found = false;
  CHECK(describe_compiler(found) == "mine 1, " + mine);
  CHECK(found);
}

TEST_CASE("a compiler that was replaced is asked again") {
  const detail::TemporaryFolder folder;
  const std::string path = make_program(folder.path(), "c++", "c++ 1");
  const Variable chosen("WEIR_HOST_CXX", path.c_str());
  const Compiler first = find_compiler();
  CHECK(find_compiler().identity == first.identity);
  make_program(folder.path(), "c++", "c++ 2, longer");
  const Compiler second = find_compiler();
  CHECK(second.version == "c++ 2, longer");
  CHECK(second.identity != first.identity);
}

TEST_CASE("a compiler runs in a small environment, in which it finds its own folder's programs and the system's") {
  const detail::TemporaryFolder folder;
  const std::string path = folder.path() + "/prints";
  std::ofstream(path) << "#!/bin/sh\nenv\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  const Variable chosen("WEIR_HOST_CXX", path.c_str()), search("PATH", "relative:/mine"), locale("LC_ALL", "tr_TR.UTF-8");
  const Variable temporary("TMPDIR", "/var/tmp"), headers("CPATH", "/my/headers"), programs("COMPILER_PATH", "/my/programs");
  const std::string environment = "\n" + find_compiler().identity;
  CHECK(has(environment, "\nPATH=" + folder.path() + ":/mine:/usr/local/bin:/usr/bin:/bin\n"));
  CHECK(has(environment, "\nLC_ALL=C\n"));
  CHECK(has(environment, "\nTMPDIR=/var/tmp\n"));
  CHECK(has(environment, "\nCPATH=/my/headers\n"));
  CHECK_FALSE(has(environment, "COMPILER_PATH"));
  CHECK_FALSE(has(environment, "WEIR_HOST_CXX"));
}

TEST_CASE("options become flags") {
  Compiler gcc{.path = "/c++", .version = "", .identity = "", .is_gcc = true},
      clang{.path = "/c++", .version = "", .identity = "", .is_gcc = false};
  CompileOptions options;
  options.cxx_standard = 14;
  options.include_directories = {"/one", "/two words"};
  options.extra = {"-funroll-loops", "-include", "x.h"};
  const auto flags = compiler_flags(gcc, "native", options);
  for (const char* flag : {"-std=c++14", "-O3", "-I/one", "-I/two words", "-funroll-loops", "-fno-gnu-unique"})
    CHECK(contains(flags, flag));
  CHECK(flags.back() == "x.h");
  CHECK_FALSE(contains(flags_after_preprocessing(flags), "-include"));
  CHECK_FALSE(contains(flags_after_preprocessing(flags), "x.h"));
  CHECK_FALSE(contains(compiler_flags(clang, "native", options), "-fno-gnu-unique"));
  for (const Compiler& compiler : {gcc, clang}) {
    CHECK_FALSE(contains(compiler_flags(compiler, "native", {}), "-fassociative-math"));
    CHECK(contains(compiler_flags(compiler, "native", {.fast_math = true}), "-fassociative-math"));
    CHECK_FALSE(contains(compiler_flags(compiler, "native", {.fast_math = true}), "-ffast-math"));
    CHECK(contains(compiler_flags(compiler, "native", {.debug = true}), "-O0"));
    CHECK_FALSE(contains(compiler_flags(compiler, "native", {.debug = true}), "-O3"));
  }
}

TEST_CASE("options that cannot be honoured are refused by name") {
  const Compiler compiler{.path = "/c++", .version = "", .identity = "", .is_gcc = true};
  const auto refusal = [&](std::vector<std::string> extra) -> std::string {
    CompileOptions options;
    options.extra = std::move(extra);
    try {
      compiler_flags(compiler, "native", options);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  for (const char* option : {"-o", "-oout", "-c", "-E", "-xc", "-MD", "@file", "", "-shared"}) {
    CHECK(has(refusal({option}), std::string("'") + option + "' cannot be an extra option"));
  }
  CHECK(refusal({"-O2", "-include", "/x.h", "-Garbage", "-DX=1", "-march=x86-64", "--param", "x=1"}).empty());
}

}  // namespace
}  // namespace weir::host
