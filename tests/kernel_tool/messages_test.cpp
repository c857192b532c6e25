// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "files.hpp"
#include "tools/kernels/headers.hpp"

// Tests the conversion of compiler messages to the form that editors recognize.

using namespace weir::kernel_tool;
using weir::test::Files;

TEST_CASE("messages: NVRTC's get the usual form, and the paths of headers") {
  const Files files;
  const auto source = files.write("k.cu", ""), header = files.write("a.h", "");
  const std::vector<Header> headers = {{"a.h", "", header}};
  CHECK(usual_form(source.string() + "(3): error: identifier \"x\" is undefined\n   int y = x;\n           ^\n", source,
                   headers) == source.string() + ":3: error: identifier \"x\" is undefined\n   int y = x;\n           ^\n");
  CHECK(usual_form("a.h(99): error: odd", source, headers) == header.string() + ":99: error: odd\n");
}

TEST_CASE("messages: those of GCC and Clang stay, with the paths of headers") {
  const Files files;
  const auto source = files.write("k.cu", "");
  const auto header = files.write("sub/a.h", "");
  const std::vector<Header> headers = {{"sub/a.h", "", header}};
  const std::string path = header.string();
  CHECK(usual_form("In file included from /k.cu:1:\n./sub/a.h:2:3: error: no\n  x\n  ^~~\n", source, headers) ==
        "In file included from /k.cu:1:\n" + path + ":2:3: error: no\n  x\n  ^~~\n");
  CHECK(usual_form("In file included from ./sub/a.h:7,\n                 from /k.cu:1:\n", source, headers) ==
        "In file included from " + path + ":7,\n                 from /k.cu:1:\n");
  CHECK(usual_form("/tmp/comgr-1f/input/CompileSource:7:28: warning: slow\n", source, headers) ==
        source.string() + ":7:28: warning: slow\n");
  CHECK(usual_form("/tmp/comgr-1f/include/sub/a.h:7:28: warning: slow\n", source, headers) ==
        path + ":7:28: warning: slow\n");
  CHECK(usual_form("1 error generated when compiling for gfx90a.\n", source, headers) ==
        "1 error generated when compiling for gfx90a.\n");
  CHECK(usual_form("", source, headers) == "");
}
