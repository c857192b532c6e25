// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "tests/tools/programs.hpp"

// weir_tool_programs --list | NAME…: runs small programs on the default device, for tests of tools (WEIR_TOOLS). --list
// prints the programs for the race detector.
int main(int argc, char** argv) {
  int status = 0;
  for (const weir::test::Program& program : weir::test::programs()) {
    for (int i = 1; i < argc; ++i) {
      if (std::string_view(argv[i]) == "--list" && program.suite == weir::test::Suite::race)
        std::printf("%s %d\n", program.name.c_str(), program.reports);
      if (argv[i] != program.name) continue;
      try {
        program.run(weir::default_device());
      } catch (const weir::Error& error) {
        const bool is_lack = error.errc() == weir::Errc::unsupported;
        std::fprintf(stderr, "%s: %s: %s\n", is_lack ? "skipped" : "refused", std::string(to_string(error.errc())).c_str(),
                     error.what());
        status = 1;
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        status = 1;
      }
    }
  }
  return status;
}
