// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "command.hpp"
#include "subprocess.hpp"

// Tests `weir new`. tests/packaging builds and runs the program that it creates.

using weir::test::Outcome;
using weir::test::TemporaryFolder;
using weir::test::weir_command;

TEST_CASE("new: a program that is named after its folder") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/deep/my_program";
  const Outcome made = weir_command({"new", path + "/"});
  CHECK(made.status == 0);
  CHECK(made.says("cmake --build " + path + "/build"));
  CHECK(made.says(path + "/build/my_program\n"));
  std::ifstream in(path + "/CMakeLists.txt");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  CHECK(text.find("project(my_program CXX)") != std::string::npos);
  CHECK(text.find("weir_add_kernels(my_program SOURCES square.cu HOST)") != std::string::npos);
  CHECK(std::filesystem::exists(path + "/main.cpp"));
  CHECK(std::filesystem::exists(path + "/square.cu"));
  CHECK(weir_command({"new", folder.folder("empty")}).status == 0);
  const Outcome here = weir::test::run("/bin/sh", {"-c", "cd \"$0\" && exec \"$1\" new .", folder.folder("current"),
                                                   WEIR_TEST_COMMAND});
  CAPTURE(here.errors);
  CHECK(here.status == 0);
  CHECK(here.says("build/current\n"));
}

TEST_CASE("new: what is there already is left alone") {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/file", full = folder.folder("full");
  std::ofstream(file) << "mine";
  std::ofstream(full + "/main.cpp") << "mine";
  for (const std::string& there : {file, full}) {
    const Outcome refused = weir_command({"new", there});
    CHECK(refused.status == 1);
    CHECK(refused.complains(there + " already exists and is not an empty folder"));
  }
  CHECK(std::filesystem::file_size(full + "/main.cpp") == 4);
  CHECK_FALSE(std::filesystem::exists(full + "/CMakeLists.txt"));
  CHECK(weir_command({"new", file + "/below"}).status == 1);
}

TEST_CASE("new: a name that CMake does not take is refused, and nothing is made") {
  const TemporaryFolder folder;
  for (const char* const name : {"my program", "1st", "a;b", "$x"}) {
    CAPTURE(name);
    CHECK(weir_command({"new", folder.path() + "/" + name}).status == 1);
  }
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK(weir_command({"new"}).status == 2);
}
