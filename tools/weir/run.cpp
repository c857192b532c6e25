// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

namespace weir::tool {
namespace {

int become(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  const int error = errno;
  std::fprintf(stderr, "weir: cannot run '%s': %s\n", argv[0], std::strerror(error));
  return error == ENOENT ? 127 : 126;
}

}  // namespace

int run_program(const RunOptions& options) {
  const auto set = [](const char* name, const std::string& value) {
    if (!value.empty()) ::setenv(name, value.c_str(), 1);
  };
  set("WEIR_BACKEND", options.backend);
  set("WEIR_DEVICE", options.device ? std::to_string(*options.device) : "");
  set("WEIR_DISABLE_FEATURES", options.disable_features);
  set("WEIR_LOG", options.log);
  set("WEIR_TOOLS", options.tools);
  set("WEIR_TIMELINE", options.timeline);
  return become(options.command);
}

int run_beside(const std::string& name, const std::vector<std::string>& arguments, const std::string& remedy) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").replace_filename(name);
  if (!std::filesystem::exists(program)) {
    std::fprintf(stderr, "weir: there is no %s: %s\n", program.c_str(), remedy.c_str());
    return 127;
  }
  std::vector<std::string> command = {program.string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return become(std::move(command));
}

}  // namespace weir::tool
