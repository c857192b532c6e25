// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weir::tool {

int run_program(const RunOptions& options) {
  const auto set = [](const char* name, const std::string& value) {
    if (!value.empty()) ::setenv(name, value.c_str(), 1);
  };
  set("WEIR_BACKEND", options.backend);
  set("WEIR_DEVICE", options.device ? std::to_string(*options.device) : "");
  set("WEIR_DISABLE_FEATURES", options.disable_features);
  set("WEIR_LOG", options.log);
  std::vector<std::string> words = options.command;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  const int error = errno;
  std::fprintf(stderr, "weir: cannot run '%s': %s\n", argv[0], std::strerror(error));
  return error == ENOENT ? 127 : 126;
}

}  // namespace weir::tool
