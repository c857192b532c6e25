// SPDX-License-Identifier: Apache-2.0
#include "tools/kernels/headers.hpp"

#include <doctest/doctest.h>

#include <map>
#include <stdexcept>

#include "files.hpp"

// Tests which headers a bundle contains.

using namespace weir::kernel_tool;
using weir::test::Files;

namespace {

std::map<std::string, std::string> texts_of(const std::vector<Header>& headers) {
  std::map<std::string, std::string> texts;
  for (const Header& header : headers) CHECK(texts.emplace(header.name, header.text).second);
  return texts;
}

using Texts = std::map<std::string, std::string>;

}  // namespace

TEST_CASE("headers: names are read as the preprocessor reads them") {
  const std::string text =
      "#include \"a.h\"\n  #  include\t<b/c.h> // why\n#include\"d.h\"\n# define E\n#include MACRO\n#include \"\"\n"
      "#include \"unfinished\n int x; #include \"not at the line's beginning\"\n#include <last>";
  std::string names;
  for (const Include& include : includes_of(text)) names += std::string(include.name) + (include.quoted ? "\" " : "> ");
  CHECK(names == "a.h\" b/c.h> d.h\" last> ");
}

TEST_CASE("headers: those beside the file that includes them, those in the folders, and those that they include") {
  const Files files;
  const auto source = files.write("src/k.cu", "#include \"beside.h\"\n#include <far.h>\n#include <cstdint>\n");
  files.write("src/beside.h", "#include \"sub/deep.h\"\n");
  files.write("src/sub/deep.h", "#include \"near_deep.h\"\n#include \"../../common/c.h\"\n");
  files.write("src/sub/near_deep.h", "");
  files.write("common/c.h", "int c;\n");
  files.write("inc/far.h", "#ifdef NEVER\n#include \"optional.h\"\n#endif\n");
  files.write("inc/optional.h", "int optional;\n");
  files.write("src/not_included.h", "");
  const std::vector<std::filesystem::path> folders = {files.folder() / "inc"};
  CHECK(texts_of(find_headers(source, folders)) ==
        Texts{{"beside.h", "#include \"sub/deep.h\"\n"},
              {"sub/deep.h", "#include \"near_deep.h\"\n#include \"../../common/c.h\"\n"},
              {"near_deep.h", ""},
              {"../../common/c.h", "int c;\n"},
              {"far.h", "#ifdef NEVER\n#include \"optional.h\"\n#endif\n"},
              {"optional.h", "int optional;\n"}});
}

TEST_CASE("headers: a file of two names is carried once, and includes itself no more than it did") {
  const Files files;
  const auto source = files.write("k.cu", "#include \"sub/a.h\"\n#include \"sub/b.h\"\n");
  files.write("sub/a.h", "#pragma once\n#include \"b.h\"\n");
  files.write("sub/b.h", "#pragma once\n#include \"a.h\"\n");
  CHECK(texts_of(find_headers(source, {})) == Texts{{"sub/a.h", "#pragma once\n#include \"b.h\"\n"},
                                                    {"sub/b.h", "#pragma once\n#include \"a.h\"\n"},
                                                    {"a.h", "#include <sub/a.h>\n"},
                                                    {"b.h", "#include <sub/b.h>\n"}});
}

TEST_CASE("headers: two files of one name are refused, and both are named") {
  const Files files;
  const auto source = files.write("k.cu", "#include \"config.h\"\n#include \"sub/a.h\"\n");
  files.write("config.h", "");
  files.write("sub/a.h", "#include \"config.h\"\n");
  files.write("sub/config.h", "");
  try {
    (void)find_headers(source, {});
    FAIL("not refused");
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    CHECK(text.find("sub/a.h: error: 'config.h' means " + (files.folder() / "sub/config.h").string()) != std::string::npos);
    CHECK(text.find((files.folder() / "config.h").string() + " elsewhere") != std::string::npos);
  }
}
