// SPDX-License-Identifier: Apache-2.0
#include "tools/model/own_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace weir::model {

bool is_regular(int file) noexcept {
  struct stat status {};
  return file >= 0 && ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

int open_own(const char* tool, std::string& name) {
  const auto open = [&] { return ::open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666); };
  int file = open();
  // If two processes wrote to one file, they would destroy each other's report.
  if (is_regular(file) && ::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    const std::string other = name + "." + std::to_string(::getpid());
    std::fprintf(
        stderr,
        "%s: another process writes '%s', so this one writes '%s'; %%p in the name is replaced by the process number\n",
        tool, name.c_str(), other.c_str());
    ::close(file);
    name = other;
    file = open();
  }
  if (file >= 0) {
    [[maybe_unused]] const int is_no_regular_file = ::ftruncate(file, 0);
  }
  return file;
}

void release(int file) noexcept {
  if (file >= 0) (void)::flock(file, LOCK_UN);
}

}  // namespace weir::model
