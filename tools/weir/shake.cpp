// SPDX-License-Identifier: Apache-2.0
#include "shake.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weir::tool {

int shake_program(const ShakeOptions& options) {
  std::vector<std::string> words = options.command;
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // The host backend has schedules of its own; elsewhere a tool holds streams back.
  std::string setting = "WEIR_BACKEND=" + options.backend;
  ::setenv("WEIR_BACKEND", options.backend.c_str(), 1);
  if (options.backend != "host") {
    ::setenv("WEIR_TOOLS", "shake", 1);
    setting += " WEIR_TOOLS=shake";
  }
  std::string failed, first_failed;
  unsigned failures = 0;
  for (unsigned i = 0; i < options.seeds; ++i) {
    std::string seed = std::to_string(options.first + i);
    if (options.schedule == "pct") seed.insert(0, "pct:");
    if (options.depth != 0) seed += ":" + std::to_string(options.depth);
    ::setenv("WEIR_SCHEDULE", seed.c_str(), 1);
    pid_t child = 0;
    if (const int error = ::posix_spawnp(&child, argv[0], nullptr, nullptr, argv.data(), environ); error != 0) {
      std::fprintf(stderr, "weir: cannot run '%s': %s\n", argv[0], std::strerror(error));
      return error == ENOENT ? 127 : 126;
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (status == 0) continue;
    ++failures;
    failed += " " + seed;
    if (first_failed.empty()) first_failed = seed;
  }
  std::fprintf(stderr, "weir shake: %u of %u schedules failed%s%s\n", failures, options.seeds, failures != 0 ? ":" : "",
               failed.c_str());
  if (failures == 0) return 0;
  std::string command;
  for (const std::string& word : options.command) command += " " + word;
  std::fprintf(stderr, "weir shake: %s WEIR_SCHEDULE=%s%s fails again\n", setting.c_str(), first_failed.c_str(),
               command.c_str());
  return 1;
}

}  // namespace weir::tool
