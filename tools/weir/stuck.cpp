// SPDX-License-Identifier: Apache-2.0
#include "stuck.hpp"

#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>

namespace weir::tool {
namespace {

int refuse(int process, const char* cause) {
  std::fprintf(stderr, "weir stuck: process %d %s\n", process, cause);
  return 1;
}

}  // namespace

// The other end is core/diagnosis/stuck.cpp.
int ask_what_is_stuck(int process) {
  const std::string name = "weir-stuck-" + std::to_string(process);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (file < 0 || ::connect(file, reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    if (::kill(process, 0) != 0 && errno == ESRCH) return refuse(process, "does not exist");
    return refuse(process,
                  "does not tell: start the program again by 'weir run --stuck -- PROGRAM', or with WEIR_STUCK=30s, "
                  "and ask when it hangs");
  }
  const timeval most{10, 0};
  ::setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
  std::string text;
  char part[4096];
  ssize_t got = 0;
  while ((got = ::read(file, part, sizeof(part))) > 0) text.append(part, static_cast<std::size_t>(got));
  ::close(file);
  if (got < 0) return refuse(process, "does not answer: it may be stopped");
  if (text.empty()) return refuse(process, "tells only its own user");
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace weir::tool
