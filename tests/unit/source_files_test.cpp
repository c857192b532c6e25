// SPDX-License-Identifier: Apache-2.0
#include "backends/cache/source_files.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "subprocess.hpp"

// Tests which files a compilation depends on, for compilers that do not report them.

namespace {

using weir::cache::CacheKey;
using weir::cache::CacheKeyBuilder;

class Folder : public weir::test::TemporaryFolder {
 public:
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = std::filesystem::path(path()) / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void remove(const std::string& name) const { std::filesystem::remove(std::filesystem::path(path()) / name); }
};

struct Answer {
  std::string key, unknown;
};

Answer ask(const std::string& source, const std::vector<std::string>& options = {}, bool has_own_folders = false,
           const std::string& folder = "", const char* header = "") {
  const char* const names[] = {"given.h"};
  const char* const texts[] = {header};
  CacheKeyBuilder builder;
  std::string unknown = weir::cache::add_source_files(builder, {.source = source,
                                                               .folder = folder,
                                                               .options = options,
                                                               .header_names = names,
                                                               .header_texts = texts,
                                                               .has_own_folders = has_own_folders});
  return {builder.key().hex(), std::move(unknown)};
}

/// Whether `change` changes the key, both being known.
template <class F>
bool matters(const std::string& source, const std::vector<std::string>& options, F&& change) {
  const Answer before = ask(source, options);
  CHECK(before.unknown.empty());
  CHECK(ask(source, options).key == before.key);
  change();
  const Answer after = ask(source, options);
  CHECK(after.unknown.empty());
  return after.key != before.key;
}

bool says(const Answer& answer, const char* text) {
  INFO(answer.unknown);
  return answer.unknown.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("source files: source and options") {
  CHECK(ask("a").key != ask("b").key);
  CHECK(ask("a", {"-DX"}).key != ask("a", {"-DY"}).key);
  CHECK(ask("a", {"-DX", "-DY"}).key != ask("a", {"-DXY"}).key);
  CHECK(ask("a", {"--gpu-architecture=sm_90", "--std=c++17", "--use_fast_math", "--define-macro=P=a/b"}).unknown.empty());
  CHECK(ask("a", {"--offload-arch=gfx90a:sramecc+:xnack-", "-ffast-math", "-O0", "-g"}).unknown.empty());
}

TEST_CASE("source files: a header's text, and those that it includes") {
  const Folder f;
  f.write("one.h", "#include \"sub/two.h\"\n");
  f.write("sub/two.h", "  #  include <three.h>\n");
  f.write("three.h", "int x;");
  const std::vector<std::string> options = {"-I" + f.path()};
  CHECK(matters("#include <one.h>", options, [&] { f.write("three.h", "int y;"); }));
  CHECK(matters("#include <one.h>", options, [&] { f.write("sub/three.h", "beside the one that includes it"); }));
  CHECK(matters("/* x */ #include <one.h>", options, [&] { f.write("sub/two.h", ""); }));
  CHECK_FALSE(matters("#include <one.h>", options, [&] { f.write("four.h", ""); }));
  CHECK(matters("#inc\\\nlude <four.h>", options, [&] { f.write("four.h", "4"); }));
  CHECK(matters("#if __has_include(<five.h>)\n#endif", options, [&] { f.write("five.h", ""); }));
  f.write("cycle.h", "#include \"cycle.h\"\n");
  CHECK(matters("#include \"cycle.h\"", options, [&] { f.write("cycle.h", "#include \"cycle.h\"\n\n"); }));
  const std::string absolute = "#include \"" + f.path() + "/three.h\"";
  CHECK(matters(absolute, {}, [&] { f.write("three.h", "int z;"); }));
}

TEST_CASE("source files: one that appears, or goes, in a folder that is searched") {
  const Folder first, second;
  second.write("a.h", "1");
  for (const std::vector<std::string>& options : {std::vector<std::string>{"-I" + first.path(), "-I" + second.path()},
                                                  {"-I", first.path(), "-I", second.path()},
                                                  {"--include-path=" + first.path(), "--include-path", second.path()}}) {
    CHECK(matters("#include <a.h>", options, [&] { first.write("a.h", "2"); }));
    CHECK(matters("#include <a.h>", options, [&] { first.remove("a.h"); }));
    CHECK(matters("#include <a.h>", options, [&] { second.remove("a.h"); }));
    second.write("a.h", "1");
  }
}

TEST_CASE("source files: headers that are included by options, and that are handed over") {
  const Folder f;
  f.write("first.h", "1");
  CHECK(matters("", {"--pre-include=first.h", "-I" + f.path()}, [&] { f.write("first.h", "2"); }));
  CHECK(matters("", {"-include", "first.h", "-I" + f.path()}, [&] { f.write("first.h", "3"); }));
  CHECK(ask("#include <given.h>", {}, false, "", "1").key != ask("#include <given.h>", {}, false, "", "2").key);
  CHECK(ask("", {}, false, "", "1").key == ask("", {}, false, "", "2").key);
  f.write("beside.h", "1");
  const Answer before = ask("#include \"beside.h\"", {}, false, f.path());
  f.write("beside.h", "2");
  CHECK(ask("#include \"beside.h\"", {}, false, f.path()).key != before.key);
}

TEST_CASE("source files: where they cannot be known, it says why") {
  CHECK(says(ask("#include NAME"), "comes from a macro"));
  CHECK(says(ask("#embed <x>"), "#embed"));
  CHECK(says(ask("int x = __TIME__;"), "__TIME__"));
  CHECK(says(ask("", {"-DX=__DATE__"}), "__DATE__"));
  for (const char* const option :
       {"-isystem", "--options-file=x", "@x", "-fplugin=x", "--use-pch=x", "-imacros", "x.cu", "-fprofile-use=/x"}) {
    CHECK(says(ask("", {option}), "may name a file"));
  }
  CHECK(says(ask("#include <stdlib.h>", {}, true), "'stdlib.h' is in none of the passed folders"));
  CHECK(ask("#include <stdlib.h>", {}, false).unknown.empty());
  CHECK(ask("#include <given.h>", {}, true).unknown.empty());
  CHECK(ask("#include <./given.h>", {}, true).unknown.empty());
  const Folder f;
  f.write("big.h", std::string((std::size_t{64} << 20U) + 1, ' '));
  CHECK(says(ask("#include <big.h>", {"-I" + f.path()}), "too large"));
}
