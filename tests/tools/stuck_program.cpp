// SPDX-License-Identifier: Apache-2.0
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "tests/tools/stuck_programs.hpp"

namespace {

/// Ends, but leaves a child process that sleeps. Prints both process numbers.
void fork_and_end() {
  weir::default_device().create_stream()->synchronize();
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int file : {0, 1, 2}) ::close(file);
    ::sleep(20);
    ::_exit(0);
  }
  std::printf("%d %d\n", static_cast<int>(::getpid()), static_cast<int>(child));
}

}  // namespace

// weir_stuck_programs NAME [SECONDS]: runs a program that hangs, or is slow, on the default device. A signal ends it when
// the time is over.
int main(int argc, char** argv) try {
  if (argc > 2) {
    const itimerval time{{}, {std::atol(argv[2]), 0}};
    ::setitimer(ITIMER_REAL, &time, nullptr);
  }
  if (argc > 1 && std::string_view(argv[1]) == "forks") fork_and_end();
  for (const auto* const programs : {&weir::test::deadlocks(), &weir::test::slow_programs()}) {
    for (const weir::test::StuckProgram& program : *programs) {
      if (argc > 1 && std::string_view(argv[1]) == program.name) program.run(weir::default_device());
    }
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
