// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "tests/tools/programs.hpp"
#include "tests/tools/validate_programs.hpp"

// weir_tool_programs --list | NAME…: runs small programs on the default device, for tests of tools (WEIR_TOOLS). --list
// prints the programs for the race detector.
int main(int argc, char** argv) try {
  for (const weir::test::ToolProgram& program : weir::test::tool_programs()) {
    for (int i = 1; i < argc; ++i) {
      if (std::string_view(argv[i]) == "--list") std::printf("%s %d\n", program.name, program.reports);
      if (std::string_view(argv[i]) == program.name) program.run(weir::default_device());
    }
  }
  for (const auto list : {weir::test::other_programs(), weir::test::witness_programs(), weir::test::record_programs()}) {
    for (const weir::test::ToolProgram& program : list) {
      for (int i = 1; i < argc; ++i) {
        if (std::string_view(argv[i]) == program.name) program.run(weir::default_device());
      }
    }
  }
  for (const auto& programs :
       {weir::test::validate_programs(), weir::test::pageable_programs(), weir::test::unwritten_and_leaking_programs()}) {
    for (const weir::test::ValidateProgram& program : programs) {
      for (int i = 1; i < argc; ++i) {
        if (std::string_view(argv[i]) == program.name) program.run(weir::default_device());
      }
    }
  }
  return 0;
} catch (const weir::Error& error) {
  const bool is_lack = error.errc() == weir::Errc::unsupported;
  std::fprintf(stderr, "%s: %s: %s\n", is_lack ? "skipped" : "refused", std::string(to_string(error.errc())).c_str(),
               error.what());
  return 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
