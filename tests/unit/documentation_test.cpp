// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "weir/version.hpp"

// Tests that each environment variable that the sources read is in the documentation and in the list of the command `weir`.

namespace {

const std::filesystem::path source_tree = WEIR_TEST_SOURCE;

std::string content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::set<std::string> variables_read() {
  const std::set<std::string> build_options = {"WEIR_BACKEND_CUDA", "WEIR_BACKEND_HIP", "WEIR_BACKEND_HOST"};
  const std::regex literal("\"(WEIR_[A-Z_]+)\"");
  std::set<std::string> names;
  for (const char* const folder : {"core", "backends", "collectives", "tools"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(source_tree / folder)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
      const std::string text = content(entry.path());
      for (auto m = std::sregex_iterator(text.begin(), text.end(), literal); m != std::sregex_iterator(); ++m) {
        const std::string name = (*m)[1].str();
        if (name.starts_with("WEIR_TEST_")) continue;  // read only by builds that are made to test the tests
        if (!build_options.contains(name)) names.insert(name);
      }
    }
  }
  return names;
}

}  // namespace

TEST_CASE("documentation: every variable that is read is described, and known to the command") {
  const std::string page = content(source_tree / "docs/environment.md");
  const std::string command = content(source_tree / "tools/weir/report.cpp");
  const std::set<std::string> names = variables_read();
  CHECK(names.size() >= 10);
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK(page.find("| `" + name + "` |") != std::string::npos);
    CHECK(command.find("\"" + name + "\"") != std::string::npos);
  }
}

TEST_CASE("documentation: every option of the build is described") {
  const std::string page = content(source_tree / "docs/building.md");
  const std::regex option("(option|find_path)\\((WEIR_[A-Z_]+)|set\\((WEIR_[A-Z_]+) [^)]*CACHE");
  std::set<std::string> names;
  for (const char* const file : {"CMakeLists.txt", "core/CMakeLists.txt", "backends/cuda/CMakeLists.txt",
                                 "backends/hip/CMakeLists.txt", "backends/host/CMakeLists.txt"}) {
    const std::string text = content(source_tree / file);
    for (auto m = std::sregex_iterator(text.begin(), text.end(), option); m != std::sregex_iterator(); ++m) {
      names.insert((*m)[2].matched ? (*m)[2].str() : (*m)[3].str());
    }
  }
  CHECK(names.size() >= 12);
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK(page.find("| `" + name + "` |") != std::string::npos);
  }
}

TEST_CASE("documentation: recipes of packages have the library's version") {
  const std::string recipe = content(source_tree / "packaging/vcpkg/vcpkg.json");
  CHECK(recipe.find("\"version-semver\": \"" + std::string(weir::version()) + "\"") != std::string::npos);
}

TEST_CASE("documentation: every trap of HIP has its line, and the tests that the lines name are there") {
  std::string tests;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source_tree / "tests")) {
    if (entry.path().extension() == ".cpp") tests += content(entry.path());
  }
  std::ifstream page(source_tree / "docs/hip-traps.md");
  const std::regex row("^\\| T([0-9]+) \\|.*\\|([^|]*)\\|$"), name("`([^`]+)`");
  std::set<int> traps;
  for (std::string line; std::getline(page, line);) {
    std::smatch parts;
    if (!std::regex_match(line, parts, row)) continue;
    traps.insert(std::stoi(parts[1].str()));
    const std::string shown_by = parts[2].str();
    for (auto m = std::sregex_iterator(shown_by.begin(), shown_by.end(), name); m != std::sregex_iterator(); ++m) {
      CAPTURE(line);
      if ((*m)[1].str() == "/dev/kfd") continue;
      CHECK(tests.find("\"" + (*m)[1].str() + "\") {") != std::string::npos);  // the end of a TEST_CASE
    }
  }
  CHECK(traps.size() == 24);  // T2 was of releases before the floor
}
