// SPDX-License-Identifier: Apache-2.0
#include "core/base/program_search.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "weir/plugin/support.hpp"

// Implements program_search.hpp.
namespace weir::detail {
namespace {

constexpr const char* system_path = "/usr/local/bin:/usr/bin:/bin";

}  // namespace

std::vector<std::string> search_path() {
  const std::string path = support::environment("PATH").value_or(system_path);
  std::vector<std::string> folders;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    // Skip empty and relative elements: they would depend on the current folder.
    if (path[begin] == '/') folders.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return folders;
}

std::span<const char* const> search_variables() noexcept {
  static constexpr const char* variables[] = {"CPATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "LD_LIBRARY_PATH"};
  return variables;
}

std::vector<std::string> program_environment(const std::string& program) {
  std::string path = program.substr(0, program.rfind('/'));
  if (!path.empty()) path += ':';
  for (const std::string& folder : search_path()) path += folder + ':';
  std::vector<std::string> environment = {"LC_ALL=C", "PATH=" + path + system_path};
  const auto hand_on = [&](const char* variable) {
    if (const auto value = support::environment(variable)) environment.push_back(fmt::format("{}={}", variable, *value));
  };
  hand_on("TMPDIR");
  for (const char* const variable : search_variables()) hand_on(variable);
  return environment;
}

std::string find_program(std::string_view name) {
  std::vector<std::string> folders = search_path();
  for (const char* const folder : {"/usr/local/bin", "/usr/bin", "/bin"}) folders.emplace_back(folder);
  for (const std::string& folder : folders) {
    std::string path = fmt::format("{}/{}", folder, name);
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

}  // namespace weir::detail
